"""What is in deploy/: linted, and run as far as it can be without a container engine, which the suite does not have."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service's tests need the extra serve")

import yaml

from tests.service.conftest import write_space
from tests.serving import PATIENCE, free_port, until
from wordveil.service import Settings
from wordveil.service.keys import hash_key

DEPLOY = Path(__file__).parent.parent / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def tool(name: str) -> str:
    """Return a tool that stands beside this Python, or on the path."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def passes(*command: str, **how: Any) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_passes_hadolint() -> None:
    passes(tool("hadolint"), "--failure-threshold", "info", str(DEPLOY / "Dockerfile"))


def test_the_compose_file_keeps_to_its_schema() -> None:
    passes(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


def test_the_manifests_keep_to_kubernetes_schemas() -> None:
    passes(tool("kubernetes-validate"), "--strict", "--version", "1.30", str(DEPLOY / "kubernetes.yaml"))


def test_the_unit_passes_systemd(tmp_path: Path) -> None:
    analyse = tool("systemd-analyze")
    unit = (DEPLOY / "wordveil.service").read_text(encoding="utf-8")
    (tmp_path / "wordveil.service").write_text(unit.replace("/opt/wordveil/bin/wordveil", shutil.which("true") or ""))
    passes(analyse, "verify", "--recursive-errors=no", str(tmp_path / "wordveil.service"))


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)


def test_what_the_dockerfile_copies_and_installs_is_there() -> None:
    root = DEPLOY.parent
    for line in instructions("COPY"):
        if "--from" not in line:
            assert all((root / name).exists() for name in line.split()[:-1])
    (install,) = re.findall(r"/python (-m pip install .+?) &&", DOCKERFILE)
    command = shlex.split(install)
    extras = re.findall(r"[a-z]+", command[-1])
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras)
    # The same line with this Python, as far as it goes without another host: the package's own metadata.
    offline = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--ignore-installed"]
    pytest.importorskip("setuptools", "77", reason="this setuptools does not know the project's metadata")
    passes(sys.executable, *command[:-1], *offline, command[-1], cwd=root)


def settings_file(folder: Path, port: int) -> Path:
    """Write the settings of deploy/ with a key and places of this machine."""
    told = (DEPLOY / "service.toml").read_text(encoding="utf-8")
    told = re.sub(r"^host = .*$", 'host = "127.0.0.1"', told, flags=re.MULTILINE)
    told = told.replace("PUT THE HASH HERE", hash_key("a key")).replace("8765", str(port))
    path = folder / "service.toml"
    path.write_text(told.replace("/var/lib/wordveil", str(folder / "state")).replace("drain = 5.0", "drain = 0.0"))
    return path


_WATCHED = """
import os, sys, json
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, given):
    if event == "open" and isinstance(given[0], str) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        os.write(log, given[0].encode() + b"\\n")
sys.addaudithook(watch)
from wordveil.cli import main
main()
"""


def test_the_command_writes_only_where_the_image_may_and_the_health_check_passes(tmp_path: Path) -> None:
    port = free_port()
    config = settings_file(tmp_path, port)
    (entry,), (last,) = (list(map(json.loads, instructions(name))) for name in ("ENTRYPOINT", "CMD"))
    arguments = [*entry[1:], *last]
    arguments[-1] = str(config)
    assert entry[0] == "wordveil"
    run = tmp_path / "tmp"
    run.mkdir()
    environment = {**os.environ, "TMPDIR": str(run), "HOME": str(run), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"WORDVEIL_SERVE_WORKERS": "1", "WORDVEIL_SERVE_SPACES": str(write_space(tmp_path))}
    environment["WORDVEIL_CACHE"] = str(run / "cache")
    command = [sys.executable, "-c", _WATCHED, str(tmp_path / "written"), *arguments]
    (health,) = re.findall(r"^HEALTHCHECK .* CMD (.+)$", DOCKERFILE, re.MULTILINE)
    check = [sys.executable, *(part.replace("8765", str(port)) for part in json.loads(health)[1:])]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode == 0)
        finally:
            os.kill(process.pid, signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode != 0
    allowed = (str(run), str(tmp_path / "state"), "/dev/", "/proc/self/")
    written = (tmp_path / "written").read_text().splitlines()
    assert [path for path in written if not path.startswith(allowed)] == []


def test_the_settings_fit_the_manifests(tmp_path: Path) -> None:
    settings = Settings.load(settings_file(tmp_path, 8765), {}, drain=5.0)
    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
    pod = manifests[0]["spec"]["template"]["spec"]
    probe = pod["containers"][0]["readinessProbe"]
    assert settings.drain > probe["periodSeconds"] * probe["failureThreshold"]
    assert settings.drain + settings.shutdown < pod["terminationGracePeriodSeconds"]
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    # What /tmp holds must fit: on a full one, no conversation can be kept and no mechanism made.
    (cache,) = re.findall(r"WORDVEIL_CACHE_SIZE=(\d+)", DOCKERFILE)
    volume = next(one["emptyDir"] for one in pod["volumes"] if "emptyDir" in one)
    assert volume["sizeLimit"] == "512Mi"
    assert "size=512m" in (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert (int(cache) << 20) + settings.sticky_bytes <= (512 << 20) * 0.8
    with pytest.raises(ValueError, match="hash"):  # whoever forgets the key is told
        Settings.load(DEPLOY / "service.toml", {})
