"""The GPU engine against its card's own matrix rate, and its law against the processor's, on the device.

    python -m benchmarks.gpu [--words 341479] [--json FILE]
    python -m benchmarks.gpu --parts   # where the time of a draw goes, with and without the kernels around the scan

Needs a CUDA device. The rate is that of whole draws, from ids to ids: noise, scan, exact products and both copies. The
limit is what the card's own bfloat16 matrix product, measured in the same run, allows for 2·V·d operations per word.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_parts import matrix_rate, print_parts
from benchmarks.laws import same_law
from benchmarks.measure import best_of
from wordveil import load_space, mechanism
from wordveil._mechanisms.laplace import Laplace
from wordveil.engines import check_engine, on_engine
from wordveil.engines.gpu import keystream
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary

DIMENSION = 100
TOKENS = 1 << 20
#: The mechanisms whose laws are compared, each at an ε where some words stay and some do not.
COMPARED = {
    "laplace": 8.0, "mahalanobis": 8.0, "gaussian": 30.0, "elastic": 30.0, "density": 4.0, "vickrey": 8.0,
    "nadp": 30.0, "jaccard": 30.0,
}  # fmt: skip


def made_vectors(words: int) -> EuclideanSpace:
    """Return normal vectors with the mean and covariance of the bundled words."""
    known = load_space("glove-50k").matrix
    shape = np.linalg.cholesky(np.cov(known.T)).T
    normal = np.random.default_rng(0).normal(size=(words, DIMENSION))
    vectors = (normal @ shape + known.mean(axis=0)).astype(np.float32)
    return EuclideanSpace("made", Vocabulary([f"w{number}" for number in range(words)]), vectors)


def rates(words: int) -> dict[str, float]:
    """Draw with `laplace` on made-up vectors. The limit is measured before and after."""
    made = made_vectors(words)
    vectors, generator = made.matrix, np.random.default_rng(1)
    on_card = mechanism("laplace", on_engine(made, "gpu"), epsilon=10.0)
    assert isinstance(on_card, Laplace)
    ids = generator.integers(0, words, TOKENS)
    before = matrix_rate(torch.bfloat16)
    on_card.draw(ids[: 1 << 17])
    spent = best_of(3, lambda: on_card.draw(ids))
    after = matrix_rate(torch.bfloat16)
    torch.cuda.synchronize()
    points: Any = on_card.perturb(ids[: 1 << 16], Entropy(0))  # a tensor
    searching = best_of(3, lambda: on_card.space.nearest(points))
    queries = points[:512].double()
    scores = queries @ torch.as_tensor(vectors, device="cuda").double().T
    scores -= 0.5 * torch.as_tensor(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64), device="cuda")
    same = bool((scores.argmax(dim=1).cpu().numpy() == on_card.space.nearest(points[:512])).all())
    operations = 2 * words * DIMENSION
    return {
        "words": words,
        "draws_per_second": TOKENS / spent,
        "searches_per_second": len(points) / searching,
        "bf16_matrix_tflops": (before + after) / 2e12,
        "f32_matrix_tflops": matrix_rate(torch.float32) / 1e12,
        "limit_draws_per_second": (before + after) / 2 / operations,
        "of_limit": TOKENS / spent / ((before + after) / 2 / operations),
        "search_of_limit": len(points) / searching / ((before + after) / 2 / operations),
        "exact_on_512": float(same),
        "peak_device_mb": torch.cuda.max_memory_allocated() / 2**20,
    }


def laws() -> dict[str, float]:
    """Return the p-value of a χ² test for each mechanism: draws on the card against draws on the processor."""
    space = load_space("glove-50k")
    small = space.restrict(np.arange(0, len(space), 25))
    found = {}
    for name, epsilon in COMPARED.items():
        options = {"join": True} if name == "nadp" else {}
        ids = np.repeat(np.arange(0, 40, 4), 20_000)
        here = mechanism(name, small, epsilon=epsilon, **options).draw(ids, Entropy(1))
        there = mechanism(name, on_engine(small, "gpu"), epsilon=epsilon, **options).draw(ids, Entropy(2))
        found[name] = same_law(ids, here, there)
    return found


def calibration() -> dict[str, float]:
    """Calibrate laplace on 10,000 words × 1,000 draws × 10 ε, on the card."""
    import os  # noqa: PLC0415

    from benchmarks.calibration import DRAWS, EPSILONS  # noqa: PLC0415
    from wordveil.calibration import Effort, maker, meter_for  # noqa: PLC0415

    space = on_engine(load_space("glove-50k"), "gpu")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORDVEIL_CACHE"] = folder
        meter = meter_for(maker("laplace", space), space, Effort(words=10_000, draws=DRAWS, adversary_words=1))
        started = time.perf_counter()
        meter.measure(EPSILONS)
        spent = time.perf_counter() - started
    return {"seconds": spent, "queries_per_second": 10_000 * DRAWS * len(EPSILONS) / spent}


def graph(words: int, dimension: int) -> dict[str, float]:
    """Build the neighbour graph of a made-up embedding: finding neighbours on the card, the rest on the processor."""
    import os  # noqa: PLC0415

    from benchmarks.sizes import make  # noqa: PLC0415
    from wordveil.spaces.listing import list_similar  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORDVEIL_CACHE"] = str(Path(folder) / "cache")
        make(Path(folder), words, dimension)
        space = on_engine(load_space(folder), "gpu")
        assert isinstance(space, EuclideanSpace)
        space.similar(np.arange(4), 10)  # moves the vectors to the card
        started = time.perf_counter()
        listed = list_similar(space, 10)
        listing = time.perf_counter() - started
        made = mechanism("graph", space, epsilon=4.0)  # takes the lists from the cache
        whole = time.perf_counter() - started
        made.draw(np.arange(16))
    return {"words": words, "dimension": dimension, "neighbours_s": listing, "graph_s": whole, "found": listed.found}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=341_479, help="how many words the made vocabulary has")
    parser.add_argument("--graph", default="1000000x300", help="words and dimensions of the embedding that is joined")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--parts", action="store_true", help="say where the time of a draw goes, and nothing else")
    arguments = parser.parse_args()
    check_engine("gpu")
    if arguments.parts:
        print_parts(made_vectors(arguments.words))
        return
    key = Entropy(0).key()
    facts: dict[str, Any] = {
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "chacha20_as_on_the_processor": bool((keystream(key, 4096, "cuda").cpu() == keystream(key, 4096, "cpu")).all()),
    }
    print(json.dumps(facts), flush=True)
    jobs: dict[str, Callable[[], dict[str, float]]] = {
        "laplace": lambda: rates(arguments.words),
        "p_values": laws,
        "calibration": calibration,
        "graph": lambda: graph(*map(int, arguments.graph.split("x"))),
    }
    for name, work in jobs.items():
        facts[name] = work()
        print(name, json.dumps(facts[name], indent=2), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
