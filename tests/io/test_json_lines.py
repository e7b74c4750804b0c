"""JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wordveil.errors import InputError, OptionError
from wordveil.io import Veils
from wordveil.io.json_lines import moved
from wordveil.text import Veil

relaxed = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@relaxed
@given(
    st.dictionaries(st.text(max_size=4).filter(lambda key: key not in ("text", "in")), values, max_size=4),
    st.text(st.characters(), max_size=20),
    st.none() | st.text(max_size=20),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_every_value_survives(
    tmp_path: Path,
    idle: Veils,
    through: Any,
    others: dict[str, Any],
    text: str,
    inner: str | None,
    indent: int | None,
    is_ascii: bool,
) -> None:
    row = {**others, "text": text, "in": {**others, "text": inner}, "z": 1}
    has_half_pairs = any("\ud800" <= letter <= "\udfff" for letter in str(json.dumps(row, ensure_ascii=False)))
    line = json.dumps(row, ensure_ascii=is_ascii or has_half_pairs, separators=(" , ", ": ") if indent else None)
    path = tmp_path / "in.jsonl"
    path.write_text(f"{line}\r\n\n{line}", encoding="utf-8", newline="")
    result = through(idle, path, "jsonl", columns=("text", "in.text"), batch_words=1).decode()
    first, blank, second = result.split("\n")
    assert blank == ""
    assert first.removesuffix("\r") == second
    # NaN is not equal to itself, but is written like itself.
    assert json.dumps(json.loads(second)) == json.dumps(row)
    assert list(json.loads(second)) == list(row)


def test_all_else_survives_byte_for_byte(tmp_path: Path, idle: Veils, through: Any) -> None:
    line = '{ "n":1.10,"big" :123456789012345678901234567890.5e400, "\\u0074ext": "h\u00e9 there","u":"\\/\\u00e9"}\n'
    path = tmp_path / "in.jsonl"
    path.write_text(line * 3, encoding="utf-8", newline="")
    assert through(idle, path, "jsonl", columns=("text",)).decode() == line * 3


def test_a_key_with_a_dot_is_found_as_it_is_and_as_a_path(tmp_path: Path, seeded: Veils, through: Any) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"a.b": "river timber harbour"}\n{"a": {"b": "river timber harbour", "c": "mill"}}\n')
    first, second = map(json.loads, through(seeded, path, "jsonl", columns=("a.b",)).splitlines())
    assert first["a.b"] != "river timber harbour"
    assert second["a"]["b"] != "river timber harbour"
    assert second["a"]["c"] == "mill"


def test_only_the_spans_change_and_they_move_along(tmp_path: Path, graph: Any, through: Any) -> None:
    veils = Veils(lambda seed: Veil(graph, select="spans", seed=seed), seed=4)
    text = "The river carried timber past the old mill at night."
    spans = [[4, 9], [18, 24], [33, 42], [10, 10]]
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"at": spans, "text": text}) + '\n{"text": null, "at": []}\n')
    out = through(veils, path, "jsonl", columns=("text",), spans="at")
    first, second = map(json.loads, out.splitlines())
    assert list(first) == ["at", "text"]
    new = [first["text"][start:end] for start, end in first["at"]]
    rebuilt = f"The {new[0]} carried {new[1]} past the{' ' * (new[2][:1] != ' ')}{new[2]} at night."
    assert first["text"] == rebuilt
    assert new[3] == ""
    assert any(word not in text for word in new[:3])
    assert second == {"text": None, "at": []}


spanned = st.text("ab river-timber.", max_size=40).flatmap(
    lambda text: st.tuples(
        st.just(text), st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted).map(tuple), max_size=4)
    )
)


@relaxed
@given(spanned)
@example((" b", [(0, 1), (0, 2)]))
def test_moved_spans_lie_in_the_text(graph: Any, case: tuple[str, list[tuple[int, int]]]) -> None:
    text, spans = case
    for oov in ("replace", "drop"):
        release = Veil(graph, select="spans", oov=oov, seed=1)(text, spans=tuple(spans))
        for start, end in moved(tuple(spans), release):
            assert 0 <= start <= end <= len(release.text)


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "canary"',
        '{"text": "canary"}}',
        '{"text": "canary",}',
        '["canary"]',
        '"canary"',
        "canary",
        "{" * 5,
        '{"a":' * 100_000,
        '{"a":' + "[" * 100_000,
        '{"text": "can\tary"}',
        '{"text": ["canary"]}',
        '{"text": 7}',
        '{"text": {"text": "canary"}}',
        '{"texts": "canary"}',
        '{"text": "canary", "text": "b"}',
    ],
)
def test_a_bad_record_is_refused_and_not_quoted(tmp_path: Path, idle: Veils, through: Any, line: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "fine"}\n' + line + "\n")
    with pytest.raises(InputError, match="line 2 ") as caught:
        through(idle, path, "jsonl", columns=("text",))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


BAD_SPANS = ["7", "[7]", "[[0]]", "[[0, 99]]", "[[2, 1]]", "[[-1, 1]]", "[[0, 1.0]]", "[[0, true]]", "null"]


@pytest.mark.parametrize("spans", [*BAD_SPANS, f"[[0, {'9' * 5000}]]"])
def test_bad_spans_are_refused(tmp_path: Path, idle: Veils, through: Any, spans: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"text": "fine", "at": {spans}}}\n')
    with pytest.raises(InputError, match=r"line 1 .*'at'"):
        through(idle, path, "jsonl", columns=("text",), spans="at")


def test_keys_are_not_quoted_but_one_that_was_nearly_asked_for(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1, "Zebulon Quax": "canary"}\n')  # a map keyed by people
    for columns, kind in ((("text",), InputError), ((), OptionError)):
        with pytest.raises(kind) as caught:
            through(idle, path, "jsonl", columns=columns)
        assert "Zebulon" not in str(caught.value)
    with pytest.raises(InputError, match="'id'"):
        through(idle, path, "jsonl", columns=("ID",))
