"""JSON files: arrays read object by object, and paths through lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordveil.errors import InputError, OptionError
from wordveil.io import Reading, Veils, format_named

relaxed = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(st.none() | st.booleans() | st.integers() | letters, st.lists, max_leaves=4)
records = st.fixed_dictionaries({"text": letters}, optional={"x": values, "y": values})
gaps = st.text(" \t\r\n", max_size=3)


def written(tmp_path: Path, content: Any, name: str = "a.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline="")
    return path


@relaxed
@given(st.lists(records, max_size=6), gaps, gaps, st.sampled_from([None, 1]), st.booleans())
def test_an_array_survives_byte_for_byte_and_goes_on_from_every_place(
    tmp_path: Path, idle: Veils, through: Any, rows: list[Any], before: str, after: str, indent: Any, mark: bool
) -> None:
    content = ("\ufeff" if mark else "") + before + json.dumps(rows, indent=indent, ensure_ascii=False) + after
    path = written(tmp_path, content)
    how: dict[str, Any] = {"columns": ("text",), "batch_words": 1}
    assert through(idle, path, "json", **how).decode() == content
    with format_named("json").open_reader(path, Reading(**how)) as reader:
        blocks = list(reader.blocks())
    assert [text for block in blocks for text in block.texts()] == [row["text"] for row in rows]
    for index, block in enumerate(blocks):
        with format_named("json").open_reader(path, Reading(**how), block.end) as reader:
            rest = list(reader.blocks())
        assert [later.end for later in rest] == [later.end for later in blocks[index + 1 :]]


@pytest.mark.parametrize("cut", range(1, 60, 3))
def test_an_array_that_breaks_off_is_refused_also_when_it_is_resumed(
    tmp_path: Path, idle: Veils, through: Any, cut: int
) -> None:
    content = json.dumps([{"text": "the old mill"}, {"text": "by the river"}, {"text": "at night"}])
    path = written(tmp_path, content[: len(content) - cut])
    with pytest.raises(InputError):
        through(idle, path, "json", columns=("text",), batch_words=1)
    with format_named("json").open_reader(path, Reading(columns=("text",), batch_words=1)) as reader:
        ends = []
        with pytest.raises(InputError):
            ends += [block.end for block in reader.blocks()]
    for end in ends:
        with pytest.raises(InputError):
            through(idle, path, "json", end, columns=("text",), batch_words=1)


def test_an_object_is_longer_than_what_is_read_at_once(tmp_path: Path, idle: Veils, through: Any) -> None:
    content = json.dumps([{"text": "timber " * 200_000}, {"text": "short"}] * 2)
    assert through(idle, written(tmp_path, content), "json", columns=("text",)).decode() == content


def test_a_single_object_is_one_record(tmp_path: Path, idle: Veils, through: Any) -> None:
    content = '{"messages": [{"content": "river"}, {"content": "mill"}]}\n'
    path = written(tmp_path, content)
    assert through(idle, path, "json", columns=("messages[*].content",)).decode() == content
    with format_named("json").open_reader(path, Reading(columns=("messages[*].content",))) as reader:
        assert [block.records for block in reader.blocks()] == [[["river", "mill"]]]


@pytest.mark.parametrize(
    "content",
    ["[1, 2]", '["a"]', "3", '[{"text": "a"}] x', '{"text": "a"}\n{"text": "b"}', '[{"text": "a"},]',
     '[{"text": "a" "b"}]', '[{"text": "a"} {"text": "b"}]', '[{"text": NaNa}]', "[[]]", "[", "[ ", "   "],
)  # fmt: skip
def test_what_is_no_array_of_objects_is_refused(tmp_path: Path, idle: Veils, through: Any, content: str) -> None:
    with pytest.raises(InputError):
        through(idle, written(tmp_path, content), "json", columns=("text",))


CHAT = {
    "id": 7,
    "messages": [
        {"role": "user", "content": "where is my parcel"},
        {"role": "tool", "call": {"args": [1]}},
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "look at this"}, {"type": "image", "url": "u"}]},
    ],
}


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_paths_lead_through_lists(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, [CHAT] if name == "a.json" else json.dumps(CHAT) + "\n", name)
    columns = ("messages[*].content", "messages[*].content[*].text")

    def texts(columns: tuple[str, ...], missing: str = "pass") -> list[Any]:
        with format_named(name[2:]).open_reader(path, Reading(columns, missing=missing)) as reader:
            return [block.records for block in reader.blocks()]

    assert texts(columns) == [[["where is my parcel", "look at this"]]]
    with pytest.raises(InputError):  # the second message has none
        texts(columns, "refuse")
    with pytest.raises(InputError):  # the fourth would be released as it is
        texts(columns[:1])
    with pytest.raises(InputError):  # and so would the first
        texts(columns[1:])
    with pytest.raises(InputError):  # misspelt: no record has it
        texts((*columns, "messages[*].contents"))


def test_nested_lists_of_texts(tmp_path: Path) -> None:
    path = written(tmp_path, [{"a": [["x", "y"], [], None, ["z"]], "b.c": ["u"]}])
    with format_named("json").open_reader(path, Reading(("a[*][*]", "b.c[*]"))) as reader:
        assert [block.records for block in reader.blocks()] == [[["x", "y", "z", "u"]]]


def test_a_key_that_comes_twice_is_refused_also_inside_a_list(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = written(tmp_path, '[{"a": [{"b": "x", "b": "y"}]}]')
    with pytest.raises(InputError):
        through(idle, path, "json", columns=("a[*].b",))


def test_a_record_without_the_key_is_passed_only_if_asked_for(tmp_path: Path, idle: Veils, through: Any) -> None:
    content = '{"id": 1}\n{"text": "river"}\n'
    path = written(tmp_path, content, "a.jsonl")
    with pytest.raises(InputError):
        through(idle, path, "jsonl", columns=("text",))
    assert through(idle, path, "jsonl", columns=("text",), missing="pass").decode() == content
    with pytest.raises(OptionError):
        through(idle, path, "jsonl", columns=("text",), missing="ignore")


def test_the_keys_of_the_first_record_are_counted_and_not_quoted(tmp_path: Path) -> None:
    path = written(tmp_path, [{"id": 1, "note": "secret words"}])
    with pytest.raises(OptionError) as caught:
        format_named("json").open_reader(path, Reading())
    assert "2 keys" in str(caught.value)
    assert "note" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_record_is_of_one_person(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.json"
    path.write_text('[{"text": "a", "from": {"id": 7}, "to": [{"id": 8}]}]')
    assert through(idle, path, "json", columns=("text",), person="from.id") == path.read_bytes()
    for wrong, error in (("to[*].id", OptionError), ("from", InputError), ("from.name", InputError)):
        with pytest.raises(error):
            through(idle, path, "json", columns=("text",), person=wrong)
