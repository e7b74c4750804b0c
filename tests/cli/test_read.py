"""The command ``wordveil read``: vectors and guesses of veiled files, in every format."""

from __future__ import annotations

import csv
import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run
from wordveil import Reader
from wordveil.spaces import EuclideanSpace

TEXTS = ["The river and the harbour.", "A letter to the doctor, at night", "", "Winter; 17 gardens!"]


@pytest.fixture
def run(called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    words = ["the", "and", "an", "to", "at", "river", "harbour", "letter", "doctor", "night", "winter", "garden", "sea"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 6)).astype(np.float32)
    np.savez(tmp_path / "space.npz", words=np.array(words), vectors=vectors)
    return called


def write(path: Path) -> None:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["n", "text"], *([n, text] for n, text in enumerate(TEXTS))])
    elif path.suffix == ".tsv":
        path.write_text("n\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(TEXTS)), encoding="utf-8")
    elif path.suffix == ".jsonl":
        rows = [{"n": n, "text": text or None} for n, text in enumerate(TEXTS)]
        path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"n": range(len(TEXTS)), "text": [text or None for text in TEXTS]}), path)
    else:
        path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")


def veil(run: Run, name: str) -> list[str]:
    """Veil a file of this kind; return the options with which it is read again."""
    write(Path(name))
    column = [] if name.endswith(".txt") else ["--column", "text"]
    made = ["-o", f"veiled-{name}", "--epsilon", "2", "--space", "space.npz", "--report", "report.json", "--seed", "1"]
    assert run("privatize", name, *made, *column, "--quiet")[0] == 0
    return [*column, "--report", "report.json", "--space", "space.npz"]


@pytest.mark.parametrize("kind", ["table", "population"])
@pytest.mark.parametrize("name", ["in.txt", "in.csv", "in.tsv", "in.jsonl", "in.parquet"])
def test_every_format_as_vectors_and_as_text(run: Run, name: str, kind: str) -> None:
    options = [*veil(run, name), "--reader", kind]
    guessed = f"guessed-{name}"
    code, out, err = run("read", f"veiled-{name}", "-o", guessed, *options, "--text", "--json")
    assert code == 0, err
    assert "guess" in err
    facts = json.loads(out)
    assert (facts["reader"], facts["mechanism"], facts["guess"]) == (kind, "graph", True)
    assert run("read", f"veiled-{name}", "-o", "out.parquet", *options) == (0, "", run_said(4))
    assert run("read", f"veiled-{name}", "-o", "out.npz", *options, "--quiet")[1:] == ("", "")
    table, vectors = pq.read_table("out.parquet"), np.load("out.npz")["vectors"]
    assert vectors.shape == (4, 6)
    assert not vectors[2].any()
    listed = table["vector"].to_pylist()
    has_null = name.endswith((".jsonl", ".parquet"))
    assert (listed[2] is None) == has_null
    assert np.allclose([row or [0.0] * 6 for row in listed], vectors)
    if not name.endswith(".txt"):
        assert [int(n) for n in table["n"].to_pylist()] == [0, 1, 2, 3]
    # what was read is what the reader gives
    reader = Reader.of_report("report.json", space="space.npz", kind=kind)
    veiled = [text for text in table["text"].to_pylist() if text is not None]
    assert np.allclose(reader.fit(veiled).transform(veiled), vectors[[0, 1, 3]] if has_null else vectors, atol=1e-6)
    best = [release.text for release in reader.rewrite(veiled)]
    assert texts_of(Path(guessed)) == best


def run_said(count: int) -> str:
    return f"wordveil: wrote {count} vectors to out.parquet.\n"


def texts_of(path: Path) -> list[str]:
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8").split("\n")[:-1]
    if path.suffix == ".parquet":
        found = pq.read_table(path)["text"].to_pylist()
    elif path.suffix == ".jsonl":
        found = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").split("\n") if line]
    else:
        with path.open(encoding="utf-8", newline="") as file:
            found = [row["text"] for row in csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t")]
    return [text for text in found if text is not None]


def test_settings_without_a_report(run: Run) -> None:
    veil(run, "in.txt")
    by_hand = ["--epsilon", "2", "--space", "space.npz"]
    assert run("read", "veiled-in.txt", "-o", "a.txt", *by_hand, "-q") == (0, "", "")
    assert run("read", "veiled-in.txt", "-o", "b.txt", "--report", "report.json", "--space", "space.npz", "-q")[0] == 0
    assert Path("a.txt").read_bytes() == Path("b.txt").read_bytes()
    assert run("read", "veiled-in.txt", "-o", "c.npz", *by_hand, "--option", "k=2", "--select", "all")[0] == 0


def test_the_report_of_another_release_is_refused_or_warned_of(run: Run) -> None:
    options = [*veil(run, "in.csv"), "-q"]
    lines = Path("veiled-in.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("more.csv").write_text("".join([*lines, "4,the sea\n"]), encoding="utf-8")
    Path("less.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    assert run("read", "veiled-in.csv", "-o", "a.npz", *options) == (0, "", "")
    code, _, err = run("read", "more.csv", "-o", "b.npz", *options)
    assert (code, len(err.splitlines()), Path("b.npz").exists()) == (2, 1, False)
    Path("moved.csv").write_text("".join([lines[0], *lines[:0:-1]]), encoding="utf-8")  # as many records
    for name, more in (("more.csv", ["--force"]), ("less.csv", []), ("moved.csv", [])):
        code, _, err = run("read", name, "-o", f"{name}.npz", *options, *more)
        assert (code, len(err.splitlines()), Path(f"{name}.npz").exists()) == (0, 1, True)


def test_a_release_without_a_header_is_read_as_one(run: Run) -> None:
    Path("in.csv").write_text("".join(f"{n},{text!r}\n".replace("'", '"') for n, text in enumerate(TEXTS)), "utf-8")
    made = ["-o", "veiled.csv", "--epsilon", "2", "--space", "space.npz", "--seed", "1", "--column", "2", "-q"]
    assert run("privatize", "in.csv", *made)[0] == 2
    assert run("privatize", "in.csv", *made, "--header", "no", "--report", "r.json")[0] == 0
    told = json.loads(Path("r.json").read_text())
    assert told["job"]["header"] == "no"
    assert not any("first line" in sentence for sentence in told["not_protected"])
    options = ["--column", "2", "--space", "space.npz", "-q"]
    assert run("read", "veiled.csv", "-o", "a.npz", *options, "--report", "r.json") == (0, "", "")
    assert run("read", "veiled.csv", "-o", "b.npz", *options, "--epsilon", "2", "--header", "no")[0] == 0
    assert len(np.load("a.npz")["vectors"]) == len(np.load("b.npz")["vectors"]) == len(TEXTS)
    assert run("read", "veiled.csv", "-o", "c.npz", *options, "--report", "r.json", "--header", "yes")[0] == 2
    Path("named.csv").write_text("n,text\n" + Path("in.csv").read_text(encoding="utf-8"), encoding="utf-8")
    named = ["--space", "space.npz", "--column", "text", "-q"]
    assert run("privatize", "named.csv", "-o", "v.csv", *named, "--epsilon", "2", "--report", "n.json")[0] == 0
    assert run("read", "v.csv", "-o", "d.npz", *named, "--report", "n.json", "--header", "yes") == (0, "", "")
    assert run("read", "v.csv", "-o", "e.npz", *named, "--report", "n.json", "--header", "no")[0] == 2
    assert run("read", "veiled.csv", "-o", "c.npz", *options, "--epsilon", "2")[0] == 2


def test_the_report_of_a_folder_or_a_stream_says_which_files_are_its(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in").mkdir()
    for name in ("in/a.csv", "in/b.csv", "in/c.txt"):
        write(Path(name))
    made = ["--epsilon", "2", "--space", "space.npz", "--seed", "1", "--column", "text", "-q"]
    options = ["--column", "text", "--space", "space.npz", "--report", "r.json", "-q"]
    assert run("privatize", "in", "-o", "out", *made, "--report", "r.json")[0] == 0
    assert len(json.loads(Path("r.json").read_text())["job"]["output_sha256"]) == 3
    assert run("read", "out/a.csv", "-o", "a.npz", *options) == (0, "", "")
    Path("other.csv").write_text(Path("out/a.csv").read_text(encoding="utf-8") + "9,the sea\n", encoding="utf-8")
    code, _, err = run("read", "other.csv", "-o", "o.npz", *options)
    assert (code, len(err.splitlines())) == (0, 1)
    # a stream
    Path("r.json").unlink()
    with TextIOWrapper(Path("in/a.csv").open("rb")) as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        _, out, _ = run("privatize", "-f", "csv", *made, "--report", "r.json", "-o", "-")
    Path("stream.csv").write_bytes(out.encode())
    assert run("read", "stream.csv", "-o", "s.npz", *options) == (0, "", "")
    assert len(run("read", "out/a.csv", "-o", "t.npz", *options)[2].splitlines()) == 1
    # a report that does not say
    facts = json.loads(Path("r.json").read_text())
    del facts["job"]["output_sha256"]
    Path("r.json").write_text(json.dumps(facts))
    assert len(run("read", "stream.csv", "-o", "u.npz", *options)[2].splitlines()) == 1


def test_a_file_that_was_never_veiled_is_refused(run: Run, glove: EuclideanSpace) -> None:
    common = [word for word in glove.vocabulary.take(np.arange(200, 1200)) if word.isalpha()]
    Path("original.txt").write_text("\n".join(" ".join(common[n::40]) for n in range(40)) + "\n", encoding="utf-8")
    assert run("privatize", "original.txt", "-o", "veiled.txt", "-e", "3", "--report", "report.json", "-q")[0] == 0
    code, out, err = run("read", "veiled.txt", "-o", "a.txt", "--report", "report.json", "--json", "-q")
    assert (code, json.loads(out)["looks_veiled"], err) == (0, True, "")
    as_before = ("read", "original.txt", "-o", "b.txt", "--report", "report.json", "--json", "-q")
    code, out, err = run(*as_before)
    assert (code, out, len(err.splitlines()), Path("b.txt").exists()) == (2, "", 1, False)
    code, out, err = run(*as_before, "--force")
    assert (code, json.loads(out)["looks_veiled"], len(err.splitlines())) == (0, False, 2)
    assert "warning" in err  # whatever else is said
    Path("few.txt").write_text("ship\n", encoding="utf-8")  # says nothing
    assert json.loads(run("read", "few.txt", "-o", "c.txt", "-e", "3", "--json", "-q")[1])["looks_veiled"] is None


def test_it_is_a_filter(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    veil(run, "in.txt")
    by_hand = ["--epsilon", "2", "--space", "space.npz"]
    assert run("read", "veiled-in.txt", "-o", "a.txt", *by_hand, "-q") == (0, "", "")
    for arguments in (["-"], ["-", "-o", "-"], ["veiled-in.txt"]):
        with Path("veiled-in.txt").open("rb") as file:
            monkeypatch.setattr(sys, "stdin", TextIOWrapper(file))
            assert run("read", *arguments, *by_hand, "-q") == (0, Path("a.txt").read_text(encoding="utf-8"), "")
    assert not Path("-").exists()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"\xff\xfe\x00")))
    code, out, err = run("read", "-", *by_hand)
    assert (code, out) == (2, "")
    assert "standard input" in err
    assert "/" not in err  # nor the file that stands for it
    for more in (["--json"], ["--vectors"]):
        assert run("read", "veiled-in.txt", *by_hand, *more)[0] == 2


def test_words_that_are_never_drawn_have_no_part_in_it(run: Run) -> None:
    """A list of one's own must be given again, and a reader told of none takes the one that privatize takes."""
    Path("list.txt").write_text("river\nsea\n", encoding="utf-8")
    write(Path("in.csv"))
    made = ["--epsilon", "2", "--space", "space.npz"]
    veiled = ["in.csv", "-o", "v.csv", "-c", "text", *made, "--block", "list.txt", "--report", "r.json", "-q"]
    assert run("privatize", *veiled)[0] == 0
    again = ["read", "v.csv", "-c", "text", "--space", "space.npz", "--json", "-q", "-o"]
    code, out, _ = run(*again, "a.csv", "--report", "r.json", "--block", "list.txt")
    assert (code, json.loads(out)["blocked_words"]) == (0, 2)
    code, out, _ = run(*again, "b.csv", "--epsilon", "2", "--block", "list.txt")
    assert (code, json.loads(out)["blocked_words"]) == (0, 2)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert run(*again, "c.csv", "--report", "r.json")[0] == 2  # the bundled list is another one
    Path("other.txt").write_text("garden\nsea\n", encoding="utf-8")  # as many words, but not these
    assert run(*again, "c.csv", "--report", "r.json", "--block", "other.txt")[0] == 2
    Path("none.txt").write_text("the river\n", encoding="utf-8")
    assert run(*again, "c.csv", "--epsilon", "2", "--block", "none.txt")[0] == 2  # is no word of the space


def test_a_column_that_was_not_veiled_is_refused(run: Run) -> None:
    Path("table.csv").write_text("who,text\nann,the ship\n", encoding="utf-8")
    assert run("privatize", "table.csv", "-o", "v.csv", "-c", "text", "-e", "3", "--report", "r.json", "-q")[0] == 0
    assert run("read", "v.csv", "-o", "a.csv", "-c", "who", "--report", "r.json")[0] == 2
    assert not Path("a.csv").exists()


def test_spans_that_are_not_given_are_asked_for_as_an_option(run: Run) -> None:
    Path("in.jsonl").write_text('{"text": "the river sea", "spans": [[4, 9]]}\n', encoding="utf-8")
    how = ["--epsilon", "2", "--space", "space.npz", "--column", "text", "--select", "spans"]
    code, _, err = run("read", "in.jsonl", *how)
    assert code == 2
    assert "--spans" in err
    assert "`" not in err


def test_spans_move_along(run: Run) -> None:
    Path("in.jsonl").write_text('{"text": "the river sea", "spans": [[4, 9]]}\n', encoding="utf-8")
    how = ["--epsilon", "2", "--space", "space.npz", "--column", "text", "--spans", "spans", "--quiet"]
    assert run("privatize", "in.jsonl", "-o", "veiled.jsonl", *how)[0] == 0
    assert run("read", "veiled.jsonl", "-o", "read.jsonl", *how) == (0, "", "")
    record = json.loads(Path("read.jsonl").read_text(encoding="utf-8"))
    (start, end), words = record["spans"][0], record["text"].split()
    assert record["text"][start:end] == words[1]
    assert (words[0], words[2]) == ("the", "sea")


def test_mistakes_get_one_sentence_and_leave_no_file(run: Run) -> None:
    options = veil(run, "in.csv")
    Path("there.csv").write_text("mine", encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")
    Path("empty.csv").write_text("n,text\n", encoding="utf-8")
    Path("folder").mkdir()
    before = sorted(Path().iterdir())
    for arguments in (
        ["veiled-in.csv", "-o", "veiled-in.csv", "--overwrite", *options],  # never over its input
        ["veiled-in.csv", "-o", "report.json", "--overwrite", *options],
        ["veiled-in.csv", "-o", "there.csv", *options],
        ["veiled-in.csv", "-o", "new.txt", *options],  # no format is converted
        ["veiled-in.csv", "-o", "new.csv", "--vectors", *options],
        ["veiled-in.csv", "-o", "new.npz", "--text", *options],
        ["veiled-in.csv", "-o", "new.npz", "--column", "n", *options],
        ["veiled-in.csv", "-o", "new.npz", *options, "--epsilon", "3"],
        ["veiled-in.csv", "-o", "new.npz", *options, "--reader", "nothing"],
        ["veiled-in.csv", "-o", "new.npz", *options, "--prior", "missing.txt"],
        ["veiled-in.csv", "-o", "new.npz", *options, "--select", "marked"],
        ["veiled-in.csv", "-o", "new.npz", *options, "--select", "all"],  # the report says content
        ["veiled-in.csv", "-o", "new.npz", *options, "--stopwords", "there.csv"],
        ["veiled-in.csv", "-o", "new.npz", "--column", "text", "--report", "other.json"],
        ["veiled-in.csv", "-o", "new.npz", "--column", "text", "--report", "missing.json"],
        ["veiled-in.csv", "-o", "new.npz", "--column", "text", "--report", "report.json"],  # which space?
        ["veiled-in.csv", "-o", "new.npz", "--column", "text"],  # which ε?
        ["veiled-in.csv", "-o", "new.npz", "--column", "other", *options[2:]],
        ["empty.csv", "-o", "new.parquet", *options],
        ["empty.csv", "-o", "new.npz", "--reader", "population", *options],
        ["folder", "-o", "new.npz", *options],
        ["missing.csv", "-o", "new.npz", *options],
    ):
        code, out, err = run("read", *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("wordveil: ")
        assert err.count("\n") == 1
        assert sorted(Path().iterdir()) == before
    assert run("read", "veiled-in.csv", "-o", "there.csv", "--overwrite", *options)[0] == 0


@pytest.mark.parametrize(("name", "given"), [("in.txt", []), ("in.csv", ["--format", "csv"])])
def test_a_release_is_read_from_standard_input(
    run: Run, name: str, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = veil(run, name)
    assert run("read", f"veiled-{name}", "-o", f"from-file-{name}", *options, "--quiet")[0] == 0
    with Path(f"veiled-{name}").open(encoding="utf-8") as veiled:
        monkeypatch.setattr("sys.stdin", veiled)
        assert run("read", "-", "-o", f"piped-{name}", *options, *given, "--quiet")[0] == 0
    assert Path(f"piped-{name}").read_bytes() == Path(f"from-file-{name}").read_bytes()


def test_without_a_report_the_command_says_what_a_reader_needs(run: Run) -> None:
    veil(run, "in.txt")
    code, _, err = run("read", "veiled-in.txt", "-o", "out.txt")
    assert code == 2
    assert "--report" in err
    assert "wordveil calibrate" not in err


def test_a_release_saved_in_another_encoding_gets_advice_that_can_be_taken(run: Run) -> None:
    Path("in.txt").write_bytes("The café by the river.\n".encode("cp1252"))
    code, _, err = run("read", "in.txt", "-o", "out.txt", "--epsilon", "2", "--space", "space.npz")
    assert code == 2
    assert "cp1252" in err
    assert "`" not in err


def test_a_table_is_not_written_under_the_name_of_an_array(run: Run) -> None:
    options = veil(run, "in.parquet")
    assert run("read", "veiled-in.parquet", "-o", "new.npz", "--text", *options)[0] == 2
    assert run("read", "veiled-in.parquet", "-o", "new.pq", "--text", *options)[0] == 0


def test_a_list_of_words_left_alone_is_given_again(run: Run) -> None:
    Path("in.txt").write_text("the river and the harbour\n", encoding="utf-8")
    Path("stop.txt").write_text("river\n", encoding="utf-8")
    how = ["--space", "space.npz", "--quiet"]
    made = ["-o", "v.txt", "--epsilon", "2", "--stopwords", "stop.txt", "--report", "r.json"]
    assert run("privatize", "in.txt", *made, *how)[0] == 0
    code, _, err = run("read", "v.txt", "-o", "out.txt", "--report", "r.json", *how, "--force")
    assert code == 2
    assert "--stopwords" in err
    told = ["--report", "r.json", "--stopwords", "stop.txt", "--force"]
    assert run("read", "v.txt", "-o", "out.txt", *told, *how)[0] == 0
    assert Path("out.txt").read_text(encoding="utf-8").split()[1] == "river"


def test_a_release_of_listed_words_asks_for_what_the_command_takes(run: Run) -> None:
    Path("in.txt").write_text("the river and the harbour\n", encoding="utf-8")
    Path("list.txt").write_text("river\n", encoding="utf-8")
    how = ["--space", "space.npz", "--quiet"]
    made = ["-o", "v.txt", "--epsilon", "2", "--select", "words", "--words", "list.txt", "--report", "r.json"]
    assert run("privatize", "in.txt", *made, *how)[0] == 0
    code, _, err = run("read", "v.txt", "-o", "out.txt", "--report", "r.json", *how)
    assert code == 2
    assert "set --select" in err
    assert "`" not in err


def test_read_by_a_language_model(run: Run) -> None:
    options = veil(run, "in.txt")
    Path("public.txt").write_text("\n".join(text for text in TEXTS if text), encoding="utf-8")
    by = ("--reader", "language", "--language-model", "public.txt")
    assert run("read", "veiled-in.txt", "-o", "guessed.txt", *options, *by, "--force")[0] == 0
    assert len(Path("guessed.txt").read_text(encoding="utf-8").splitlines()) == len(TEXTS)
    for wrong in (
        ("--reader", "table", "--language-model", "public.txt"),
        ("--reader", "table", "--beam", "4"),
        (*by, "--preamble", "public.txt"),
        ("--reader", "language", "--language-model", "none.txt"),
    ):
        code, _, err = run("read", "veiled-in.txt", "-o", "other.txt", *options, *wrong, "--force")
        assert code == 2
        assert err.count("\n") == 1
