"""What is fuzzed: one function each, which takes any bytes and may raise nothing.

A target may refuse its bytes with a `WordveilError` of one sentence; whatever else comes out of it is a bug. Where
something is read, the target also checks what must then hold. `tools/fuzz.py` drives the targets with coverage; the
test suite replays the kept inputs. A new target is one function and one line in `TARGETS`.
"""

from __future__ import annotations

import atexit
import gzip
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from tests.conftest import make_space
from tests.fuzz.api import CANARY, Api, api, check_problem
from wordveil._mechanisms import MECHANISMS, Mechanism, mechanism
from wordveil.cli.options import build_mechanism, parse_options
from wordveil.errors import WordveilError
from wordveil.io import Destination, FileJob, Reading, Veils, format_named, make_plan
from wordveil.io.workers import Task
from wordveil.lab.training import WordNet, read_pairs
from wordveil.noise import Entropy
from wordveil.service.schemas import Job, PrivatizeResponse, WordFacts
from wordveil.spaces import EuclideanSpace, PoincareSpace, Vocabulary
from wordveil.spaces.files import read_vectors
from wordveil.text import SELECTIONS, Document, Veil, tokenise
from wordveil.text.flow import Flow, Texts
from wordveil.text.identifiers import find_identifiers, is_placeholder, markup_kept
from wordveil.text.replacing import CASES, POLICIES

__all__ = ["TARGETS", "Target", "scratch"]

Target = Callable[[bytes], None]

_BETWEEN = b"\xff\xfe\xff"  # two files or members
_COLUMNS = ("text", "a.b")
_WORDS = ["ship", "harbour", "sail", "Wind", "is", "not", "an", "me", "zürich", "7", "anchor", "o"]


@lru_cache(maxsize=1)
def scratch() -> Path:
    """Return a folder for the files that the targets read."""
    folder = Path(tempfile.mkdtemp(prefix="wordveil-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=1)
def _space() -> EuclideanSpace:
    vectors = np.random.default_rng(0).normal(size=(len(_WORDS), 3)).astype(np.float32)
    return EuclideanSpace("tiny", Vocabulary(_WORDS), vectors)


@lru_cache(maxsize=1)
def _drawing() -> Mechanism[Any]:
    return mechanism("exponential", _space(), epsilon=1.0)


@lru_cache(maxsize=64)
def _veil(select: str, oov: str, case: str) -> Veil:
    words = ["new york", "ship", "O'Brien"] if select == "words" else None
    return Veil(_drawing(), select=select, words=words, oov=oov, case=case, seed=1)


@lru_cache(maxsize=1)
def _idle() -> Veils:
    return Veils(lambda seed: Veil(_drawing(), select="words", words=["qzwordqz"], identifiers="selected", seed=seed))


def _one_sentence(error: WordveilError) -> None:
    sentence = str(error)
    assert sentence, "an error without a sentence"
    assert len(sentence) < 40_000, "an error of many sentences"  # a long option is quoted as it was given


def _written(content: bytes, name: str = "file") -> Path:
    path = scratch() / name
    path.write_bytes(content)
    return path


def _archive(parts: bytes, names: tuple[str, ...]) -> bytes:
    """Pack members whose checksums are right, which no mutation of a whole archive would find."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in zip(names, parts.split(_BETWEEN), strict=False):
            archive.writestr(name, content)
    return packed.getvalue()


def veil(data: bytes) -> None:
    """Any text, under every selection, policy and case."""
    select = SELECTIONS[data[0] % len(SELECTIONS)] if data else "all"
    oov = POLICIES[data[1] % len(POLICIES)] if len(data) > 1 else "replace"
    case = CASES[data[2] % len(CASES)] if len(data) > 2 else "sentence"
    # UTF-16 makes every pair of bytes a character, half surrogate pairs among them.
    rest = data[3:]
    if rest[:1] == b"\xff":
        text = rest[1:].decode("utf-16-le", "surrogatepass" if len(rest) % 2 else "replace")
    else:
        text = rest.decode("utf-8", "replace")
    tokens = tokenise(text)
    assert "".join(tokens.pieces) == text
    assert len(tokens.pieces) == 2 * len(tokens.keys) + 1
    spans = ((0, len(text) // 2), (len(text) // 3, len(text))) if select == "spans" else None
    try:
        release = _veil(select, oov, case)(text, spans=spans)
    except WordveilError as error:
        _one_sentence(error)
        return
    if select in ("content", "all"):  # what compiled code does over bytes
        same = [Veil(_drawing(), select=select, oov=oov, case=case, seed=1) for _ in range(2)]
        flow = Flow(same[0], small=0).rewrite(same[0], Texts.of([text]), np.zeros(1, dtype=np.int64), {0: None})
        assert list(flow.texts) == [same[1](text).text]
    counts = release.counts
    parts = counts.left_alone, counts.drawn, counts.outside, counts.numbers, counts.dropped, counts.kept_raw
    assert counts.words == sum(parts) + counts.identifiers
    for left, right in pairwise(release.replacements):
        assert left.start <= left.end <= right.start
        assert left.new_start <= left.new_end <= right.new_start
    if select == "all" and oov == "replace":
        # Outside of what was replaced nothing spells but markup, of which no more than its name is left.
        covered = [(change.new_start, change.new_end) for change in release.replacements]
        for kind, start, end in find_identifiers(release.text):
            written = release.text[start:end]
            if kind == "MARKUP" and (is_placeholder(written) or markup_kept(written) == written):
                covered.append((start, end))
        raw = list(release.text)
        for start, end in covered:
            raw[start:end] = " " * (end - start)
        assert not any(map(str.isalnum, raw))


def _vectors(form: str | None, name: str = "file") -> Target:
    def read(data: bytes) -> None:
        packed, content = data[:1] == b"\x01", data[1:]
        if form == "npz" and data[:1] == b"\x02":
            content = _archive(content, ("words.npy", "vectors.npy"))
        path = _written(gzip.compress(content, 1) if packed else content, name)
        try:
            words, vectors = read_vectors(path, format=form)
        except WordveilError as error:
            _one_sentence(error)
            return
        assert len(words) == len(set(words)) == len(vectors) > 0
        assert "" not in words
        assert vectors.ndim == 2
        assert np.isfinite(vectors).all()

    return read


def folder(data: bytes) -> None:
    """An embedding as a folder: the words, a separator, the array."""
    words, _, array = data.partition(b"\xff\xff")
    place = scratch() / "folder"
    place.mkdir(exist_ok=True)
    (place / "words.txt").write_bytes(words)
    (place / "vectors.npy").write_bytes(array)
    try:
        found, vectors = read_vectors(place)
    except WordveilError as error:
        _one_sentence(error)
        return
    assert len(found) == len(set(found)) == len(vectors)
    assert np.isfinite(vectors).all()


def poincare(data: bytes) -> None:
    """A Poincaré space: words, meta data, coordinates, pairs."""
    parts = [*data.split(_BETWEEN, 3), b"", b"", b""]
    place = scratch() / "poincare"
    place.mkdir(exist_ok=True)
    for name, content in zip(("words.txt", "meta.json", "hyperboloid.npy", "is_a.npy"), parts, strict=False):
        (place / name).write_bytes(content)
        if not content:
            (place / name).unlink()
    try:
        space = PoincareSpace.load(place)
        distances = space.distances(np.array([0]))
        space.describe()
    except WordveilError as error:
        _one_sentence(error)
        return
    assert np.isfinite(distances).all()
    assert (distances >= 0).all()
    assert space.is_a is None or ((space.is_a >= 0) & (space.is_a < len(space))).all()


def _reader(form: str) -> Target:
    """A file through its reader and a veil that selects nothing: what comes out must be what went in."""

    def read(data: bytes) -> None:
        if not data:
            return
        how = data[0]
        columns = () if form == "text" else _COLUMNS[: 1 + how % 2]
        spans = "s" if form == "jsonl" and how & 4 and len(columns) == 1 else None
        reading = Reading(columns, spans, "replace" if how & 8 else "strict", 4 if how & 16 else 100)
        path = _written(data[1:], f"file.{form}")
        out = path.with_name(f"out.{form}")
        try:
            records = _through(path, out, form, reading)
        except WordveilError as error:
            _one_sentence(error)
            return
        assert _through(out, path.with_name(f"again.{form}"), form, reading) == records

    return read


def _through(path: Path, out: Path, form: str, reading: Reading) -> list[list[str | Document]]:
    records: list[list[str | Document]] = []
    kind = format_named(form)
    out.unlink(missing_ok=True)
    with kind.open_reader(path, reading) as reader:
        writer = kind.open_writer(out.with_suffix(".part"), 0, path)
        try:
            writer.append(reader.preamble)
            for number, block in enumerate(reader.blocks()):
                records += block.records
                writer.append(_idle().veil([Task(block, "", number)])[0].content)
            writer.finish(out)
        finally:
            writer.close()
    return records


def options(data: bytes) -> None:
    """What people give as options of mechanisms."""
    kind = list(MECHANISMS)[data[0] % len(MECHANISMS)] if data else "graph"
    given = data[1:].decode("utf-8", "replace").split("\n")
    try:
        chosen = parse_options([option for option in given if option])
        made = mechanism(kind, _option_space(), epsilon=chosen.pop("epsilon", 1.0), **chosen)
        json.dumps(made.describe(), allow_nan=False)
        made.guarantee.sentence()
        made.draw(np.arange(3), Entropy(1))
    except WordveilError as error:
        _one_sentence(error)


@lru_cache(maxsize=1)
def _option_space() -> EuclideanSpace:
    return make_space(12, 3)


def names(data: bytes) -> None:
    """Names of mechanisms and spaces, as the command line takes them."""
    mechanism_name, _, space = data.decode("utf-8", "surrogateescape").partition("\n")
    with suppress(WordveilError):
        build_mechanism(mechanism_name or "laplace", 1.0, space.replace("glove-50k", ""), False, None)


def checkpoint(data: bytes) -> None:
    """The checkpoint of a job that is resumed: whatever stands in it, nothing is lost and nothing comes out twice."""
    place = scratch() / "job"
    place.mkdir(exist_ok=True)
    source, out = place / "in.txt", place / "out.txt"
    lines = b"".join(b"line %d of the ship\n" % number for number in range(6))
    if not source.exists():
        source.write_bytes(lines)
    out.unlink(missing_ok=True)
    identity = _identity(source, out)
    (place / "out.txt.part").write_bytes(lines[:60])
    (place / "out.txt.part.json").write_bytes(data.replace(b'"@"', identity))
    plan = make_plan(source)
    try:
        job = FileJob(plan, Reading(batch_words=4), Destination.of(out, plan), resume=True, unveiled=True)
        job.check()
        job.run(_idle())
        job.forget()
    except WordveilError as error:
        _one_sentence(error)
        assert not out.exists()


@lru_cache(maxsize=1)
def _identity(source: Path, out: Path) -> bytes:
    """Return the identity that a checkpoint of this job has, so that the fuzzer need not find digests."""
    plan = make_plan(source)
    job = FileJob(plan, Reading(batch_words=4), Destination.of(out, plan), unveiled=True)
    seen: list[bytes] = []

    def stop(*_: object) -> None:
        seen.append(out.with_name("out.txt.part.json").read_bytes())

    job.run(_idle(), stop)
    job.forget()
    out.unlink()
    return json.dumps(json.loads(seen[0])["identity"]).encode()


def pairs(data: bytes) -> None:
    """A file of IS-A pairs."""
    packed, content = data[:1] == b"\x01", data[1:]
    path = _written(gzip.compress(content, 1) if packed else content, "pairs.gz" if packed else "pairs.tsv")
    if data[:1] == b"\x02":
        path = _written(content, "pairs.gz")
    try:
        found = read_pairs(path)
    except WordveilError as error:
        _one_sentence(error)
        return
    assert len(found.child) == len(found.parent) == len(found.counts)


def wordnet(data: bytes) -> None:
    """A data file of WordNet."""
    place = scratch() / "wordnet"
    place.mkdir(exist_ok=True)
    (place / "data.noun").write_bytes(data)
    try:
        net = WordNet(place)
        for synset in net.synsets("noun"):
            net.lemmas(synset)
            net.ancestors(synset)
    except WordveilError as error:
        _one_sentence(error)


@lru_cache(maxsize=1)
def _api() -> Api:
    space = _space()
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(space.vocabulary, space.matrix, strict=True))
    return api(_written("\n".join(lines).encode(), "toy.txt"))


def _must_hide(choice: Mapping[str, Any]) -> bool:
    """Say whether a way of veiling promises that a strange word is not in the text that comes out."""
    return choice.get("select", "content") in ("all", "content") and choice.get("oov", "replace") != "keep"


def _body(path: str) -> Target:
    """A body of JSON, as it is sent to one address."""

    def send(data: bytes) -> None:
        content = data.replace(b"@", CANARY)
        answer = _api().call("POST", path, body=[content])
        if answer.status == 200 and path == "/v1/privatize":
            told, asked = PrivatizeResponse.model_validate_json(answer.body), json.loads(content)
            assert len(told.results) == (1 if isinstance(asked["text"], str) else len(asked["text"]))
            if _must_hide(asked):
                assert not any(CANARY.decode() in one.text.lower() for one in told.results)
        elif answer.status == 200:
            WordFacts.model_validate_json(answer.body)
        elif answer.status == 202:
            job = Job.model_validate_json(answer.body)
            assert job.status == "done" or (job.problem and CANARY.decode() not in job.problem.lower())
            assert "something went wrong" not in str(job.problem)

    return send


def stream(data: bytes) -> None:
    """A stream of lines in pieces, after a query that says how to veil."""
    query, _, rest = data.partition(b"\n")
    content = rest.replace(b"@", CANARY)
    answer = _api().call("POST", "/v1/privatize/stream", query, body=content.split(b"\xfe"))
    if answer.status != 200:
        return
    given = [line for line in content.replace(b"\xfe", b"").split(b"\n") if line.strip()]
    told = [json.loads(line) for line in answer.body.splitlines()]
    hidden = _must_hide({name: values[-1] for name, values in parse_qs(query.decode("latin-1")).items()})
    for one in told:
        if "problem" in one:
            check_problem(one["problem"])
        else:
            assert not hidden or CANARY.decode() not in one["text"].lower()
    ended = bool(told) and told[-1].get("problem", {}).get("status") in (413, 503)
    assert len(told) == len(given) or ended


def address(data: bytes) -> None:
    """Any method, path and query."""
    method = ("GET", "POST", "HEAD", "OPTIONS", "DELETE")[data[0] % 5] if data else "GET"
    path, _, query = data[1:].replace(b"@", CANARY).partition(b"?")
    _api().call(method, "/" + path.decode("utf-8", "replace"), query, body=[b"{}"] if method == "POST" else None)


TARGETS: dict[str, Target] = {
    "veil": veil,
    "glove": _vectors("glove"),
    "word2vec": _vectors("word2vec"),
    "word2vec-binary": _vectors("word2vec-binary"),
    "npz": _vectors("npz"),
    "safetensors": _vectors("safetensors"),
    "detected": _vectors(None, "file.vec"),
    "folder": folder,
    "poincare": poincare,
    "text": _reader("text"),
    "csv": _reader("csv"),
    "tsv": _reader("tsv"),
    "jsonl": _reader("jsonl"),
    "json": _reader("json"),
    "parquet": _reader("parquet"),
    "options": options,
    "names": names,
    "checkpoint": checkpoint,
    "pairs": pairs,
    "wordnet": wordnet,
    "api-privatize": _body("/v1/privatize"),
    "api-words": _body("/v1/words"),
    "api-calibrate": _body("/v1/calibrate"),
    "api-stream": stream,
    "api-address": address,
}
