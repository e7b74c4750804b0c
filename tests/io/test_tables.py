"""CSV and TSV."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wordveil.errors import InputError, OptionError
from wordveil.io import Reading, Veils, format_named
from wordveil.io.tables import TableBlock
from wordveil.kernels.native import SWITCH, compiled
from wordveil.text.flow import Texts

relaxed = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), min_size=1, max_size=6)
)


def parsed(raw: bytes, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=delimiter))


@relaxed
@given(tables, st.sampled_from([",", ";", "|", "\t"]), st.sampled_from(["\n", "\r\n"]))
def test_every_field_survives(
    tmp_path: Path, idle: Veils, through: Any, rows: list[list[str]], delimiter: str, end: str
) -> None:
    header = [f"column {n}" for n in range(len(rows[0]))]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    path = tmp_path / "in.csv"
    path.write_bytes(out.getvalue().encode())
    result = through(idle, path, "csv", columns=("column 0",), batch_words=2)
    assert parsed(result, delimiter) == [header, *rows]
    assert result.endswith(end.encode())


def test_mark_line_ends_blank_lines_and_a_missing_last_end_survive(tmp_path: Path, idle: Veils, through: Any) -> None:
    raw = codecs.BOM_UTF8 + b'id;"te\r\nxt"\r\n1;"a\nb"\r\n\r\n2;plain\n3;"say ""so"""'
    path = tmp_path / "in.csv"
    path.write_bytes(raw)
    assert through(idle, path, "csv", columns=("te\r\nxt",)) == raw


def test_only_the_asked_columns_change(tmp_path: Path, seeded: Veils, through: Any) -> None:
    path = tmp_path / "in.tsv"
    path.write_text("id\tnote\ttext\n7\triver timber\triver timber harbour mill night\n", newline="")
    before, after = parsed(path.read_bytes(), "\t"), parsed(through(seeded, path, "tsv", columns=("text",)), "\t")
    assert after[0] == before[0]
    assert after[1][:2] == before[1][:2]
    assert after[1][2] != before[1][2]


@pytest.mark.parametrize("kernels", [None, "off"])
@pytest.mark.parametrize("columns", [("note", "text"), ("text", "note")])
def test_a_record_has_its_texts_in_the_order_in_which_their_columns_were_asked_for(
    tmp_path: Path, idle: Veils, through: Any, kernels: str | None, columns: tuple[str, str]
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'note,id,text\nn1,1,"t,1"\n"n\n2",2,t2\n\nn3,3,t3\n')
    there = {"note": ["n1", "n\n2", "n3"], "text": ["t,1", "t2", "t3"]}
    with kernels_as(kernels), format_named("csv").open_reader(path, Reading(columns)) as reader:
        preamble, blocks = reader.preamble, list(reader.blocks())
        assert [record for block in blocks for record in block.records] == [
            list(row) for row in zip(*(there[column] for column in columns), strict=True)
        ]
        new = [[Plain(f"{text}!") for text in block.texts()] for block in blocks]
        written = preamble + b"".join(block.render(texts) for block, texts in zip(blocks, new, strict=True))
        assert through(idle, path, "csv", columns=columns) == path.read_bytes()
    assert written == b'note,id,text\nn1!,1,"t,1!"\n"n\n2!",2,t2!\n\nn3!,3,t3!\n'


def test_the_separator_is_the_one_under_which_the_columns_are_there(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"first, second, third;text\na, b, c;d\n")
    assert through(idle, path, "csv", columns=("text",)) == path.read_bytes()


def test_ten_thousand_columns_and_a_huge_field(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.csv"
    header = ",".join(f"c{n}" for n in range(10_000))
    path.write_bytes(f"{header}\n{'x' * 1_000_000}{',' * 9_999}\n".encode())
    assert through(idle, path, "csv", columns=("c0", "c9999")) == path.read_bytes()


@pytest.mark.parametrize(
    ("raw", "columns", "named"),
    [
        (b"id,text\n1,a\n2,b,c\n", ("text",), r"record 2 \(up to line 3\) "),
        (b"id,text\n1\n", ("text",), r"record 1 \(up to line 2\) "),
        (b'id,text\n1,"a\n2,b\n', ("text",), "record 1 "),
        (b'id,text\n1,"a"b\n', ("text",), "record 1 "),
        (b"id,text\r1,a\r2,b\r", ("text",), "header"),
        (b"id,text\n1,a\n", ("txt",), "'txt'.* 'text'"),
        (b"id,Text \n1,a\n", ("text",), "'text'.* 'Text '"),
        (b"id,text\n1,a\n", (), "`columns`"),
        (b"text,text\n1,a\n", ("text",), "'text'"),
        (b"\n\n", ("text",), "header"),
        (codecs.BOM_UTF8, ("text",), "header"),
        (b"text;note,text\ncanary;b,c\n", ("text",), "separator"),
        (b'"id,text\n1,canary\n', ("text",), "header"),
        (b'id,"text\n1,canary\n' * 2000, ("text",), "'text'"),
        (b"te\x1bxt,i\td\n1,2\n", ("text",), r"'te\\x1bxt'\.$"),
    ],
)
def test_a_bad_table_is_refused(
    tmp_path: Path, idle: Veils, through: Any, raw: bytes, columns: tuple[str, ...], named: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError if columns else OptionError, match=named) as caught:
        through(idle, path, "csv", columns=columns)
    assert caught.value.__cause__ is None


@relaxed
@given(
    st.lists(st.sampled_from(["1,a", '2,"b,c"', '3,"d\ne"', "", '4,"f ""g"""']), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 5),
)
def test_blocks_with_and_without_rows_of_several_lines(
    tmp_path: Path, idle: Veils, through: Any, rows: list[str], end: str, words: int
) -> None:
    lines = "".join(row + end for row in ["id,text", *rows])
    path = tmp_path / "in.csv"
    path.write_bytes(lines.encode())
    assert parsed(through(idle, path, "csv", columns=("text",), batch_words=words)) == parsed(lines.encode())
    record, line = sum(map(bool, rows)) + 1, lines.count("\n") + 1
    path.write_bytes(f"{lines}5,h,i{end}".encode())
    with pytest.raises(InputError, match=rf"record {record} \(up to line {line}\) "):
        through(idle, path, "csv", columns=("text",), batch_words=words)


@pytest.mark.parametrize("columns", [("text",), ()])
def test_a_table_without_a_header_is_refused_and_its_first_record_is_not_told(
    tmp_path: Path, idle: Veils, through: Any, columns: tuple[str, ...]
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("zebra-17,canary,the canary sings\nzebra-18,other,nothing\n")
    with pytest.raises(InputError if columns else OptionError) as caught:
        through(idle, path, "csv", columns=columns)
    told = str(caught.value).replace(str(path), "")  # its folder has a number that pytest chose
    assert "canary" not in told
    assert "zebra" not in told


@pytest.mark.parametrize("name", ['screen 15"', '7" vinyl', 'a "quoted" name', "5' 4\""])
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_quotation_mark_inside_a_name_makes_no_record_a_part_of_the_header(
    tmp_path: Path, seeded: Veils, through: Any, name: str, form: str
) -> None:
    separator = "," if form == "csv" else "\t"
    rows = [["id", name, "text"], *([str(n), "x", f"canary harbour {n}"] for n in range(4))]
    path = tmp_path / f"in.{form}"
    path.write_text("\n".join(separator.join(row) for row in rows) + "\n")
    veiled = through(seeded, path, form, columns=("text",)).decode().splitlines()
    assert veiled[0] == separator.join(rows[0])
    assert len(veiled) == len(rows)
    assert "canary" not in "".join(veiled)


names_of_columns = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=8)


@relaxed
@given(st.lists(names_of_columns, max_size=4), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), st.booleans())
def test_exactly_the_header_goes_out_as_it_is(
    tmp_path: Path, seeded: Veils, through: Any, others: list[str], quoting: int, raw: bool
) -> None:
    """Whatever the names of other columns hold: what the csv module takes for the first row, and not a byte more."""
    out = io.StringIO(newline="")
    header, rows = [*others, "the text"], [[*("x" for _ in others), "canary"] for _ in range(3)]
    writer = csv.writer(out, lineterminator="\n", quoting=quoting)  # type: ignore[arg-type]
    if raw:  # names as people write them, without quoting
        out.write(",".join(header) + "\n")
    else:
        writer.writerow(header)
    writer.writerows(rows)
    path = tmp_path / "in.csv"
    path.write_bytes(out.getvalue().encode())
    try:
        veiled = through(seeded, path, "csv", columns=("the text",))
    except InputError:
        assert raw or "the text" in others or any(mark in "".join(others) for mark in ";|\t")
        return
    assert b"canary" not in veiled
    assert parsed(veiled)[0] == parsed(path.read_bytes())[0]


@pytest.mark.parametrize("kernels", [None, "off"])
@relaxed
@given(
    rows=st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.lists(st.text('a,;"\r\n \t|é', max_size=6), min_size=width, max_size=width), min_size=1, max_size=4
        )
    ),
    delimiter=st.sampled_from(",;\t|"),
)
def test_rows_are_written_as_the_csv_module_writes_them(
    tmp_path: Path, idle: Veils, through: Any, kernels: str | None, rows: list[list[str]], delimiter: str
) -> None:
    header = [f"column {n}" for n in range(len(rows[0]))]
    given, wanted = io.StringIO(newline=""), io.StringIO(newline="")
    csv.writer(given, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    csv.writer(wanted, delimiter=delimiter).writerows(rows)
    path = tmp_path / "in.csv"
    first = f"sep={delimiter}\r\n"  # a table of one column says it nowhere else
    path.write_bytes((first + given.getvalue()).encode())
    with kernels_as(kernels):
        out = through(idle, path, "csv", columns=(header[-1],)).decode()
    assert out.removeprefix(first).partition("\r\n")[2] == wanted.getvalue()


@contextmanager
def kernels_as(kind: str | None) -> Iterator[None]:
    """Choose the compiled code that runs; None leaves the choice as it is."""
    with pytest.MonkeyPatch.context() as patch:
        if kind:
            patch.setenv(SWITCH, kind)
        yield


def rewritten(texts: Texts, change: Callable[[str], str]) -> Texts:
    """Put a new text in the place of each."""
    parts, bounds, at = list[bytes](), list[int](), 0
    for text, start, end in zip(texts, texts.starts.tolist(), texts.ends.tolist(), strict=True):
        parts += (texts.data[at:start], change(text).encode())
        bounds.append(sum(map(len, parts)))
        at = end
    ends = np.array(bounds, dtype=np.int64)
    starts = ends - np.array([len(part) for part in parts[1::2]], dtype=np.int64)
    return Texts(b"".join(parts) + texts.data[at:], starts, ends)


def taken(path: Path, reading: Reading, change: Callable[[str], str], kernels: str | None) -> list[Any]:
    """Return all that is seen of a table, and is written of it, block by block; the last may be a fault."""
    seen = list[Any]()
    with kernels_as(kernels):
        try:
            with format_named("csv").open_reader(path, reading) as reader:
                seen.append(reader.preamble)
                for block in reader.blocks():
                    texts = block.together()
                    new = rewritten(texts, change)
                    assert block.render_together(new) == block.render(
                        [Plain(change(str(text))) for text in block.texts()]
                    )
                    assert isinstance(block, TableBlock)
                    seen += (block.end, list(texts), block.sizes.tolist(), block.records, block.columns())
                    seen.append(block.render_together(new))
        except (InputError, OptionError) as error:
            seen.append((type(error), str(error)))
    return seen


class Plain(NamedTuple):
    text: str


CHANGES: list[Callable[[str], str]] = [
    str,
    lambda text: text[::-1],
    lambda text: text[:0],
    lambda text: f'é"{text}\r',
    str.upper,
]
SIGNS = [
    "a",
    "b c",
    "é",
    '"',
    '""',
    '"x"',
    ",",
    ";",
    "|",
    "\t",
    ":",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\x0b",
    "\u2028",
    "\n\n",
    "😀",
]


@st.composite
def raw_tables(draw: st.DrawFn) -> bytes:
    """Make tables as people write them, most of them whole, and some that are not."""
    delimiter = draw(st.sampled_from(",;|\t: ^]-"))
    width = draw(st.integers(1, 4))
    said = f"sep={delimiter}\n" if delimiter not in ",;|\t" or draw(st.booleans()) else ""
    mark = draw(st.sampled_from(["", "\ufeff"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    signs = st.lists(st.sampled_from(SIGNS), max_size=5).map("".join)
    bare = st.text("ab é'.", max_size=5)
    quoted = signs.map(lambda text: '"' + text.replace('"', '""') + '"')
    cell = st.one_of(bare, quoted, signs) if draw(st.integers(0, 3)) == 0 else st.one_of(bare, quoted)
    rows = st.lists(cell, min_size=width, max_size=width).map(delimiter.join)
    lines = draw(st.lists(st.one_of(rows, rows, rows, st.just("")), max_size=12))
    header = delimiter.join(["text", "b", "c", "d"][:width])
    whole = mark + said + end.join([header, *lines]) + draw(st.sampled_from([end, "", "\r", '"']))
    return whole.encode()


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@settings(relaxed, max_examples=400)
@given(
    raw=raw_tables(),
    columns=st.sampled_from([("text",), ("b",), ("c", "text"), ("d", "c", "b")]),
    words=st.integers(1, 12),
    change=st.sampled_from(CHANGES),
)
@example(raw=b'text\n"a\nb"', columns=("text",), words=1, change=str)
@example(raw=b'text,b\n"a\n""b\n""",c\r\n\r\r\n"d",""\r', columns=("text",), words=1, change=str)
@example(raw=b'text,b\na"b"c,d"\n,\n', columns=("b",), words=1, change=str)
def test_compiled_code_gives_what_python_gives(
    tmp_path: Path, raw: bytes, columns: tuple[str, ...], words: int, change: Callable[[str], str]
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(raw)
    reading = Reading(columns=columns, batch_words=words)
    assert taken(path, reading, change, None) == taken(path, reading, change, "off")


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ends_in_quotes", (b"a,b\n", 5, ord(","), False)),
        ("ends_in_quotes", (b"a,b\n", 4, ord('"'), False)),
        ("cut_table", (b"a,b\n", 4, 0x2028, 2, np.array([0]), 1, np.zeros(1, int), np.zeros(1, int), 1)),
        ("cut_table", (b"a,b\n", 4, ord(","), 2, np.array([0]), 2, np.zeros(1, int), np.zeros(1, int), 1)),
        ("cut_table", (b"a,b\n", 4, ord(","), 2, np.array([0]), 1, np.zeros(1, int), np.zeros(1, int), 2)),
        ("quote_cells", (b"ab", 2, np.array([1]), np.array([0]), 1, ord(","), False)),
        ("quote_cells", (b"ab", 2, np.array([0]), np.array([3]), 1, ord(","), False)),
        ("quote_cells", (b"ab", 2, np.array([0, 0]), np.array([1, 2]), 2, ord(","), False)),
        ("quote_cells", (b"ab", 2, np.array([-1]), np.array([1]), 1, ord(","), False)),
        ("quote_cells", (b"ab", 2, np.array([0]), np.array([1]), -1, ord(","), False)),
    ],
)
def test_compiled_code_refuses_what_does_not_fit_together(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, MemoryError)):
        getattr(compiled(), name)(*arguments)


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_more_texts_than_there_is_room_for_are_left_to_python() -> None:
    starts, ends = np.zeros(1, int), np.zeros(1, int)
    native = compiled()
    assert native is not None
    assert native.cut_table(b"a\nb\n", 4, ord(","), 1, np.array([0]), 1, starts, ends, 1) is None
    assert native.cut_table(b"a\n\n", 3, ord(","), 1, np.array([0]), 1, starts, ends, 1) == (b"a\n\n", 1)


FAULTS = {
    "ragged": b"1,2,3\n",
    "bad marks": b'1,"a"b\n',
    "bytes": b"1,\xff\n",
    "zero": b"1,\0\n",
    "open": b'1,"never closed\n',
    "fine": b"1,fine\n",
    "long": b'1,"a\n' + b"b\n" * 300 + b'c"\n',
}


@pytest.mark.parametrize("batch_words", [1, 40, 1 << 18])
def test_the_same_fault_is_told_with_and_without_compiled_code(tmp_path: Path, batch_words: int) -> None:
    path, reading = tmp_path / "in.csv", Reading(("text",), batch_words=batch_words)
    for first, second, third in itertools.product(FAULTS, repeat=3):
        path.write_bytes(b"id,text\n" + FAULTS[first] + FAULTS[second] + FAULTS["fine"] * 30 + FAULTS[third])
        told = list[int | str]()
        for kernels in (None, "off"):
            try:
                with kernels_as(kernels), format_named("csv").open_reader(path, reading) as reader:
                    told.append(sum(len(block.records) for block in reader.blocks()))
            except InputError as error:  # noqa: PERF203 - a few
                told.append(str(error))
        assert told[0] == told[1], (first, second, third)


def test_a_quotation_mark_that_is_never_closed_is_found_in_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'id,text\n8,"never closed\n' + b"7,the river and the harbour were quiet\n" * 250_000)
    spent = {}
    for kernels in (None, "off"):
        with kernels_as(kernels), format_named("csv").open_reader(path, Reading(("text",))) as reader:
            begun = time.process_time()
            with pytest.raises(InputError):
                list(reader.blocks())
            spent[kernels] = time.process_time() - begun
    assert compiled() is None or spent[None] < spent["off"] / 3
