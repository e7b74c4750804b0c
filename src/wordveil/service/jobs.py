"""Calibrations, each in its own process, so that the service keeps answering requests.

Each job's progress and result are in a file of the service's run folder, where all its processes can read them.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import pickle
import re
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wordveil._mechanisms import MECHANISMS, Mechanism, register
from wordveil.errors import WordveilError
from wordveil.service.problems import Problem, busy, fault, problem_of
from wordveil.service.processes import end_with_parent, is_running

__all__ = ["Jobs", "calibrate_into"]

_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_KEPT_SECONDS = 3600.0
_UPDATE_SECONDS = 0.2


class Jobs:
    """Runs calibrations one after another."""

    def __init__(self, folder: Path, most: int, timeout: float) -> None:
        self._folder, self._most, self._timeout = folder, most, timeout
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Queue a calibration and return its state."""
        self._forget_old()
        if len(self._tasks) >= self._most:
            raise busy()
        name = secrets.token_urlsafe(16)
        state = {"id": name, "status": "waiting", "progress": 0.0, "doing": "waiting", "process": os.getpid()}
        _write(self._folder / f"{name}.json", state)
        task = asyncio.get_running_loop().create_task(self._run(name, request))
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))
        return self.state(name)

    def state(self, name: str) -> dict[str, Any]:
        """Return the progress of a job, and its result once it is done."""
        told = self._read(name)
        if "process" in told and not is_running(told["process"]):
            told = self._read(name)  # it may have ended because it was done
            if "process" in told:
                told = _failed(name, "the process that ran it has ended; start the calibration again.")
        told.pop("process", None)
        return {"result": None, "problem": None, **told}

    def _read(self, name: str) -> dict[str, Any]:
        try:
            if not _ID.fullmatch(name):
                raise FileNotFoundError
            told: dict[str, Any] = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Problem(404, "there is no such job; jobs are forgotten after an hour.") from None
        return told

    async def close(self) -> None:
        """Stop all jobs."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, name: str, request: dict[str, Any]) -> None:
        path = self._folder / f"{name}.json"
        async with self._turn:
            # A new process knows only wordveil's own mechanisms, so send the class with the work.
            work = (request, path, MECHANISMS[request["mechanism"]])
            process = multiprocessing.get_context("spawn").Process(target=_calibrate, args=work, daemon=True)
            try:
                await asyncio.to_thread(process.start)
            except (AttributeError, pickle.PicklingError):  # a class defined in a function cannot be imported
                _write(
                    path,
                    _failed(name, "this mechanism cannot be calibrated: its class is not in a module."),
                )
                return
            until = time.monotonic() + self._timeout
            try:
                while process.is_alive() and time.monotonic() < until:
                    await asyncio.sleep(_UPDATE_SECONDS)
            finally:
                process.kill()
                await asyncio.to_thread(process.join)
            if self.state(name)["status"] not in ("done", "failed"):
                _write(path, _failed(name, "the calibration took too long; try again with fewer words or points."))

    def _forget_old(self) -> None:
        for path in self._folder.glob("*.json"):
            if path.stem not in self._tasks and time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink(missing_ok=True)


def _calibrate(request: dict[str, Any], path: Path, kind: type[Mechanism[Any]]) -> None:
    """Calibrate in this process, which does nothing else."""
    end_with_parent(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    os.nice(5)  # requests go first
    register(kind)
    calibrate_into(request, path)


def calibrate_into(request: dict[str, Any], path: Path) -> None:
    """Calibrate, writing the progress and then the result to a file."""
    from wordveil import calibration  # noqa: PLC0415 - only the new process needs it
    from wordveil.spaces import load_space  # noqa: PLC0415

    name = path.stem
    try:
        space = load_space(request["space"])
        settings = calibration.Effort(
            words=request["words"],
            near_words=min(request["words"], 2000),
            draws=request["draws"],
            adversary_words=request["adversary_words"],
        )
        make = calibration.maker(request["mechanism"], space, **request["options"])
        targets = [calibration.Target(**target) for target in request["targets"]]
        meter = calibration.meter_for(make, space, settings, _teller(path))
        found = calibration.calibrate(meter, request["epsilons"], targets, points=request["points"])
        _write(path, {"id": name, "status": "done", "progress": 1.0, "doing": "done", "result": found.to_dict()})
    except WordveilError as error:
        _write(path, _failed(name, problem_of(error).sentence))
    except Exception:  # noqa: BLE001 - its message might quote something
        _write(path, _failed(name, fault().sentence))


def _teller(path: Path) -> Callable[[str, float], None]:
    told = 0.0

    def tell(what: str, share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _UPDATE_SECONDS:
            told = now
            done = round(share, 4)
            state = {"id": path.stem, "status": "running", "progress": done, "doing": what, "process": os.getpid()}
            _write(path, state)

    return tell


def _failed(name: str, sentence: str) -> dict[str, Any]:
    return {"id": name, "status": "failed", "progress": 1.0, "doing": "failed", "problem": sentence}


def _write(path: Path, state: dict[str, Any]) -> None:
    scratch = path.with_name(f"{path.stem}.{os.getpid()}.new")
    scratch.write_text(json.dumps(state, allow_nan=False), encoding="utf-8")
    scratch.replace(path)
