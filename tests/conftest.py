"""What all tests share: a cache of their own, a small space, and the bundled one."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Hundreds of processes are started, and none should compile the package for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# There are as many test processes as cores, and one more. Threads of BLAS, FAISS, PyTorch and scikit-learn, which wait
# for one another, would only keep them from each other; this must be said before numpy is loaded.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Under `nohup`, or in the background of a script, signals are ignored, and every process started here would inherit
# that. A handler is not inherited.
for _told in {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}:
    if signal.getsignal(_told) is signal.SIG_IGN:
        signal.signal(_told, lambda *_: None)

import numpy as np  # noqa: E402

from tests.postgres import Cluster, cluster  # noqa: E402
from tests.scheduling import LONGEST, ByFile  # noqa: E402
from wordveil._mechanisms import MECHANISMS  # noqa: E402
from wordveil.parallel import cores  # noqa: E402
from wordveil.spaces import EuclideanSpace, PoincareSpace, Vocabulary, load_space  # noqa: E402

settings.register_profile("fixed", derandomize=True, deadline=None)  # the same examples every time, on any machine
settings.load_profile("fixed")

ALPHA = 1e-4  # every statistical test has a fixed seed; this is how surprising a result must be to fail


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


@pytest.hookimpl(optionalhook=True)  # without xdist nobody asks
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores: many tests wait, for a server, a browser or Spark, rather than work."""
    return cores() + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    return ByFile(config, log)


@pytest.fixture(autouse=True, scope="session")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    patch = pytest.MonkeyPatch()
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own  # what one process made, all may use
    patch.setenv("WORDVEIL_CACHE", str(shared / "cache"))
    # A Spark of seconds is over before what Java's optimising compiler makes of it is of any use.
    patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # Nor does anybody look at its page, or have rows for 200 partitions.
    spark = tmp_path_factory.mktemp("spark")
    (spark / "spark-defaults.conf").write_text("spark.ui.enabled false\nspark.sql.shuffle.partitions 2\n")
    patch.setenv("SPARK_CONF_DIR", str(spark))


#: The mechanisms that fit a space of vectors; the others need a Poincaré space and have tests of their own.
FLAT = [name for name in MECHANISMS if not name.startswith("hyperbolic")]


def make_space(words: int = 60, dimension: int = 5, seed: int = 0) -> EuclideanSpace:
    """Make a space of words in a few clusters."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(max(1, words // 12), dimension)) * 3
    vectors = centres[generator.integers(0, len(centres), words)] + generator.normal(size=(words, dimension))
    return EuclideanSpace(f"toy-{words}-{dimension}-{seed}", Vocabulary(names(words)), vectors.astype(np.float32))


def make_poincare(words: int = 60, dimension: int = 2, *, reach: float = 3.0, seed: int = 0) -> PoincareSpace:
    """Make a hyperbolic space of words out to a radius."""
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(words, dimension))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    radii = reach * generator.uniform(size=words) ** 0.5
    points = directions * np.sinh(radii)[:, None]
    return PoincareSpace(f"ball-{words}-{dimension}-{reach:g}-{seed}", Vocabulary(names(words)), points)


def in_a_fork(work: Callable[[], bytes]) -> bytes:
    """Return what `work` says in a forked process, and nothing if it fails or hangs there."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which are what is tested
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(10)
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def names(count: int) -> list[str]:
    """Make distinct words of letters alone."""
    return ["zq" + "".join(chr(97 + int(digit)) for digit in str(number)) for number in range(count)]


@pytest.fixture(scope="session")
def toy() -> EuclideanSpace:
    return make_space()


@pytest.fixture(scope="session")
def glove() -> EuclideanSpace:
    return load_space("glove-50k")


@pytest.fixture(scope="session")
def sample_csv() -> Path:
    import wordveil

    return Path(wordveil.__file__).parent / "data" / "sotu" / "addresses.csv"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL of our own: it takes seconds to start, so its tests share a process (tests/scheduling.py)."""
    with cluster() as one:
        yield one
