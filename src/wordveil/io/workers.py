"""Who veils the blocks of a job, and how: this process, or several workers beside it."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import wordveil
from wordveil import parallel
from wordveil.errors import InputError, OptionError, WordveilError
from wordveil.io.checkpoint import Tally
from wordveil.io.formats import Block, Position
from wordveil.io.small import SmallFiles
from wordveil.text import Document, Once, Veil
from wordveil.text.flow import Flow, Rewritten, Texts, counts_of

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

__all__ = ["Crew", "Done", "Task", "Veils"]

_AHEAD = 2  # blocks under way for each worker
_TURN = 0.0005  # seconds for which a thread may run in Python while another has come back from compiled code


class Veils:
    """Veils blocks.

    Without a seed it is one veil with fresh entropy, in every run anew. With a seed each block gets a veil of
    its own, whose seed follows from the seed, the input and the number of the block: so an experiment that
    was interrupted and resumed comes out as if it had not been. `whole` is the veil of the job, for what it says about
    itself; all share its `Once`, and so its secret.
    """

    def __init__(self, make: Callable[[int | None], Veil], seed: int | None = None) -> None:
        self._make, self._seed = make, seed
        self.whole = make(seed)
        self._flow = Flow(self.whole)

    @property
    def is_seeded(self) -> bool:
        """Whether each block has draws of its own that can be repeated."""
        return self._seed is not None

    def identity(self) -> list[object]:
        """Return what must be the same for a job to go on."""
        return [wordveil.__version__, self.whole.fingerprint, self._seed]

    def go_on_with(self, secret: bytes) -> None:
        """Draw once beyond a record with the secret that the job was begun with."""
        if self.whole.once is not None:
            self.whole.once.go_on_with(secret)

    @property
    def may_join(self) -> bool:
        """Whether texts of several inputs may be veiled as if they were of one."""
        once = self.whole.once
        return self._seed is None and (once is None or once.scope == "record")

    def is_compiled_for(self, size: int) -> bool:
        """Whether compiled code does nearly all of the work for blocks of so many bytes, so threads can share it."""
        return self._flow.is_compiled_for(size)

    def veil(self, load: Sequence[Task]) -> list[Done]:
        """Veil blocks: those of small inputs at once, unless each has a seed of its own."""
        if len(load) > 1 and self._seed is None and not any(self._by_place(task.block) for task in load):
            with suppress(WordveilError):  # told below, of the block that it comes from
                return self._veil_at_once(load)
        return [self._veil_one(*task) for task in load]

    def _veil_one(self, block: Block, name: str, number: int) -> Done:
        veil = self._for(name, number)
        try:
            if not self._by_place(block):
                rewritten = self._flow.rewrite(veil, block.together(), *_groups(veil.once, block, name))
                return Done.of(block, rewritten)
            releases = veil.together(_scoped(veil.once, block, name))  # what was replaced is asked for by its place
        except WordveilError as error:
            reason = str(error)
        else:
            tally = Tally(runs=0, passed=block.passed)
            tally.add(counts_of(releases), block.sizes)
            return Done(block.end, block.render(releases), tally)
        raise InputError(f"{_culprit(veil, block)}: {reason}")

    def _by_place(self, block: Block) -> bool:
        """Whether words are selected, or what replaced them is asked for, by where they stand."""
        return self.whole.selection.kind == "spans" or block.has_spans

    def _veil_at_once(self, load: Sequence[Task]) -> list[Done]:
        """Veil blocks whose words are drawn together, as it costs about as much to draw for few words as for many."""
        parts = [task.block.together() for task in load]
        groups, scopes, first = list[NDArray[np.int64]](), dict[int, str](), 0
        for task in load:
            own, names = _groups(self.whole.once, task.block, task.name)
            groups.append(own + first)
            scopes |= {first + number: name for number, name in names.items()}
            first += int(own.max(initial=-1)) + 1  # a block may have no text at all
        rewritten = self._flow.rewrite(self.whole, Texts.joined(parts), np.concatenate(groups), scopes)
        tally = Tally(runs=0, passed=sum(task.block.passed for task in load))
        tally.add(rewritten.counts, np.concatenate([task.block.sizes for task in load]))
        pairs = zip(load, rewritten.split(parts), strict=True)
        done = [Done(task.block.end, task.block.render_together(one.texts), None) for task, one in pairs]
        return [done[0]._replace(tally=tally), *done[1:]]

    def _for(self, name: str, number: int) -> Veil:
        if self._seed is None:
            return self.whole
        digest = hashlib.sha256(f"{self._seed}/{number}/{name}".encode("utf-8", "surrogateescape")).digest()
        veil = self._make(int.from_bytes(digest[:16], "big"))
        veil.once = self.whole.once
        return veil


def _scoped(once: Once | None, block: Block, name: str) -> Iterator[str | Document]:
    """Give the texts of a block, each with the scope in which equal words of it are drawn once.

    A record that says nobody's name is somebody's own: its scope is its place in the input.
    """
    first = block.end.record - len(block.records)
    for number, texts in enumerate(block.records, first):
        for text in texts:
            document = Document(text) if isinstance(text, str) else text
            if once is None:
                yield document._replace(scope=None)
            elif once.scope == "file":
                yield document._replace(scope=name)
            elif once.scope == "record" or document.scope is None:
                yield document._replace(scope=f"record {number} of {name}")
            else:
                yield document._replace(scope=f"person {document.scope}")


def _groups(once: Once | None, block: Block, name: str) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return the numbers of the scopes of a block's texts, in which equal words are drawn once, and their names."""
    if once is None or once.scope == "record":
        groups = np.repeat(np.arange(len(block.sizes)), block.sizes)
        return groups, {}  # the names of records go into no draw
    scopes = [str(document.scope) for document in _scoped(once, block, name) if isinstance(document, Document)]
    numbers = {scope: number for number, scope in enumerate(dict.fromkeys(scopes))}
    groups = np.fromiter((numbers[scope] for scope in scopes), np.int64, len(scopes))
    return groups, {number: scope for scope, number in numbers.items()}


def _culprit(veil: Veil, block: Block) -> str:
    """Find the record whose text the veil refuses, such as one with marks that do not pair."""
    first = block.end.record - len(block.records) + 1
    for number, texts in enumerate(block.records, first):
        if any(_is_refused(veil, text) for text in texts):
            return f"record {number}"
    return f"one of the records {first} to {block.end.record}"


def _is_refused(veil: Veil, text: str | Document) -> bool:
    try:
        veil.selection.prepare(Document(text) if isinstance(text, str) else text)
    except WordveilError:
        return True
    return False


class Done(NamedTuple):
    """A block that was veiled: where it ends, what is to be written, and what was counted.

    Of blocks that were veiled at once the first has the count of all. The content of a block of several files has where
    each of them ends, and which share of the words of each was left alone.
    """

    end: Position
    content: bytes
    tally: Tally | None
    cuts: Sequence[int] = ()
    left_alone: Sequence[float] = ()

    @classmethod
    def of(cls, block: Block, rewritten: Rewritten) -> Done:
        """Return a block with its new texts."""
        tally = Tally(runs=0, passed=block.passed)
        tally.add(rewritten.counts, block.sizes)
        found = cls(block.end, block.render_together(rewritten.texts), tally)
        if isinstance(block, SmallFiles):
            return found._replace(cuts=block.cuts(rewritten.texts), left_alone=block.left_alone(rewritten.counts))
        return found


class Task(NamedTuple):
    """A block to veil, of the input of this name, in which it has this number."""

    block: Block
    name: str
    number: int


class Crew:
    """Veils blocks and gives them back in their order.

    Workers are threads, if `in_threads`: these share what is learnt and remembered, but only compiled code runs in
    several of them at the same time. Otherwise they are forked from this process, so they share its space and hold no
    copy of their own; each takes fresh entropy. The first blocks are veiled here then, before: what is learnt from them
    every worker would have to learn by itself. Only a few blocks are ever under way, so a fast reader does not run
    ahead of the veil, but more than there are workers, who so have something to do while the disk makes a block safe.
    With one worker all of the work is done here.
    """

    def __init__(self, veils: Veils, workers: int = 1, *, in_threads: bool = False) -> None:
        parallel.check_workers(workers)
        if workers > 1 and not in_threads and not hasattr(os, "fork"):
            raise OptionError("this system cannot fork processes, which several workers need; set `workers` to 1.")
        self._veils, self._workers, self._in_threads = veils, workers, in_threads
        self._pool: Executor | None = None
        self._usual_turn: float | None = None

    def veil(self, loads: Iterable[list[Task]]) -> Iterator[list[Done]]:
        """Veil blocks, those of a load by the same worker."""
        loads = iter(loads)
        if self._workers == 1:
            yield from map(self._veils.veil, loads)
            return
        yield from map(self._veils.veil, islice(loads, 1 if self._pool is None and not self._in_threads else 0))
        from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - one process needs none of it

        under_way: deque[Future[list[Done]]] = deque()
        try:
            for load in islice(loads, _AHEAD * self._workers):
                under_way.append(self._submit(load))
            while under_way:
                done = under_way.popleft().result()
                for load in islice(loads, 1):
                    under_way.append(self._submit(load))
                yield done
        except BrokenProcessPool:
            raise WordveilError("a worker process was killed, maybe for lack of memory; use fewer `workers`.") from None

    def _submit(self, load: list[Task]) -> Future[list[Done]]:
        if self._pool is None:
            self._pool = self._start()
        return self._pool.submit(_work, load)

    def _start(self) -> Executor:
        threads = max(1, parallel.cores() // self._workers)
        if self._in_threads:
            if sys.getswitchinterval() > _TURN:
                self._usual_turn = sys.getswitchinterval()
                sys.setswitchinterval(_TURN)
            return ThreadPoolExecutor(self._workers, initializer=_begin_thread, initargs=(self._veils, threads))
        import multiprocessing  # noqa: PLC0415 - slow
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

        context = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self._workers, context, _begin, (self._veils, threads, os.getpid()))

    def close(self) -> None:
        """Let the workers go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        if self._usual_turn is not None:
            sys.setswitchinterval(self._usual_turn)
            self._usual_turn = None


_ours = threading.local()  # the veils of a worker


def _begin_thread(veils: Veils, threads: int) -> None:
    """Make a thread a worker."""
    parallel.use_here(threads)
    _ours.veils = veils


def _begin(veils: Veils, threads: int, parent: int) -> None:
    """Make a forked process a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops the job and lets the workers go
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - of a worker alone

    parallel.use(threads)
    threadpool_limits(limits=threads)
    _ours.veils = veils
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    # A parent that is killed outright cannot say goodbye, and a worker must not outlive it.
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _work(load: list[Task]) -> list[Done]:
    veils: Veils = _ours.veils
    return veils.veil(load)
