"""IS-A pairs: reading, filtering, and closing them."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.errors import FileError, InputError, OptionError

_MOST_PAIRS = 100_000_000  # a larger closure comes from cycles in noisy pairs, and would not fit in memory


@dataclass(frozen=True)
class Pairs:
    """What is a kind of what: ``names[child[i]]`` is a ``names[parent[i]]``, seen ``counts[i]`` times."""

    names: list[str]  # the nodes
    child: NDArray[np.int32]
    parent: NDArray[np.int32]
    counts: NDArray[np.float64]  # how often each pair was seen
    hidden: int = 0  # how many of the last nodes only help the training and are not words of the space

    @classmethod
    def of(cls, pairs: Collection[tuple[str, str]], names: Collection[str] = (), *, hidden: int = 0) -> Pairs:
        """Make pairs from names. Nodes come in the order of `names`, then of their first appearance."""
        ids = {name: place for place, name in enumerate(names)}
        flat = np.array([[ids.setdefault(name, len(ids)) for name in pair] for pair in pairs], dtype=np.int32)
        flat = flat.reshape(-1, 2)
        return cls(list(ids), flat[:, 0], flat[:, 1], np.ones(len(flat)), hidden)

    def __len__(self) -> int:
        return len(self.child)

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 of names, pairs and counts."""
        digest = hashlib.sha256("\n".join(self.names).encode("utf-8", "surrogatepass"))
        for part in (self.child.astype("<i4"), self.parent.astype("<i4"), self.counts.astype("<f8")):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(str(self.hidden).encode())
        return digest.hexdigest()

    @cached_property
    def rows(self) -> csr_array[Any]:
        """The parents of every node as a sparse row, sorted."""
        matrix = csr_array(
            (np.ones(len(self), dtype=bool), (self.child, self.parent)), shape=(len(self.names), len(self.names))
        )
        matrix.sum_duplicates()
        matrix.sort_indices()
        return matrix

    @property
    def links(self) -> NDArray[np.int64]:
        """How many pairs each node is in."""
        ends = np.concatenate([self.child, self.parent])
        return np.bincount(ends, minlength=len(self.names))

    def filtered(
        self,
        *,
        min_count: float = 0.0,
        vocabulary: Collection[str] | None = None,
        leave_out: Collection[str] = (),
        min_links: int = 0,
    ) -> Pairs:
        """Keep the pairs that pass all filters, and the nodes that are still in a pair.

        Nodes in fewer than `min_links` pairs are removed with their pairs, repeatedly, until there are none.
        """
        good = np.array(
            [(vocabulary is None or name in vocabulary) and name not in leave_out for name in self.names], dtype=bool
        )
        keep = good[self.child] & good[self.parent] & (self.counts >= min_count) & (self.child != self.parent)
        while True:
            ends = np.concatenate([self.child[keep], self.parent[keep]])
            links = np.bincount(ends, minlength=len(self.names))
            few = (links > 0) & (links < min_links)
            if not few.any():
                return self._taking(keep, links > 0)
            keep &= ~few[self.child] & ~few[self.parent]

    def _taking(self, pairs: NDArray[np.bool_], nodes: NDArray[np.bool_]) -> Pairs:
        place = np.cumsum(nodes) - 1
        hidden = int(nodes[len(nodes) - self.hidden :].sum())
        return Pairs(
            [name for name, kept in zip(self.names, nodes.tolist(), strict=True) if kept],
            place[self.child[pairs]].astype(np.int32),
            place[self.parent[pairs]].astype(np.int32),
            self.counts[pairs],
            hidden,
        )

    def closed(self) -> Pairs:
        """Add all implied pairs: a kind of a kind is a kind. Added pairs count once."""
        reach = self.rows
        step = reach
        while True:
            found = (reach + reach @ step).tocoo()
            others = found.row != found.col  # nothing is a kind of itself, even where pairs form cycles
            further = csr_array((found.data[others], (found.row[others], found.col[others])), shape=found.shape)
            if further.nnz > _MOST_PAIRS:
                raise InputError(
                    f"the closure has more than {_MOST_PAIRS:,} pairs, so the pairs form cycles; "
                    "filter them harder or do without the closure."
                )
            if further.nnz == reach.nnz:
                break
            reach = further
        child, parent = reach.nonzero()
        own = {(int(c), int(p)): n for c, p, n in zip(self.child, self.parent, self.counts, strict=True)}
        counts = np.array([own.get(pair, 1.0) for pair in zip(child.tolist(), parent.tolist(), strict=True)])
        return replace(self, child=child.astype(np.int32), parent=parent.astype(np.int32), counts=counts)

    def visible(self) -> Pairs:
        """Keep the pairs between nodes that are words of the space."""
        shown = np.arange(len(self.names)) < len(self.names) - self.hidden
        return self._taking(shown[self.child] & shown[self.parent], shown)

    def reduced(self) -> Pairs:
        """Leave out pairs that follow from two others. From closed pairs, this leaves the steps of the hierarchy.

        Pairs that go both ways, as between synonyms, stay.
        """
        both = self.rows.multiply(self.rows.T)
        strict = (self.rows.astype(np.int32) - both.astype(np.int32)).tocsr()
        strict.eliminate_zeros()
        further = (strict @ strict).astype(bool).multiply(strict.astype(bool))
        steps = strict - further.astype(np.int32) + both.astype(np.int32)
        steps.eliminate_zeros()
        child, parent = steps.nonzero()
        return replace(self, child=child.astype(np.int32), parent=parent.astype(np.int32), counts=np.ones(len(child)))

    def below(self, root: str) -> Pairs:
        """Keep the pairs between kinds of `root` and `root` itself. The pairs must be closed."""
        if root not in self.names:
            raise OptionError(f"there is no node {root!r} among the pairs.")
        top = self.names.index(root)
        inside = np.zeros(len(self.names), dtype=bool)
        inside[self.child[self.parent == top]] = True
        inside[top] = True
        return self._taking(inside[self.child] & inside[self.parent], inside)


def read_pairs(path: Path | str) -> Pairs:
    """Read pairs from a file of lines ``child <tab> parent`` or ``child <tab> parent <tab> count``; repeats add up."""
    path = Path(path)
    counts: dict[tuple[str, str], float] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                fields = line.rstrip("\r\n").split("\t")
                if fields == [""]:
                    continue
                count = _count(fields, f"{path}, line {number}")
                pair = fields[0], fields[1]
                counts[pair] = counts.get(pair, 0.0) + count
    except (OSError, EOFError, zlib.error):
        raise FileError(f"cannot read {path}; name a complete file of IS-A pairs.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; convert it.") from None
    pairs = Pairs.of(list(counts))
    return replace(pairs, counts=np.array(list(counts.values()), dtype=np.float64))


def _count(fields: list[str], place: str) -> float:
    if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
        raise InputError(f"{place}: not a pair; write child, tab, parent, and optionally tab, count.")
    try:
        count = float(fields[2]) if len(fields) == 3 else 1.0
    except ValueError:
        count = -1.0
    if not 0.0 < count < float("inf"):
        raise InputError(f"{place}: the count must be a number above 0.")
    return count


def write_pairs(path: Path | str, pairs: Pairs) -> None:
    """Write pairs in the format that `read_pairs` reads."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as out:
        for child, parent, count in zip(pairs.child, pairs.parent, pairs.counts, strict=True):
            tail = "" if count == 1 else f"\t{count:g}"
            out.write(f"{pairs.names[child]}\t{pairs.names[parent]}{tail}\n")
