"""The examples in the docstrings run and print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import wordveil
from wordveil.errors import ExtraError

#: Modules that only a machine with CUDA can import.
ELSEWHERE = {"wordveil.lab.training.kernels", "wordveil.engines.gpu.triton_kernels", "wordveil.__main__"}
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(wordveil.__path__, "wordveil.") if module.name not in ELSEWHERE
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    told: list[str] = []
    finder = doctest.DocTestFinder()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("wordveil"):
            raise
        pytest.skip(f"{name} has no examples tested: {missing.name} is not installed")
    except ExtraError as missing:
        pytest.skip(str(missing))
    for example in finder.find(module, name):
        if example.examples:
            failed, _ = doctest.DocTestRunner().run(example, out=told.append)
            assert not failed, "".join(told)
