"""A folder of results: what each experiment found, as JSON beside its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordveil.errors import WordveilError
from wordveil.extras import check_can_draw, save
from wordveil.files import write_whole
from wordveil.lab.experiments.registry import EXPERIMENTS
from wordveil.lab.experiments.result import Result

__all__ = ["ResultFolder"]


class ResultFolder:
    """Keeps one run of each experiment. A quick run does not take the place of a full one unless that is asked for.

    Parameters
    ----------
    path : Path
        The folder; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        check_can_draw()
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise WordveilError(f"cannot make the folder {path}.") from None

    def keep(self, result: Result, facts: dict[str, Any], *, replace: bool = False) -> bool:
        """Write what an experiment found, or leave the full run that is there; return whether it was written.

        Parameters
        ----------
        result, facts
            From `run_experiment`.
        replace : bool
            Let a quick run replace a full one.
        """
        name = facts["name"]
        if facts["quick"] and not replace and not self._is_quick(name):
            return False
        for part, figure in sorted(result.figures.items()):
            save(figure, self.picture(name, part))
        write_whole(self._file(name), json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
        return True

    def found(self) -> dict[str, dict[str, Any]]:
        """Return the facts of every experiment that was kept, in the order of the papers."""
        return {name: self._read(name) for name in EXPERIMENTS if self._file(name).exists()}

    def picture(self, name: str, part: str) -> Path:
        """Return where a picture of an experiment lies."""
        return self.path / f"{name}{f'-{part}' if part else ''}.png"

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.json"

    def _is_quick(self, name: str) -> bool:
        return not self._file(name).exists() or bool(self._read(name)["quick"])

    def _read(self, name: str) -> dict[str, Any]:
        try:
            facts = json.loads(self._file(name).read_text(encoding="utf-8"))
            if facts["name"] == name and isinstance(facts["quick"], bool):
                return dict(facts)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise WordveilError(f"{self._file(name)} is not what an experiment writes; remove it or run it again.")
