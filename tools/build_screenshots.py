"""Takes the screenshots of the service's page in Chromium: ``python tools/build_screenshots.py [PICTURE …]``."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from wordveil.client import Client
from wordveil.errors import WordveilError

DOCS = Path(__file__).parent.parent / "docs"
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "page.png": ("#m=graph", {"viewport": {"width": 1280, "height": 1024}}),
    "page-compare.png": (
        "#m=graph&e=5&vs=laplace",
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    ),
    "page-disk.png": ("#s=wordnet-poincare&m=graph", {"viewport": {"width": 1280, "height": 1640}}),
    "page-phone.png": ("#m=graph", {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 1.5}),
}
WHOLE = {"page-compare.png"}


def main() -> None:
    """Serve the page, and take its screenshots."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    patient = {**os.environ, "WORDVEIL_SERVE_TIMEOUT": "600"}  # the first use of a space builds its graph
    server = subprocess.Popen([sys.executable, "-m", "wordveil", "serve", "--port", str(port)], env=patient)
    try:
        for _ in range(300):
            try:
                Client(address).call("/v1/spaces")
                break
            except WordveilError:
                time.sleep(0.1)
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for name in sys.argv[1:] or PICTURES:
                fragment, how = PICTURES[name]
                page = browser.new_context(**how).new_page()
                page.goto(f"{address}/{fragment}")
                while page.get_attribute("body", "data-state") not in ("done", "failed"):
                    page.wait_for_timeout(100)
                page.click("#out [role=button] >> nth=0")
                page.wait_for_selector("#map svg")
                page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
                page.wait_for_timeout(800)
                page.screenshot(path=DOCS / name, full_page=name in WHOLE)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
