"""Commands as people use them, and what they see when something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_poincare, make_space
from wordveil._mechanisms import MECHANISMS
from wordveil.cli import main
from wordveil.errors import OptionError
from wordveil.spaces import load_space
from wordveil.spaces.files import read_vectors, write_vectors

Run = tuple[int, str, str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> object:
    def call(*arguments: str) -> Run:
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        printed = capsys.readouterr()
        code = caught.value.code
        return (code if isinstance(code, int) else 0), printed.out, printed.err

    return call


def refused(result: Run) -> str:
    """Check that a command was refused in one sentence, and return it."""
    code, out, err = result
    assert code == 2
    assert out == ""
    assert err.startswith("wordveil: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_help_and_version(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run()
    assert code == 0
    assert "privatize" in out
    for command in ("privatize", "explain", "mechanisms", "spaces", "audit", "vectors", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "Example" in out
    assert "[INPUT]...\n" in run("privatize", "--help")[1]
    assert "[default: ]" not in run("compare", "--help")[1]
    assert run("--version")[1].startswith("wordveil ")


def test_an_option_without_its_value_names_the_command(run) -> None:  # type: ignore[no-untyped-def]
    assert "wordveil privatize --help" in refused(run("privatize", "--epsilon"))


def test_explain_is_exact_for_graph(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("explain", "harbour", "--epsilon", "3", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["exact"]
    assert facts["outputs"][0] == {"word": "harbour", "probability": facts["stays"]}
    assert len(facts["outputs"]) == 15
    assert facts["words_for_95_percent"] > 100
    _, out, _ = run("explain", "Harbour", "--epsilon", "3", "--top", "3")
    assert "stays with probability" in out
    assert "95%" in out
    assert "█" in out


def test_explain_says_what_a_mechanism_and_a_selection_leave_alone(run) -> None:  # type: ignore[no-untyped-def]
    told = ["explain", "--epsilon", "3", "--top", "1"]
    santext = json.loads(run(*told, "harbour", "--mechanism", "santext-plus", "--json")[1])
    assert santext["shortfall"]
    assert santext["shortfall"] in run(*told, "harbour", "--mechanism", "santext-plus")[1]
    assert "--select all" in run(*told, "the")[1]
    usual = json.loads(run(*told, "harbour", "--json")[1])
    assert (usual["shortfall"], usual["function_word"]) == ("", False)


def test_explain_estimates_for_noise(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    space = make_space(100)
    write_vectors(tmp_path / "small.npz", space.vocabulary.words, space.matrix)
    word, small = space.vocabulary[0], str(tmp_path / "small.npz")
    _, out, _ = run("explain", word, "-e", "1000", "-m", "laplace", "-s", small, "--json")
    facts = json.loads(out)
    assert not facts["exact"]
    assert facts["stays"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "harborr", "--epsilon", "3"], "harbor"),
        (["explain", "qqqqqqqq", "--epsilon", "3"], ""),
        (["explain", "sea"], "--epsilon"),
        (["explain", "sea", "--epsilon", "0"], "--epsilon"),
        (["explain", "sea", "--epsilon", "nan"], "--epsilon"),
        (["explain", "sea", "--epsilon", "inf"], "--epsilon"),
        (["explain", "sea", "--epsilon", "x"], "--epsilon"),
        (["explain", "sea", "--epsilon", "3", "--mechanism", "x"], "'x'"),
        (["explain", "sea", "--epsilon", "3", "--space", "nowhere"], "'nowhere'"),
        (["explain", "sea", "--epsilon", "3", "--option", "k"], "NAME=VALUE"),
        (["explain", "sea", "--epsilon", "3", "--option", "q=1"], "'q'"),
        (["explain", "sea", "--epsilon", "3", "--option", "k=-1"], "k"),
        (["explain"], ""),
        (["nonsense"], "nonsense"),
        (["explain", "sea", "--nonsense"], "--nonsense"),
        (["explain", "sea", "--epsilon", "four"], "wordveil explain --help"),
        (["audit"], "--epsilon"),
        (["vectors", "--epsilon", "1", "--mechanism", "graph", "-o", "x.npz"], "graph"),
        (["spaces", "nowhere.txt"], "nowhere.txt"),
        (["demo", "--save", "/nonexistent/folder/file.csv"], "/nonexistent/folder/file.csv"),
    ],
)
def test_mistakes_get_one_sentence(run, arguments: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    assert said in refused(run(*arguments))


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(OptionError):
        main(["explain", "sea", "--epsilon", "0", "--debug"])


def test_faults_of_ours_tell_nothing_of_the_text(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("canary in the message")

    monkeypatch.setattr("wordveil.spaces.load_space", fail)
    code, out, err = run("spaces", "glove-50k")
    assert code == 1
    assert "canary" not in out + err
    assert "RuntimeError" in err


def test_parameters_that_the_library_names_are_shown_as_flags(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    table = tmp_path / "in.csv"
    table.write_text("id,text\n1,ship\n")
    said = refused(run("privatize", str(table), "--epsilon", "4"))
    assert "--column " in said
    assert "`" not in said


def test_mechanisms_and_spaces(run) -> None:  # type: ignore[no-untyped-def]
    facts = json.loads(run("mechanisms", "--json")[1])
    assert [fact["name"] for fact in facts] == list(MECHANISMS)
    assert facts[0]["default"]
    audited = {fact["name"]: (fact["audit"], fact["claim"]) for fact in facts}
    assert audited["graph"] == ("holds", "")
    assert audited["nadp"] == ("holds", "broken")
    assert audited["remapped"] == ("no promise", "broken")
    assert audited["custext"] == ("holds", "broken")
    assert audited["polar"] == audited["diffractor"] == audited["bayes-remap"] == ("holds", "")
    assert audited["hyperbolic"] == ("holds", "")
    assert audited["hyperbolic-icdm19"] == ("no promise", "broken")
    assert {verdict for verdict, _ in audited.values()} == {"holds", "no promise"}
    assert "santext is exponential" in run("mechanisms")[1]
    assert {"tem"} == set(next(fact["aliases"] for fact in facts if fact["name"] == "truncated"))
    facts = json.loads(run("spaces", "--json")[1])
    assert facts[0]["checksum"] == load_space("glove-50k").checksum
    assert facts[1]["checksum"] == load_space("wordnet-poincare").checksum
    assert "50,000" in run("spaces")[1]
    assert "50,000" in run("spaces", "glove-50k")[1]


def test_demo(run, tmp_path: Path, sample_csv: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("demo", "--svg", str(tmp_path / "demo.svg"))
    assert code == 0
    assert "before" in out
    assert "privacy report" in out
    assert "told" not in out.partition("privacy report")[2]  # a veiled text may hold any word
    picture = (tmp_path / "demo.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    run("demo", "--save", str(tmp_path / "sample.csv"))
    assert (tmp_path / "sample.csv").read_text(encoding="utf-8") == sample_csv.read_text(encoding="utf-8")


def test_vectors(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    small = load_space("glove-50k").restrict(np.arange(100))
    source, target = tmp_path / "small.npz", tmp_path / "noisy.npz"
    write_vectors(source, small.vocabulary.words, small.matrix)
    for name in ("gaussian", "nadp", "laplace", "mahalanobis"):
        options = ["--option", "lam=0.9"] if name == "mahalanobis" else []
        code, _, err = run(
            "vectors", "-m", name, "-e", "2", "-s", str(source), "-o", str(target), "--overwrite", *options
        )
        assert code == 0, err
        words, noisy = read_vectors(target)
        assert words == small.vocabulary.words
        assert noisy.shape == (100, 100)
        assert np.array_equal(noisy * 1024, np.round(noisy * 1024))
        assert "100 noisy vectors" in err
        assert ("get no noise" in err) == ("No privacy is promised" in err) == (name == "nadp")
    assert "already" in refused(run("vectors", "-e", "2", "-s", str(source), "-o", str(target)))
    code, _, err = run("vectors", "-e", "2", "-s", str(source), "-o", str(target), "--overwrite", "--seed", "1")
    assert "No privacy is promised" in err


def test_audit_of_one(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("audit", "-m", "ring", "-e", "0.5", "--words", "20", "--draws", "2000", "--json")
    assert code == 0
    assert json.loads(out)[0]["verdict"] == "holds"
    space = make_space(300)
    write_vectors(tmp_path / "small.bin", space.vocabulary.words, space.matrix, format="word2vec-binary")
    small = ("--space", str(tmp_path / "small.bin"), "--words", "20", "--draws", "2000")
    code, out, _ = run("audit", "-m", "jaccard", "-e", "1", *small, "--repeat")
    assert code == 0
    assert "no promise" in out
    assert "broken" in out


def test_audit_of_all(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make_poincare(30, 3).save(tmp_path / "ball")
    small = ("--words", "10", "--draws", "1000", "--repeat")
    code, out, _ = run("audit", "--all", "--space", str(tmp_path / "ball"), *small, "--json")
    assert code == 0
    found = {verdict["mechanism"]: verdict for verdict in json.loads(out)}
    assert {"graph", "exponential", "hyperbolic", "hyperbolic-icdm19"} <= set(found)
    assert "laplace" not in found
    assert (found["graph"]["epsilon"], found["hyperbolic"]["epsilon"]) == (1.0, 3.0)
    assert (
        "needs an epsilon above 2" in run("audit", "--all", "--epsilon", "1", "-s", str(tmp_path / "ball"), *small)[1]
    )


def test_the_installed_command_and_the_module_are_the_same() -> None:
    for command in ([str(Path(sys.executable).parent / "wordveil")], [sys.executable, "-m", "wordveil"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("wordveil ")


def test_too_little_memory_is_told(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError("about the ship")

    monkeypatch.setattr("wordveil.spaces.load_space", exhausted)
    code, out, err = run("explain", "ship", "--epsilon", "3")
    assert (code, out) == (1, "")
    assert "memory" in err
    assert "ship" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirections")
@pytest.mark.parametrize(
    ("printed", "code", "said"),
    [
        (">&-", 2, "wordveil: standard output is closed, so there is nowhere to print to.\n"),
        ("> /dev/full", 2, "wordveil: a file could not be read or written (No space left on device).\n"),
        ("> /dev/null", 0, ""),
        ("| head -c 1 > /dev/null", 0, ""),
    ],
)
def test_output_that_cannot_be_printed(printed: str, code: int, said: str) -> None:
    command = f"{sys.executable} -m wordveil mechanisms {printed}"
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=ascii_only)  # noqa: S602
    assert (done.returncode, done.stderr) == (code, said)
