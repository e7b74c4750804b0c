"""Reads, veils and writes: a whole job, in constant memory, that can go on after a crash."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from wordveil.errors import FileError, InputError, OptionError, WordveilError
from wordveil.files import Lock, digest_of, digest_of_file, file_errors, write_whole
from wordveil.io.beside import tell_texts_beside
from wordveil.io.checkpoint import Checkpoint, DoneInputs, Identity, Tally
from wordveil.io.formats import PLAIN_WRITER, Block, Position, Reader, Reading
from wordveil.io.inputs import Piece, Plan, check_fits
from wordveil.io.output import Destination, HeldWriter, SyncedFiles, Writer
from wordveil.io.small import ReadAhead, SmallFiles, batches_of, may_be_plain, seems_plain
from wordveil.io.streams import packing_of
from wordveil.io.workers import Crew, Done, Task, Veils

__all__ = ["AS_BEFORE", "FileJob", "JobWatch", "StreamJob"]

#: Called after each block with the sums so far and how many bytes of the input are done.
JobWatch = Callable[[Tally, int], None]

_SMALL = 16  # inputs of less than this part of a batch are veiled together
#: What to do where a job cannot go on as it is asked to.
AS_BEFORE = "give the same as before to continue, or start again with `overwrite` instead of `resume`"


@dataclass
class _Run:
    """One run of a job: who veils, how far it is, and who is told."""

    crew: Crew
    state: Checkpoint
    watch: JobWatch | None
    keep: Callable[[], None]
    bytes_before: int = 0


class _Job:
    """What both kinds of job share: the way of one input through the veil.

    Unless a job is `unveiled`, it is refused at its end if it has veiled none of its words: its output would be its
    input.
    """

    def __init__(self, plan: Plan, reading: Reading, *, unveiled: bool = False) -> None:
        self._plan, self._reading, self._unveiled = plan, reading, unveiled
        self._sized = reading  # as soon as it is known who veils
        #: Called with the first texts of each input before anything of it is written; what it raises ends the job.
        self.look: Callable[[Iterable[str]], None] | None = None
        #: Called with what the user should know before anything is released.
        self.tell: Callable[[str], object] = lambda _: None
        #: The share of words that are left alone from which on a small input need not be looked at.
        self.sure = math.inf
        # In a folder of both, the columns are meant for the files that have some.
        self._are_mixed = len({piece.format.has_columns for piece in plan.pieces}) > 1

    def _check_inputs(self) -> None:
        """Open every input that can be opened again, to find wrong columns before any work is done."""
        check_fits(self._plan, self._reading)
        if self._reading.person is not None and not any(piece.format.has_columns for piece in self._plan.pieces):
            raise OptionError("`person` names a column or key, and plain text has none; leave it out.")
        for piece in self._plan.pieces:
            may_be = piece.place is not None and may_be_plain(piece, self._reading_of(piece))
            if not piece.is_stream and not (may_be and self._seems_plain(piece)):
                self._open(piece).close()
        if any(piece.format.has_columns and not piece.is_stream for piece in self._plan.pieces):
            from wordveil.io.headers import check_headers  # noqa: PLC0415 - what it compiles is for tables alone

            check_headers(self._plan, self._reading, self.tell)

    def _seems_plain(self, piece: Piece) -> bool:
        """Whether an input that may be plain text can be read and seems to be."""
        return seems_plain(str(piece.place))

    def _check_person(self, veils: Veils) -> None:
        once = veils.whole.once
        if (once is not None and once.scope == "person") != (self._reading.person is not None):
            raise OptionError(
                "`once='person'` needs `person`, the column that says who each record belongs to, and the other way "
                "round."
            )

    def records(self, watch: Callable[[int], None] | None = None) -> Iterator[list[str]]:
        """Give the texts of every record, for a pass over the input before the job; `watch` is told the bytes done."""
        before = 0
        for piece in self._plan.pieces:
            if piece.is_stream:
                raise InputError("the input is read twice, and a stream can be read only once; give a file.")
            with self._open(piece) as reader:
                for block in reader.blocks():
                    for texts in block.records:
                        yield [text if isinstance(text, str) else text.text for text in texts]
                    if watch:
                        watch(before + reader.bytes_done(block.end))
                reader.check_unchanged()
            before += piece.size

    def _crew(self, veils: Veils, workers: int) -> Crew:
        # Words of a person are drawn in Python, with those of all of theirs.
        can_share = self._reading.person is None and all(piece.format.is_bytes for piece in self._plan.pieces)
        is_compiled = can_share and veils.is_compiled_for(self._reading.batch_bytes)
        # With a seed each block has draws of its own, which must not depend on who veils it.
        if is_compiled and not veils.is_seeded:
            self._sized = self._reading.for_compiled(self._plan.size, workers)
        return Crew(veils, workers, in_threads=is_compiled)

    def _is_bare(self, veils: Veils, tally: Tally) -> bool:
        """Whether nothing was veiled that should have been."""
        return not self._unveiled and tally.counts.words > 0 and not veils.whole.has_veiled(tally.counts)

    def _reading_of(self, piece: Piece) -> Reading:
        if self._are_mixed and not piece.format.has_columns:
            return replace(self._sized, columns=(), person=None)
        return self._sized

    def _open(self, piece: Piece, start: Position | None = None) -> Reader:
        return piece.format.open_reader(piece.source, self._reading_of(piece), start)

    def _looked_at(self, piece: Piece, reader: Reader, state: Checkpoint) -> Iterator[Block]:
        blocks = reader.blocks()
        if state.position is None:
            first = next(blocks, None)
            if piece.is_stream and piece.format.has_columns:
                from wordveil.io.headers import check_first  # noqa: PLC0415 - as above

                check_first(reader.names, first, self._reading, self.tell)  # also where the first line is all there is
            if first is not None:
                self._look_at(piece, (text if isinstance(text, str) else text.text for text in first.texts()))
                yield first
        yield from blocks

    def _look_at(self, piece: Piece, texts: Iterable[str]) -> None:
        """Have the first texts of an input looked at; what is wrong with them is told with its name, if it has one."""
        if self.look is None:
            return
        try:
            self.look(texts)
        except InputError as error:
            if not piece.name:
                raise
            sentence = str(error)
        else:
            return
        raise InputError(f"{piece.name}: {sentence}")

    def _veil(self, piece: Piece, reader: Reader, writer: Writer, run: _Run) -> None:
        """Take what is left of an input through the veil."""
        state = run.state
        clock = time.perf_counter() - state.tally.seconds
        if state.position is None:
            writer.append(reader.preamble)
        numbered = enumerate(self._looked_at(piece, reader, state), state.batch)
        for (done,) in run.crew.veil([Task(block, piece.name, number)] for number, block in numbered):
            # Before anything of the block is kept: the end of a file that was cut short looks like the end of a record.
            reader.check_unchanged()
            writer.append(done.content)
            size = writer.sync()
            if done.tally is not None:
                state.tally.merge(done.tally)
            state.tally.seconds = time.perf_counter() - clock
            state.position, state.size, state.batch = done.end, size, state.batch + 1
            run.keep()
            if run.watch:
                run.watch(state.tally, run.bytes_before + reader.bytes_done(done.end))
        reader.check_unchanged()
        state.size = writer.sync()
        state.tally.files += 1


class StreamJob(_Job):
    """Veils one input onto a stream, which takes nothing back, and so leaves nothing behind for a resume."""

    kept = learnt = None

    def __init__(self, plan: Plan, reading: Reading, output: BinaryIO, *, unveiled: bool = False) -> None:
        super().__init__(plan, reading, unveiled=unveiled)
        self._output = output
        self._digest: str | None = None

    def digest(self) -> str | None:
        """Return the SHA-256 of what was written, for the report to be known by."""
        return self._digest

    def check(self) -> None:
        """Raise, before any work is done, what is known to be wrong."""
        if self._plan.is_many:
            raise FileError("several files cannot be written to a stream; name a folder with `output`.")
        form = self._plan.pieces[0].format
        if not form.streams:
            raise FileError(f"{form.title} cannot be written to a stream; name a file with `output`.")
        self._check_inputs()

    def run(self, veils: Veils, watch: JobWatch | None = None, workers: int = 1) -> Tally:
        """Do the job and return its sums."""
        self._check_person(veils)
        piece = self._plan.pieces[0]
        state = Checkpoint()
        crew = self._crew(veils, workers)
        writer = HeldWriter(self._output)

        def keep() -> None:
            # One block waits for a veiled word; more would take memory, and a stream takes nothing back.
            if state.batch > 1 or not self._is_bare(veils, state.tally):
                writer.release()

        try:
            with self._open(piece) as reader:
                self._veil(piece, reader, writer, _Run(crew, state, watch, keep))
        finally:
            crew.close()
        if self._is_bare(veils, state.tally):
            raise _bare(state.tally, "what was written is the input itself" if writer.is_released else "")
        writer.release()
        writer.sync()
        self._digest = writer.digest
        return state.tally

    def keep_learnt(self, text: str) -> None:
        """Do nothing: the job cannot be resumed."""

    def forget(self) -> None:
        """Do nothing: a stream leaves nothing to remove."""


class FileJob(_Job):
    """Veils files into files, which appear under their names when they are whole.

    With `resume` it continues the job that was stopped there, if there is one; with `overwrite` it replaces a file that
    is there, and what is left of a job that was stopped unless it is resumed.
    """

    def __init__(
        self,
        plan: Plan,
        reading: Reading,
        destination: Destination,
        *,
        resume: bool = False,
        overwrite: bool = False,
        unveiled: bool = False,
    ) -> None:
        super().__init__(plan, reading, unveiled=unveiled)
        self._destination, self._resume, self._overwrite = destination, resume, overwrite
        # What was read from a stream is gone, so a job that reads one cannot go on later.
        self._keeps = not any(piece.is_stream for piece in plan.pieces)
        self._has_kept = False
        self._learnt: str | None = None
        self._ahead = ReadAhead()
        self._done = DoneInputs()

    @property
    def learnt(self) -> Path | None:
        """Where the job that is resumed has left what it learnt in a pass before; None where none is resumed."""
        return self._destination.learnt if self._resume and self._destination.checkpoint.exists() else None

    def keep_learnt(self, text: str) -> None:
        """Keep, until the job is done, what was learnt in a pass before: a resume must not learn it anew.

        It must say no more of the input than may be released.
        """
        self._learnt = text

    def digest(self) -> str | list[str]:
        """Return the SHA-256 of what was written, for the report to be known by.

        Of a folder that of each file, without their names: these are released nowhere but in the folder itself.
        """
        target = self._destination.target
        if not self._destination.is_folder:
            return digest_of_file(target)
        return sorted(digest_of_file(target / piece.name) for piece in self._plan.pieces)

    @property
    def kept(self) -> Path | None:
        """Where a job that was stopped has left what it did, if anything."""
        return self._destination.part if self._has_kept else None

    def check(self) -> None:
        """Raise, before any work is done, what is known to be wrong."""
        if self._resume and not self._keeps:
            raise OptionError("a job that reads standard input or a pipe cannot be resumed; leave out `resume`.")
        for piece in self._plan.pieces:
            if piece.format.streams:
                continue
            whole = self._destination.whole_of(piece)
            if packing_of(whole):
                raise FileError(f"{piece.format.name} is not packed with {packing_of(whole)}; give a name without it.")
        self._destination.check(self._plan, resume=self._resume, overwrite=self._overwrite)
        self._check_inputs()

    def run(self, veils: Veils, watch: JobWatch | None = None, workers: int = 1) -> Tally:
        """Do the job, or what is left of it, and return the sums over all of it."""
        self._check_person(veils)
        tell_texts_beside(self._plan, self._reading, self.tell)
        crew = self._crew(veils, workers)
        state = self._state(veils)
        done, left = self._plan.pieces[: state.piece], self._plan.pieces[state.piece :]
        run = _Run(crew, state, watch, lambda: self._keep(state), sum(piece.size for piece in done))
        lock = self._begin(state)
        clock = time.perf_counter() - state.tally.seconds
        try:
            for is_small, some in self._grouped(left, state, veils):
                if is_small:
                    self._do_small(some, run, veils)
                else:
                    self._do(some[0], run, veils)
                    run.bytes_before += some[0].size
            self._destination.finish()
            state.tally.seconds = time.perf_counter() - clock  # with what it took to make all files safe
            return state.tally
        except WordveilError as error:
            if not self._leave():
                raise
            kind, sentence = type(error), str(error)
        except BaseException:
            self._leave()
            raise
        finally:
            crew.close()
            if lock:
                lock.release()
        raise kind(f"{sentence} What was done is kept in {self._destination.part}: fix this, then use `resume`.")

    def forget(self) -> None:
        """Remove the checkpoint of the job, after all that depends on it is done."""
        self._destination.forget()

    def _state(self, veils: Veils) -> Checkpoint:
        """Return where to go on: at the beginning, or where the job was stopped."""
        self._done = DoneInputs()
        names = [(piece.name, piece.format.name) for piece in self._plan.pieces]
        identity = Identity(digest_of(veils.identity()), digest_of(asdict(self._reading)), digest_of(names))
        once = veils.whole.once
        if not self._resume or not self._destination.checkpoint.exists():
            return Checkpoint(identity, secret=once.secret.hex() if once is not None and once.is_keyed else "")
        state = Checkpoint.load(self._destination.checkpoint)
        if state.identity.veil != identity.veil:
            raise OptionError(
                "the job was begun with another mechanism, ε, space, seed, choice of words or version of wordveil; "
                f"{AS_BEFORE}."
            )
        if state.identity.options != identity.options:
            raise OptionError(
                "the job was begun with other columns, person, batch_words or another way to read the input; "
                f"{AS_BEFORE}."
            )
        for piece in self._plan.pieces[: state.piece]:
            self._done.add(piece)
        if state.identity.inputs != identity.inputs or state.done != self._done.digest:
            raise InputError(
                "the input files have changed since the job began; start again with `overwrite` instead of `resume`."
            )
        if once is not None and once.is_keyed:
            veils.go_on_with(_secret(state, self._destination.checkpoint))
        state.tally.runs += 1
        self._has_kept = state.is_begun
        return state

    def _begin(self, state: Checkpoint) -> Lock | None:
        destination = self._destination
        if self._has_kept:
            is_named = not destination.part.exists() and destination.target.exists()
            return None if is_named else destination.begin()
        if destination.part.exists():
            Lock(destination.part).release()  # raises if another job is at it
            destination.clear()
        if self._keeps:
            if self._learnt is not None:
                write_whole(destination.learnt, self._learnt, mode=0o600)
            state.save(destination.checkpoint)
        return destination.begin()

    def _grouped(
        self, pieces: Sequence[Piece], state: Checkpoint, veils: Veils
    ) -> Iterator[tuple[bool, Sequence[Piece]]]:
        """Give the inputs one by one, or, where they are small, all that follow one another, and say which it is."""
        if state.position is not None or state.is_read:  # one was begun
            yield False, pieces[:1]
            pieces = pieces[1:]
        may_be = self._destination.is_folder and self._keeps and not veils.is_seeded
        if not may_be:
            self._ahead = ReadAhead()  # nobody will ask for what is held

        def is_small(piece: Piece) -> bool:
            return may_be and self._is_small(piece)

        for small, some in groupby(pieces, is_small):
            if small:
                yield True, list(some)
            else:
                yield from ((False, [piece]) for piece in some)

    def _is_small(self, piece: Piece) -> bool:
        """Whether an input takes only a small part of a batch, and is written without more than that."""
        small = self._reading.batch_bytes // _SMALL
        return piece.format.writer == PLAIN_WRITER and not piece.is_stream and piece.size < small

    def _seems_plain(self, piece: Piece) -> bool:
        if self._destination.is_folder and self._is_small(piece):
            return self._ahead.look(str(piece.place), piece.size)
        return super()._seems_plain(piece)

    def _do_small(self, pieces: Sequence[Piece], run: _Run, veils: Veils) -> None:
        """Take small inputs through the veil, many at a time, with one checkpoint for all of them.

        Until then they are written under their names in the unfinished folder, where a resume writes them again.
        """
        state, clock = run.state, time.perf_counter() - run.state.tally.seconds
        waiting: deque[list[_Read]] = deque()
        are_apart = not veils.may_join or not veils.is_compiled_for(self._reading.batch_bytes)
        if are_apart:
            self._ahead = ReadAhead()  # nobody will ask for what is held

        def loads() -> Iterator[list[Task]]:
            for some in batches_of(pieces, self._sized.batch_bytes):
                files = None if are_apart else self._read_plain(some)
                if files is not None:
                    waiting.append([_Read(*one) for one in zip(some, files, strict=True)])
                    yield [Task(SmallFiles([data for data, _ in files]), "", 0)]
                    continue
                read, load = [], list[Task]()
                for piece in some:
                    with self._open(piece) as reader:
                        blocks = list(self._looked_at(piece, reader, state))
                        reader.check_unchanged()
                        read.append(_Read(piece, (reader.preamble, None), len(blocks)))
                    load += [Task(block, piece.name, number) for number, block in enumerate(blocks)]
                waiting.append(read)
                yield load

        safe = SyncedFiles(self._destination.part)
        try:
            for done in run.crew.veil(loads()):
                read = waiting.popleft()
                self._look_at_small(read, done)
                contents = _contents(done, read)
                for one in done:
                    if one.tally is not None:
                        state.tally.merge(one.tally)
                for (piece, (_, known), _), content in zip(read, contents, strict=True):
                    safe.write(piece.name, content)
                    state.tally.files += 1
                    state.next_piece("")
                    self._done.add(piece, known)
                    run.bytes_before += piece.size
                state.done = self._done.digest
                if state.piece == len(self._plan.pieces) and self._is_bare(veils, state.tally):
                    self._has_kept = False
                    raise _bare(state.tally)
                state.tally.seconds = time.perf_counter() - clock
                safe.sync()
                run.keep()
                if run.watch:
                    run.watch(state.tally, run.bytes_before)
        finally:
            safe.close()

    def _read_plain(self, pieces: Sequence[Piece]) -> list[tuple[bytes, os.stat_result]] | None:
        """Return what is in some inputs, all of them plain text; None if any is not, or has to be looked at more."""
        files = list[tuple[bytes, os.stat_result]]()
        for piece in pieces:
            may_be = piece.place is not None and may_be_plain(piece, self._reading_of(piece))
            found = self._ahead.read(str(piece.place)) if may_be else None
            if found is None:
                return None
            files.append(found)
        return files

    def _look_at_small(self, read: Sequence[_Read], done: Sequence[Done]) -> None:
        """Look at small files after they are veiled, unless the share of words left alone already says enough.

        Nothing of them is written before.
        """
        for one, share in zip(read, done[0].left_alone, strict=False) if done else ():
            if self.look and not share > self.sure:
                self._look_at(one.piece, one.found[0].decode().split("\n"))

    def _do(self, piece: Piece, run: _Run, veils: Veils) -> None:
        """Take one input through the veil into its file."""
        state, destination = run.state, self._destination
        part, whole = destination.part_of(piece), destination.whole_of(piece)
        is_named = state.is_read and not part.exists() and whole.exists()
        if not is_named:
            with file_errors("write", destination.part):
                part.parent.mkdir(parents=True, exist_ok=True)
            with self._open(piece, state.position) as reader:
                writer = piece.format.open_writer(part, state.size, piece.source, whole)
                try:
                    if not state.is_read:
                        self._veil(piece, reader, writer, run)
                        state.is_read = True
                        run.keep()
                    if piece is self._plan.pieces[-1] and self._is_bare(veils, state.tally):
                        self._has_kept = False  # to go on would change nothing, so nothing is left for it
                        raise _bare(state.tally)
                    writer.finish(whole)
                finally:
                    writer.close()
        if self._keeps:
            self._done.add(piece)
        state.next_piece(self._done.digest)
        run.keep()

    def _keep(self, state: Checkpoint) -> None:
        if self._keeps:
            state.save(self._destination.checkpoint)
            self._has_kept = True

    def _leave(self) -> bool:
        """Leave what was kept for a resume, else leave nothing; say which."""
        if not self._has_kept:
            self._destination.clear()
        return self._has_kept


class _Read(NamedTuple):
    """A small input that was read.

    What was found there is all of it, if it is part of a block of several, or what stands before its blocks; and what
    was known of it then.
    """

    piece: Piece
    found: tuple[bytes, os.stat_result | None]
    blocks: int = 0


def _contents(done: Sequence[Done], read: Sequence[_Read]) -> Iterator[bytes]:
    """Give what is to be written into each input's file: its blocks, or its part of a block of several."""
    if done and done[0].cuts:
        for start, end in pairwise([0, *done[0].cuts]):
            yield done[0].content[start:end]
        return
    left = iter(done)
    for one in read:
        yield one.found[0] + b"".join(block.content for block in islice(left, one.blocks))


def _secret(state: Checkpoint, path: Path) -> bytes:
    """Return the secret with which a job was begun."""
    try:
        secret = bytes.fromhex(state.secret)
    except ValueError:
        secret = b""
    if not secret:
        raise FileError(f"{path} has lost the secret of the job; start again with `overwrite` instead of `resume`.")
    return secret


def _bare(tally: Tally, but: str = "") -> InputError:
    """Return the error of a job that has veiled nothing."""
    so = but or "nothing was written"
    return InputError(
        f"none of the {tally.counts.words:,} words was veiled, so {so}: check which columns and words are selected."
    )
