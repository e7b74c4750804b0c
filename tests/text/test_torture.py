"""Texts that are hard to cut up: every kind of Unicode, and sizes at which anything but linear time shows."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

import wordveil
from tests.conftest import make_space
from wordveil import Veil, WordveilError
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan
from wordveil.text import tokenise

MANY = 400_000
_SLOW = 20.0  # seconds; what is not linear takes hours at these sizes, whatever the machine


@pytest.fixture(scope="module")
def veil() -> Veil:
    return Veil(wordveil.mechanism("exponential", make_space(), epsilon=1.0), select="all", seed=1)


@pytest.mark.parametrize(
    "text",
    [
        "e\u0301te\u0301 Z\u030c\u0323ebra",  # combining marks
        "שלום עולם مرحبا بالعالم",  # right to left
        "\u202eevil\u202c \u2066isolated\u2069",  # directions overridden
        "zero\u200bwidth\u200cnon\u200djoiner\ufeffmark\u2060word",
        "half \ud83d pair \ude00 back \udfff\ud800",  # lone surrogates
        "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 1️⃣ 🇫🇷 family",  # emoji sequences
        "nul\0byte\x01\x7f\x85control\u2028line\u2029paragraph",
        "ＦＵＬＬ ｗｉｄｔｈ ﬁligature ① ⅷ ½ ㎏ ㍿",
        "Straße ǅ İstanbul ſharp Σίσυφος ΌΔΟΣ",
        "\U000e0041\U000e0042 tags \ue000\uf8ff private \u0378 unassigned",
        "a'b’c'd 'quoted' n't 't '' ’",
        "कि की ก็ กำ 한글 \u1112\u1161\u11ab",
        "",
        " \t\n",
    ],
)
def test_nothing_that_spells_is_left(veil: Veil, text: str) -> None:
    tokens = tokenise(text)
    assert "".join(tokens.pieces) == text
    release = veil(text)
    assert release.counts.left_alone == 0
    between = "".join(tokens.pieces[::2])
    assert not any(character.isalnum() for character in between)
    for select in ("content", "marked"):
        Veil(veil.mechanism, select=select, oov="drop", case="copy", seed=1)(text)


@pytest.mark.parametrize(
    "text",
    [
        "." * MANY + " word",
        "\n" * MANY + "- word",
        "word" + "\n " * MANY + "(" * 1000 + "- word",
        "?!\"' " * (MANY // 5) + "word",
        "a" + "\u0315\u0300" * MANY,
        "a" * MANY,
        "ａ" * MANY,
        "x'" * MANY,
        "Σ\u0301" * MANY,
        "\u200d" * MANY + "a" + "\u200d" * MANY,
        "7" * MANY,
        "ﷺ" * (MANY // 10),
        "[[" * 2 + "a" * MANY,
    ],
    ids=range(13),
)
def test_time_is_linear(veil: Veil, text: str) -> None:
    started = time.process_time()  # whatever else the machine does
    for select in ("all", "content", "marked"):
        try:
            Veil(veil.mechanism, select=select, seed=1)(text)
        except WordveilError:  # noqa: PERF203
            assert select == "marked"
    assert time.process_time() - started < _SLOW


def idle_job(source: Path, columns: tuple[str, ...] = ()) -> Path:
    plan, out = make_plan(source), source.with_name("out" + source.suffix)
    made: Any = wordveil.mechanism("exponential", make_space(), epsilon=1.0)
    veils = Veils(lambda seed: Veil(made, select="words", words=["qzwordqz"], seed=seed))
    job = FileJob(plan, Reading(columns), Destination.of(out, plan), unveiled=True)
    job.check()
    job.run(veils)
    job.forget()
    return out


def test_ten_megabytes_on_one_line(tmp_path: Path, veil: Veil) -> None:
    text = "the ship sails — " * (10_000_000 // 19)
    source = tmp_path / "in.txt"
    source.write_text(text, encoding="utf-8")
    assert idle_job(source).read_text(encoding="utf-8") == text
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
    assert json.loads(idle_job(source, ("text",)).read_text(encoding="utf-8")) == {"text": text}


def test_a_table_of_ten_thousand_columns_with_line_breaks_in_its_fields(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    rows = [[f'a "{number}"\nb,\r\nc' for number in range(10_000)], ["" for _ in range(10_000)]]
    source = tmp_path / "in.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
    out = idle_job(source, ("c7", "c9999"))
    assert list(csv.reader(io.StringIO(out.read_bytes().decode(), newline=""))) == [names, *rows]
    out.unlink()
    with pytest.raises(WordveilError) as caught:
        idle_job(source, ("missing",))
    assert len(str(caught.value)) < 500


def test_nul_bytes_are_refused_with_their_line(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(b"fine\na\0canary\n")
    with pytest.raises(WordveilError) as caught:
        idle_job(source)
    assert "line 2" in str(caught.value)
    assert "canary" not in str(caught.value)
