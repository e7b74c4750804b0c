"""The commands of attack, as people run them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.attacks.doubles import texts_of
from tests.conftest import make_space
from wordveil.cli import main

OF_THE_TEXT = "zqhb"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a space, two texts of its words, and a table of texts by four authors and one by sixteen."""
    made = tmp_path_factory.mktemp("attack")
    space = make_space(80, 4, seed=9)
    words = space.vocabulary.words
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in row)}" for word, row in zip(words, space.matrix, strict=True)]
    (made / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, seed in (("private.txt", 1), ("public.txt", 2)):
        (made / name).write_text("\n".join(texts_of(words, 60, 8, seed)) + "\n", encoding="utf-8")
    for name, count in (("mail.csv", 4), ("many.csv", 16)):
        rows = [("text", "author")]
        for author in range(count):
            weights = np.full(80, 1.0)
            weights[author % 16 :: 16] = 40.0
            rows += [(text, f"a{author}") for text in texts_of(words, 16, 25, author, weights / weights.sum())]
        with (made / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return made


def run(capfd: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["attack", *(str(folder / part) if (folder / part).is_file() else part for part in arguments)])
    out, err = capfd.readouterr()
    assert OF_THE_TEXT not in out + err  # rates only, never words
    return int(caught.value.code or 0), out, err


SPACE = ("--space", "vectors.txt", "--seed", "1")


def test_bayes_gives_rates_with_intervals(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    figure = tmp_path / "success.svg"
    asked = ("bayes", "private.txt", *SPACE, "--reference", "public.txt", "-e", "1", "-e", "20", "--tokens", "300")
    code, out, err = run(capfd, folder, *asked, "--json", "--figure", str(figure))
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["attack"], facts["mechanism"], facts["confidence"]) == ("bayes", "graph", 0.95)
    low, high = facts["results"]
    assert (low["epsilon"], high["epsilon"]) == (1.0, 20.0)
    assert high["best"]["value"] > 0.8
    assert low["best"]["value"] < 0.4
    assert low["best"]["low"] < low["best"]["value"] < low["best"]["high"]
    assert low["best"]["n"] == 300
    assert low["exact"]
    assert figure.stat().st_size > 5000
    code, out, err = run(capfd, folder, *asked)
    assert (code, err) == (0, "")
    assert f"{100 * low['best']['value']:.1f}%" in out


def test_bayes_learns_a_mechanism_that_states_no_law(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    asked = ("bayes", "private.txt", *SPACE, "-m", "laplace", "-e", "4", "--draws", "5000", "--prior", "uniform")
    code, out, err = run(capfd, folder, *asked, "--json")
    assert (code, err) == (0, "")
    assert not json.loads(out)["results"][0]["exact"]


def test_repeats_need_no_text(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    figure = tmp_path / "repeats.svg"
    asked = ("repeats", *SPACE, "-e", "1", "-e", "4", "--tokens", "300")
    code, out, err = run(capfd, folder, *asked, "--json", "--figure", str(figure))
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["attack"], facts["mechanism"], facts["confidence"]) == ("repeats", "graph", 0.95)
    low, high = facts["results"]
    assert [one["times"] for one in low["words"]] == [1, 2, 3, 5, 10]
    assert sorted(low["words"][0]) == ["found", "right_when_sure", "sure", "times"]
    assert low["words"][0]["found"]["high"] < high["words"][-1]["found"]["low"]
    assert low["revealed"]["value"] < high["revealed"]["value"] < high["uncertainty"] == low["uncertainty"]
    assert (low["exact"], low["names"], low["places"]) == (True, [], None)
    assert figure.stat().st_size > 5000
    code, out, err = run(capfd, folder, *asked)
    assert (code, err) == (0, "")
    assert f"{100 * low['words'][-1]['found']['value']:.1f}%" in out
    assert f"{high['revealed']['value']:.1f} of {high['uncertainty']:.1f} bits" in out


def test_repeats_look_at_words_that_recur_in_a_record(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    asked = ["repeats", "mail.csv", "--column", "text", *SPACE, "--reference", "public.txt", "-e", "2", "-n", "4"]
    code, _, err = run(capfd, folder, *asked, "--json")
    assert (code, "--column" in err) == (2, True)  # a reference of lines has no columns
    asked[asked.index("public.txt")] = "mail.csv"
    code, out, err = run(capfd, folder, *asked, "-n", "2", "--json")
    assert (code, err) == (0, "")
    (apart,) = json.loads(out)["results"]
    assert [one["times"] for one in apart["names"]] == [2, 4]
    code, out, err = run(capfd, folder, *asked, "-n", "2", "--author-column", "author", "--json")
    (joined,) = json.loads(out)["results"]
    assert apart["prior"] == "reference text"
    assert 2 <= apart["places"] < joined["places"]
    assert 0.0 < joined["linked"]["low"] < joined["linked"]["high"] < 1.0
    code, out, err = run(capfd, folder, *asked)
    assert (code, err) == (0, "")
    assert out.count("suspects") == 2  # the words of the text, and those that recur


def test_repeats_learn_a_mechanism_that_states_no_law(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    asked = ("repeats", "private.txt", *SPACE, "-m", "laplace", "-e", "4", "--draws", "5000", "--tokens", "100")
    code, out, err = run(capfd, folder, *asked)
    assert (code, err) == (0, "")
    assert "at least" in out
    assert "learnt" in out


@pytest.mark.parametrize("order", ["2", "3"])
def test_sentence_uses_a_reference_text(capfd: pytest.CaptureFixture[str], folder: Path, order: str) -> None:
    asked = ("sentence", "private.txt", *SPACE, "--reference", "public.txt", "-e", "12", "--order", order)
    code, out, err = run(capfd, folder, *asked, "--tokens", "150", "--json")
    assert (code, err) == (0, "")
    (result,) = json.loads(out)["results"]
    assert result["order"] == int(order)
    assert 0.3 < result["in_context"]["value"] <= 1.0
    code, out, _ = run(capfd, folder, *asked, "--tokens", "150")
    assert code == 0
    assert f"{100 * result['in_context']['value']:.1f}%" in out


def test_authors_are_told_apart_in_clean_text(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    figure = tmp_path / "authors.png"
    asked = ("authors", "mail.csv", *SPACE, "-e", "0.1", "--share", "0.5")
    code, out, err = run(capfd, folder, *asked, "--json", "--figure", str(figure))
    assert (code, err) == (0, "")
    results = {(one["method"], one["kind"]): one["right"] for one in json.loads(out)["results"]}
    assert sorted({kind for _, kind in results}) == ["adaptive", "clean", "static"]
    for method in ("koppel", "svm"):
        assert results[method, "clean"]["low"] > 0.8
        assert results[method, "static"]["low"] < 0.25 < results[method, "static"]["high"]
    assert figure.stat().st_size > 5000
    named = (*asked[: asked.index("--share")], "-e", "9", "--method", "koppel", "--unknown", "mail.csv")
    code, out, _ = run(capfd, folder, *named)
    assert code == 0
    assert "svm" not in out
    assert out.count("koppel") == 5  # clean once, and two adversaries at either ε


def test_membership_of_a_clean_model_is_found(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("torch", reason="the membership auditor's models are made with the extra that brings torch")
    asked = ("membership", "many.csv", *SPACE, "--shadows", "1", "--epochs", "2", "--words", "100")
    code, out, err = run(capfd, folder, *asked, "-e", "0.1", "--json")
    assert (code, err) == (0, "")
    assert [one["plan"] for one in json.loads(out)["results"]] == ["clean", "static", "adaptive"]
    code, out, err = run(capfd, folder, *asked, "--scrambler", "incognito")
    assert (code, err) == (0, "")
    assert "incognito" in out
    for scrambler, needed in (("versatile-semantic", "--wordnet"), ("versatile-statistical", "--reference")):
        code, _, err = run(capfd, folder, *asked, "--scrambler", scrambler)
        assert code == 2
        assert needed in err


def test_vectors_are_turned_back_into_words(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    figure = tmp_path / "overlap.svg"
    code, out, err = run(capfd, folder, "vectors", *SPACE, "-e", "0.5", "-e", "100", "--json", "--figure", str(figure))
    assert (code, err) == (0, "")
    low, high = json.loads(out)["results"]
    assert high["nearest"]["value"] > 0.95
    assert low["nearest"]["value"] < 0.5
    assert figure.stat().st_size > 5000
    code, out, err = run(capfd, folder, "vectors", "--space", "vectors.txt", "--released", "vectors.txt")
    assert (code, err) == (0, "")
    assert "100.0%" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("bayes", "private.txt", *SPACE), "--epsilon"),
        (("bayes", "private.txt", *SPACE, "-e", "1", "--prior", "uniform", "--reference", "public.txt"), "--reference"),
        (("bayes", "private.txt", *SPACE, "-e", "1", "--select", "words"), "--select"),
        (("bayes", "absent.txt", *SPACE, "-e", "1"), "absent.txt"),
        (("bayes", "private.txt", *SPACE, "-e", "1", "--figure", "success.gif"), ".png or .svg"),
        (("bayes", "mail.csv", *SPACE, "-e", "1"), "--column"),
        (("bayes", "private.txt", *SPACE, "-e", "1", "-m", "none"), "'none'"),
        (("repeats", *SPACE), "--epsilon"),
        (("repeats", *SPACE, "-e", "1", "--times", "0"), "times"),
        (("repeats", *SPACE, "-e", "1", "--times", "101"), "times"),
        (("repeats", *SPACE, "-e", "1", "--select", "words"), "--select"),
        (("repeats", *SPACE, "-e", "1", "--prior", "best"), "prior"),
        (("repeats", *SPACE, "-e", "1", "--prior", "uniform", "--reference", "public.txt"), "--reference"),
        (("repeats", *SPACE, "-e", "1", "--column", "text"), "--column"),
        (("repeats", *SPACE, "-e", "1", "--author-column", "author"), "--author-column"),
        (("repeats", "mail.csv", *SPACE, "-e", "1", "--author-column", "author"), "--column"),
        (("repeats", "mail.csv", *SPACE, "-e", "1"), "--column"),
        (("repeats", "absent.txt", *SPACE, "-e", "1"), "absent.txt"),
        (("repeats", *SPACE, "-e", "1", "--figure", "success.gif"), ".png or .svg"),
        (("authors", "mail.csv", *SPACE, "-e", "1", "--author-column", "who"), "who"),
        (("authors", "mail.csv", *SPACE, "-e", "1", "--method", "nose"), "koppel"),
        (("membership", "mail.csv", *SPACE, "-e", "1", "--scrambler", "incognito"), "--scrambler"),
        (("membership", "mail.csv", *SPACE, "--scrambler", "eggs"), "--scrambler"),
        (("vectors", *SPACE, "-e", "1", "-m", "graph"), "graph"),
        (("vectors", *SPACE, "-e", "1", "--released", "vectors.txt"), "--released"),
    ],
)
def test_a_mistake_is_refused_in_one_line_that_names_what_to_change(
    capfd: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = run(capfd, folder, *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert len(err.splitlines()) == 1


def test_context_reads_a_trial_and_a_release(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    figure = tmp_path / "context.svg"
    asked = ("context", "private.txt", *SPACE, "--reader", "population", "-e", "2", "-e", "9", "--frequent", "40")
    code, out, err = run(capfd, folder, *asked, "--json", "--figure", str(figure))
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["attack"], facts["mechanism"]) == ("context", "graph")
    low, high = facts["results"]
    assert (low["reader"], low["texts"], low["frequent"]) == ("population", 60, 40)
    assert low["in_context"]["high"] < high["in_context"]["low"]
    assert len(low["reliability"]) == 10
    assert figure.stat().st_size > 5000
    code, out, err = run(capfd, folder, *asked)
    assert (code, err) == (0, "")
    assert f"{100 * low['in_context']['value']:.1f}%" in out
    code, out, err = run(capfd, folder, *asked[:-6], "-e", "2", "--releases", "8", "--json")
    (often,) = json.loads(out)["results"]
    assert often["in_context"]["low"] > low["in_context"]["high"]


def test_context_takes_the_settings_of_a_release_from_its_report(
    capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    for name, source, epsilon in (
        ("veiled.csv", "mail.csv", "3"), ("other.csv", "many.csv", "3"), ("again.csv", "mail.csv", "9")
    ):  # fmt: skip
        made = ["--column", "text", "--epsilon", epsilon, "--space", str(folder / "vectors.txt"), "--seed", "1", "-q"]
        with pytest.raises(SystemExit) as caught:
            main(["privatize", str(folder / source), "-o", str(tmp_path / name), *made, "--report",
                  str(tmp_path / f"{name}.json")])  # fmt: skip
        assert not caught.value.code
    capfd.readouterr()
    veiled, report = str(tmp_path / "veiled.csv"), str(tmp_path / "veiled.csv.json")
    asked = ("context", "mail.csv", "--column", "text", "--reader", "table", "--space", "vectors.txt")
    code, out, err = run(capfd, folder, *asked, "--veiled", veiled, "--report", report, "--json")
    assert (code, err) == (0, "")
    (found,) = json.loads(out)["results"]
    assert (found["epsilon"], found["texts"], found["kept"]["n"]) == (3.0, 64, 1600)
    another = str(tmp_path / "again.csv.json")  # of the same texts at another ε
    code, out, err = run(capfd, folder, *asked, "--veiled", veiled, "--report", another, "--json")
    assert (code, err.count("wordveil: warning: "), err.count("\n")) == (0, 1, 1)
    refused = (
        ("--veiled", veiled),  # settings unknown
        ("--veiled", veiled, "--report", report, "-e", "3"),
        ("--veiled", veiled, "--report", report, "--select", "all"),
        ("--veiled", veiled, "-e", "3", "-e", "4"),
        ("--veiled", veiled, "-e", "3", "--releases", "2"),
        ("--veiled", str(tmp_path / "other.csv"), "-e", "3"),
        ("--veiled", str(folder / "mail.csv"), "-e", "3"),  # which is no release of it
        ("-e", "3", "--reader", "nothing"),
        ("-e", "3", "--select", "rare"),
        ("--report", veiled),
    )
    for more in refused:
        code, out, err = run(capfd, folder, *asked, *more)
        assert (code, out, err.count("\n")) == (2, "", 1), more
    other = ("context", "mail.csv", "--column", "text", "--reader", "table", "--veiled", veiled)
    for more in (("--report", report), ("-e", "3"), ("--report", report, "--space", "glove-50k")):  # another space
        assert run(capfd, folder, *other, *more)[0] == 2


def test_texts_are_read_by_a_language_model_and_released_again(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    asked = ("context", "private.txt", *SPACE, "-e", "3", "--tokens", "80", "--reader", "language")
    code, out, err = run(capfd, folder, *asked, "--language-model", "public.txt", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["results"][0]["reader"] == "language"
    for more in (
        ("--language-model", "nothing.txt"),
        ("--language-model", "public.txt", "--beam", "4"),
        ("--language-model", "public.txt", "--preamble", "public.txt"),
        ("--reader", "table", "--language-model", "public.txt"),
    ):
        code, out, err = run(capfd, folder, *asked, *more)
        assert (code, out, err.count("\n")) == (2, "", 1), more
    often_released = ("--tokens", "300", "--releases", "1", "--releases", "4")
    again = ("repeats", "private.txt", *SPACE, "-e", "5", "-n", "1", *often_released)
    code, out, err = run(capfd, folder, *again, "--json")
    assert (code, err) == (0, "")
    once, often = json.loads(out)["results"][0]["texts"]
    assert (once["releases"], often["releases"]) == (1, 4)
    assert often["in_context"]["low"] > once["in_context"]["high"]
    code, out, err = run(capfd, folder, *again)
    assert (code, err) == (0, "")
    assert f"{100 * often['in_context']['value']:.1f}%" in out
    assert run(capfd, folder, "repeats", *SPACE, "-e", "2", "--releases", "2")[0] == 2  # there is no text


def test_a_sentence_needs_a_reference_or_the_extra(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("sentence", "private.txt", *SPACE, "-e", "3", "--tokens", "40")
    monkeypatch.setattr("wordveil.extras.find_spec", lambda _: None)
    code, out, err = run(capfd, folder, *asked)
    assert (code, out, "trigram" in err) == (2, "", True)
    monkeypatch.undo()
    pytest.importorskip("pocketsphinx", reason="pocketsphinx (the extra trigram) is not installed")
    code, out, err = run(capfd, folder, *asked, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["results"][0]["order"] == 3


def test_a_text_in_another_encoding_is_to_be_converted(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "latin.txt").write_bytes("Das Geschäft öffnet früh, sagt Frau Müller aus Köln.\n".encode("cp1252") * 20)
    code, out, err = run(capfd, folder, "bayes", "latin.txt", *SPACE, "-e", "4")
    assert (code, out) == (2, "")
    assert "convert" in err
    assert "encoding" not in err  # for which there is no option here
