"""Bytes in and out: unpacked and turned into UTF-8 as they are read, packed as they are written, in constant memory."""

from __future__ import annotations

import codecs
import functools
import gzip
import io
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from wordveil.errors import FileError, InputError, OptionError
from wordveil.files import file_errors
from wordveil.text.languages import language_of

if TYPE_CHECKING:
    from wordveil.io.formats import Reading

__all__ = [
    "Source",
    "begins_plainly",
    "check_encoding",
    "detect_encoding",
    "packer_for",
    "packing_of",
]

#: What the last extension of a packed file is, and how the file is packed.
_PACKINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_ENDINGS, _LONGEST_ENDING = tuple(_PACKINGS), max(map(len, _PACKINGS))
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPED = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))  # frames of zstd without content
_FOREIGN = {  # what else people pack text in, by its first bytes
    b"BZh": "packed with bzip2; unpack it, or pack it with gzip or zstd",
    b"\xfd7zX": "packed with xz; unpack it, or pack it with gzip or zstd",
    b"PK\x03\x04": "a zip archive or an office document; unpack it, or name its `format`",
    b"PAR1": "Parquet; set `format` to parquet",
    b"%PDF": "a PDF; export its text first",
}
_MARKS = {  # the longer ones first: one of them begins with one of the others
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LONGEST_MARK = 4
_NOT_PLAIN = (*_FOREIGN, *_MARKS, _GZIP, _ZSTD, *_SKIPPED)
_CHUNK = 1 << 18
_SAMPLE = 1 << 15  # bytes by which an encoding is guessed; more is slow and no surer
_BEYOND_ASCII = 6  # bytes of letters that take several in UTF-8, beside the first: of so many, none is by accident
_MOST_ACCENTS = 0.4  # of all letters of a text in Latin script
_ACCENTED = ("cp1252", "mac-roman", "cp850")  # the likeliest first
_CENTRAL = {"cs", "hu", "pl", "ro", "sk"}  # languages that Windows writes in cp1250
_OTHER_SCRIPTS = ["cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "cp932", "gb18030", "big5", "cp949", "euc_jp"]
_SIGNS = frozenset("‘’‚“”„–—…€£•°§©®™«»¿¡ºª²³½¼¾·×±")
_LOOKED_AT = 1 << 26  # bytes, before a file that was UTF-8 so far is taken for UTF-8


def packing_of(path: Path | str) -> str:
    """Return how a file of this name is packed: "gzip", "zstd", or "" for not at all."""
    name = path if isinstance(path, str) else path.name
    if not name[-_LONGEST_ENDING:].lower().endswith(_ENDINGS):  # most of many
        return ""
    return _PACKINGS.get(os.path.splitext(name)[1].lower(), "")  # noqa: PTH122 - the same for paths and names


def packer_for(path: Path | str | None) -> Callable[[bytes], bytes] | None:
    """Return what packs the bytes for a file of this name, None if they are written as they are.

    Each call makes a whole gzip member or zstd frame. These may stand one behind the other, so a file can be cut behind
    each of them and written on.
    """
    packing = packing_of(path) if path else ""
    if packing == "gzip":
        return lambda data: gzip.compress(data, 6, mtime=0)  # no time: the same content makes the same file
    if packing == "zstd":
        import pyarrow as pa  # noqa: PLC0415 - slow

        return lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True))
    return None


def begins_plainly(data: bytes) -> bool:
    """Whether bytes begin as those of a file of UTF-8 that is not packed and has no mark of its encoding."""
    return not data.startswith(_NOT_PLAIN)


def check_encoding(name: str) -> str:
    """Return the usual name of an encoding of text, or refuse it."""
    try:
        found = codecs.lookup(name)
        if found._is_text_encoding and found.incrementaldecoder is not None:
            found.incrementaldecoder("strict").decode(b"", True)
            return "utf-8" if found.name == "utf-8-sig" else found.name
    except (LookupError, ValueError, TypeError):
        pass
    raise OptionError(f"unknown encoding {name!r}; names are such as utf-8, cp1252 (Excel), utf-16 or shift_jis.")


class _Chunks(io.RawIOBase):
    """Reads from an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._left = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        room = memoryview(buffer)
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


class _Unclosed:
    """A file that another reader may not close."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.closed = file, False

    def read(self, count: int = -1) -> bytes:
        return self._file.read(count)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


class Source:
    """An input as UTF-8: a file or (None) standard input, unpacked and decoded on the way."""

    def __init__(self, path: Path | None, reading: Reading) -> None:
        self.name = "standard input" if path is None else str(path)
        if path is None and sys.stdin is None:
            raise FileError("standard input is closed; give the name of a file.")
        with file_errors("read", self.name):
            self._raw: BinaryIO = sys.stdin.buffer if path is None else path.open("rb")
        self._path = path
        self.file = self._raw
        try:
            self._opened = self._state()
            self.packing = self._open(reading)
        except BaseException:
            self.close()
            raise

    def _open(self, reading: Reading) -> str:
        """Put in front of the file what its first bytes and the encoding ask for; return how it is packed."""
        with file_errors("read", self.name):
            start = peek(self._raw, 4)
        for first, what in _FOREIGN.items():
            if start.startswith(first):
                raise InputError(f"{self.name} is {what}.")
        packing = "gzip" if start.startswith(_GZIP) else "zstd" if start in (_ZSTD, *_SKIPPED) else ""
        encoding, errors = check_encoding(reading.encoding), reading.encoding_errors
        if errors not in ("strict", "replace"):
            raise OptionError(f"`encoding_errors` cannot be {errors!r}; choose strict or replace.")
        # With replacements made here, all that comes after reads UTF-8 without a fault.
        is_plain = encoding == "utf-8" and errors == "strict"
        if packing or not is_plain:
            chunks = _unpacked(self._raw, packing, self.name)
            decoded = chunks if is_plain else _in_utf8(chunks, encoding, errors, self.name)
            self.file = io.BufferedReader(_Chunks(decoded), _CHUNK)
        return packing

    def prepend(self, data: bytes) -> BinaryIO:
        """Put what was read back in front of what is left of the input; return where both are read from."""
        left = iter(functools.partial(self.file.read, _CHUNK), b"")
        self.file = io.BufferedReader(_Chunks(itertools.chain([data], left)), _CHUNK)
        return self.file

    def _state(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        with file_errors("read", self.name):
            # What lies elsewhere is no file of this system, and has no number here.
            state = os.fstat(self._raw.fileno()) if isinstance(self._path, Path) else self._path.stat()
        return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None

    def bytes_done(self, offset: int, read: int) -> int:
        """Return about how many bytes of the file lie before an offset, of the `read` bytes of UTF-8 so far."""
        if self.file is self._raw or not read:
            return offset
        try:
            return round(self._raw.tell() * min(1.0, offset / read))
        except OSError:  # a pipe
            return 0

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        if self._opened is not None and self._state() != self._opened:
            raise InputError(f"{self.name} changed while it was being read.")

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._path is not None:
            self._raw.close()


def peek(file: BinaryIO, count: int) -> bytes:
    """Return the next bytes of a buffered file without taking them, fewer only at its end."""
    # BufferedReader.peek may give fewer bytes than there are, so a stream is asked again for its first.
    ahead = file.peek  # type: ignore[attr-defined]
    seen: bytes = ahead(count)[:count]
    while 0 < len(seen) < count:
        again: bytes = ahead(count)[:count]
        if len(again) == len(seen):
            break
        seen = again
    return seen


def _unpacked(file: BinaryIO, packing: str, name: str) -> Iterator[bytes]:
    """Read a file chunk by chunk; a packed one is never unpacked further than the next chunk."""
    unpacker: BinaryIO = file
    if packing == "gzip":
        unpacker = gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[assignment]
    elif packing:
        import pyarrow as pa  # noqa: PLC0415 - slow

        unpacker = pa.CompressedInputStream(pa.PythonFile(_Unclosed(file), mode="r"), packing)
    while True:
        chunk = None
        try:
            chunk = unpacker.read(_CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            pass
        except OSError as error:
            if error.errno is not None or not packing:  # Arrow's own errors have no number
                raise
        if chunk is None:
            raise InputError(f"{name} is damaged: its {packing} data break off or are not valid; get a whole copy.")
        if not chunk:
            return
        yield chunk


def _in_utf8(chunks: Iterator[bytes], encoding: str, errors: str, name: str) -> Iterator[bytes]:
    """Turn bytes in an encoding into UTF-8; a byte order mark stays one."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    done, is_judged = 0, encoding == "utf-8"
    for chunk in itertools.chain(chunks, [b""]):
        if not is_judged and not chunk.isascii():
            is_judged = True
            if _is_surely_utf8(chunk):  # nothing would fail, and every letter with an accent would become two
                raise InputError(f"{name} is UTF-8 and not {encoding}; leave out `encoding`.")
        if not done and chunk.startswith(tuple(_MARKS)) and encoding in ("utf-16", "utf-32"):
            yield codecs.BOM_UTF8  # which the decoder takes away
        at = None
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeError as error:
            at = getattr(error, "start", 0)
        # Outside of the handler, so that the error does not drag the bytes along as its context.
        if at is not None:
            raise InputError(
                f"{name} is not {encoding} (near byte {done + at}); give another `encoding`, or have such bytes "
                "replaced with `encoding_errors`."
            )
        done += len(chunk)
        yield text.encode("utf-8", "replace")


def _is_surely_utf8(chunk: bytes) -> bool:
    """Whether bytes are UTF-8 with more letters beyond ASCII than another encoding makes by accident."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(chunk)
    except UnicodeDecodeError:
        return False
    return b"\0" not in chunk and len(chunk) - len(text) >= _BEYOND_ASCII


def detect_encoding(path: Path) -> tuple[str, float]:
    """Guess the encoding of a text file, which may be packed.

    Parameters
    ----------
    path : Path
        The file. Its first 64 MiB are looked at.

    Returns
    -------
    name : str
        An encoding for `Reading`; "" if the file is no text.
    confidence : float
        From 0 to 1. A byte order mark, and UTF-8 without a fault, are certain.
    """
    with file_errors("read", path), path.open("rb") as file:
        start = peek(file, 4)
        packing = "gzip" if start.startswith(_GZIP) else "zstd" if start in (_ZSTD, *_SKIPPED) else ""
        return _detect(_unpacked(file, packing, str(path)))


def _detect(chunks: Iterator[bytes]) -> tuple[str, float]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    done, telling = 0, b""  # lines with bytes that are not ASCII, which alone tell encodings apart
    is_utf8 = True
    for chunk in chunks:
        if not done:
            for mark, name in _MARKS.items():
                if chunk.startswith(mark):
                    return name, 1.0
            if b"\0" in chunk:
                return _wide(chunk[:_SAMPLE])
        done += len(chunk)
        if is_utf8:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                is_utf8 = False
        if not chunk.isascii():
            telling += b"\n".join(line for line in chunk.split(b"\n") if not line.isascii())[: _SAMPLE - len(telling)]
        if done >= _LOOKED_AT or (not is_utf8 and len(telling) >= _SAMPLE):
            break
    return ("utf-8", 1.0) if is_utf8 else _narrow(telling)


def _wide(sample: bytes) -> tuple[str, float]:
    """Tell UTF-16 without a mark by where its zeros stand, as most letters of most texts need one byte.

    Those of its line breaks tell it from other text that has a zero by accident.
    """
    even, odd, breaks = sample[0::2].count(0), sample[1::2].count(0), sample.count(b"\n")
    if odd > 10 * even and 2 * sample.count(b"\n\0") >= breaks:
        return "utf-16-le", 0.9
    return ("utf-16-be", 0.9) if even > 10 * odd and 2 * sample.count(b"\0\n") >= breaks else ("", 0.0)


def _narrow(sample: bytes) -> tuple[str, float]:
    """Guess among the encodings of one or two bytes a letter."""
    high = sum(byte > 0x7F for byte in sample)
    letters = high + sum(chr(byte).isalpha() for byte in sample if byte < 0x80)
    if high < _MOST_ACCENTS * letters:
        return _accented(sample)
    from charset_normalizer import from_bytes  # noqa: PLC0415 - slow, and rarely needed

    best = from_bytes(sample, cp_isolation=_OTHER_SCRIPTS, preemptive_behaviour=False).best()
    return ("", 0.0) if best is None else (codecs.lookup(best.encoding).name, round(1.0 - best.chaos, 2))


def _accented(sample: bytes) -> tuple[str, float]:
    """Guess the encoding of Latin letters with accents; in doubt it is the one of Windows for Western Europe.

    (charset-normalizer takes short Western texts for Polish or Ukrainian ones, so it is asked of other scripts only.)
    """
    guesses = [(_plausible(sample, name), -place, name) for place, name in enumerate(_ACCENTED)]
    share, _, name = max(guesses)
    if name == "cp1252" and language_of([sample.decode(name, "replace")]).name in _CENTRAL:
        name = "cp1250"
    return (name, round(share, 2)) if share > 0.0 else ("", 0.0)


def _plausible(sample: bytes, encoding: str) -> float:
    """Return the share of characters beyond ASCII that make sense where they stand, under an encoding."""
    try:
        text = f" {sample.decode(encoding)} "
    except UnicodeDecodeError:
        return 0.0
    seen = [(text[at - 1], letter) for at, letter in enumerate(text) if letter > "\x7f"]
    fit = sum(two in _SIGNS or (two.isalpha() and (two.islower() or not one.islower())) for one, two in seen)
    return fit / max(1, len(seen))
