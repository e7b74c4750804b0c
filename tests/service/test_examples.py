"""The example of a filter in a shell, by itself and through a service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.conftest import Service

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("by", ["itself", "a service"])
def test_a_shell_pipe(service: Service, by: str) -> None:
    if by == "a service" and shutil.which("curl") is None:
        pytest.skip("the pipe through a service is not tested: curl is not installed")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "EPSILON": "1",
    }
    if by == "a service":
        environment["WORDVEIL_URL"] = service.address
    text = "The ship, the sea.\n\nThe harbour.\n"
    done = subprocess.run(
        ["sh", EXAMPLES / "shell_pipe.sh"], input=text, capture_output=True, text=True, env=environment, check=True
    )
    assert re.fullmatch(r"The \S+, the \S+\.\n\nThe \S+\.\n", done.stdout)
