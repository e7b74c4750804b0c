"""Build the sdist and the wheel into dist/, and check that the same commit gives the same bytes.

    python tools/build_dist.py            # builds twice under different circumstances, compares, writes dist/
    python tools/build_dist.py --once     # builds only

Only files that git tracks go in. Times are those of the last commit (or ``SOURCE_DATE_EPOCH``), modes are 644 and 755,
owners are nobody. The second build has another folder, other file times, another umask and another time zone, and makes
the wheel from the tree instead of from the sdist. The bytes also depend on the versions of Python, setuptools and the
compiler, so use the same ones to reproduce them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LICENCES = 4  # ours, and one for each bundled data set


def main() -> None:
    """Build, check, and put the two files into dist/."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true", help="build only, and do not compare with a second build")
    once = parser.parse_args().once
    with tempfile.TemporaryDirectory(prefix="one") as first, tempfile.TemporaryDirectory(prefix="another-") as second:
        sdist = build_sdist(export(Path(first) / "tree"))
        wheel = build_wheel(unpack(sdist, Path(first) / "unpacked"))
        check_contents(sdist, wheel, traces=[first, str(ROOT), str(Path.home())])
        if not once:
            os.umask(0o077)
            tree = export(Path(second) / "a longer name" / "tree", shift=86_400)
            other = {"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "7"}
            compare(sdist, build_sdist(tree, other))
            compare(wheel, build_wheel(tree, other))
        target = ROOT / "dist"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for file in (sdist, wheel):
            shutil.copy(file, target)
            print(f"{digest(file)}  dist/{file.name}  {file.stat().st_size:,} bytes")
    print(
        "Built once."
        if once
        else "Built twice, bit for bit the same; the wheel from the sdist is the wheel from the tree."
    )


def export(target: Path, shift: int = 0) -> Path:
    """Copy the files that git tracks, as they are in the working tree, with plain modes and times."""
    when = epoch() + shift
    for line in git("ls-files", "--stage").splitlines():
        mode, name = line.split(" ")[0], line.split("\t")[1]
        source, copy = ROOT / name, target / name
        if not source.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod(0o755 if mode == "100755" else 0o644)
        os.utime(copy, (when, when))
    return target


def build_sdist(tree: Path, settings: dict[str, str] | None = None) -> Path:
    """Build the sdist of a tree, and remove what differs between builds."""
    (raw,) = run_build(tree, "sdist", settings)
    plain = io.BytesIO()
    with tarfile.open(raw) as made, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in sorted((member for member in made if member.isfile()), key=lambda member: member.name):
            entry = tarfile.TarInfo(member.name)
            entry.size, entry.mtime = member.size, epoch()
            entry.mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
            archive.addfile(entry, made.extractfile(member))
    raw.write_bytes(gzip.compress(plain.getvalue(), mtime=epoch()))
    return raw


def build_wheel(tree: Path, settings: dict[str, str] | None = None) -> Path:
    """Build the wheel of a tree."""
    (wheel,) = run_build(tree, "wheel", settings)
    return wheel


def run_build(tree: Path, kind: str, settings: dict[str, str] | None) -> list[Path]:
    """Run the builder in its own environment, with a fixed umask, since the modes of files depend on it."""
    out = tree.parent / kind
    command = [sys.executable, "-m", "build", f"--{kind}", "--outdir", str(out), str(tree)]
    environment = {**os.environ, **(settings or {}), "SOURCE_DATE_EPOCH": str(epoch()), "LDSHARED": linker()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, umask=0o022)
    if done.returncode:
        sys.exit(f"The {kind} was not built.\n{done.stdout}{done.stderr}")
    return [path for path in out.iterdir() if path.suffix in {".gz", ".whl"}]


def linker() -> str:
    """Return this Python's linker command without the folders it was built with, which would end up in the file."""
    words = shlex.split(sysconfig.get_config_var("LDSHARED"))
    return shlex.join(word for word in words if not word.startswith(("-L", "-Wl,-rpath")))


def unpack(sdist: Path, target: Path) -> Path:
    """Unpack an sdist and return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


def check_contents(sdist: Path, wheel: Path, traces: list[str]) -> None:
    """Refuse a build that lacks a file or a licence, has an extra one, or names a folder of this machine."""
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    made = {name for name in inside if ".egg-info/" in name or name in {"PKG-INFO", "setup.cfg"}}
    tracked = {name for name in git("ls-files").splitlines() if (ROOT / name).exists()} - {".gitignore"}
    if inside - made != tracked:
        sys.exit(f"The sdist lacks {sorted(tracked - inside)} and has too many {sorted(inside - made - tracked)}.")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        named = [name for name in names if any(trace.encode() in archive.read(name) for trace in traces)]
    licences = [name for name in names if "/licenses/" in name]
    if len(licences) != LICENCES:
        sys.exit(f"The wheel has {len(licences)} licence files where {LICENCES} are meant: {licences}.")
    if not any("/_native." in name for name in names):
        sys.exit("The wheel has no compiled part; install a C compiler.")
    strange = [name for name in names if not name.startswith(("wordveil/", "wordveil-"))]
    if named or strange:
        sys.exit(f"The wheel names folders of this machine in {named}, and has files of its own making: {strange}.")


def compare(one: Path, other: Path) -> None:
    """Stop and name the files that differ, if two builds differ in any bit."""
    if (one.name, digest(one)) == (other.name, digest(other)):
        return
    left, right = members(one), members(other)
    differing = sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
    sys.exit(f"{one.name} was built twice and differs in {differing or 'its order, times or modes'}.")


def members(file: Path) -> dict[str, bytes]:
    """Return what is in an archive, by name."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(file) as sdist:
        return {member.name: sdist.extractfile(member).read() for member in sdist if member.isfile()}  # type: ignore[union-attr]


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def epoch() -> int:
    """Return the time for all files: that of the last commit, or ``SOURCE_DATE_EPOCH`` if it is set."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def git(*arguments: str) -> str:
    """Return what git prints about this repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
