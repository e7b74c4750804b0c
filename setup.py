"""The compiled part; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# From Python 3.11 on, the stable interface has buffers: then one wheel serves every later version.
STABLE = (
    sys.version_info >= (3, 11)
    and sys.implementation.name == "cpython"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")  # a free-threaded Python has none
)

setup(
    ext_modules=[
        Extension(
            "wordveil.kernels._native",
            [
                f"src/wordveil/kernels/{name}.c"
                for name in ("native", "strings", "words", "writing", "values", "lines", "tables")
            ],
            depends=sorted(map(str, Path("src/wordveil/kernels").glob("*.h"))),
            # -g0: debug information would hold the folder that it was built in, and no build would equal another
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", "-g0"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            optional=True,  # without a compiler, numpy does the same work more slowly
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
