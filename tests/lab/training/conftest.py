"""A small WordNet, in the form of its database files."""

from __future__ import annotations

from pathlib import Path

import pytest

LICENCE = "  1 This software and database is being provided to you.  \n  2 WordNet 3.0 Copyright.  \n"

# synset: (words, parents); the words of a synset with its commonest one first
NOUNS: dict[int, tuple[list[str], list[tuple[str, int]]]] = {
    1: (["entity"], []),
    2: (["object"], [("@", 1)]),
    3: (["animal", "beast"], [("@", 2)]),
    4: (["domestic_animal"], [("@", 3)]),
    5: (["dog", "domestic_dog"], [("@", 4)]),
    6: (["cat"], [("@", 4)]),
    7: (["poodle"], [("@", 5)]),
    8: (["Rex"], [("@i", 5)]),
    9: (["dog", "cad"], [("@", 2)]),
    10: (["dogs"], [("@", 2)]),
}
VERBS: dict[int, tuple[list[str], list[tuple[str, int]]]] = {
    1: (["move", "go"], []),
    2: (["run"], [("@", 1)]),
    3: (["dog", "chase"], [("@", 1)]),
    4: (["be"], []),
}
COUNTS = "dog%1:05:00:: 1 42\ndog%1:18:00:: 2 3\ndog%2:38:00:: 1 5\nrun%2:38:00:: 1 106\ncat%1:05:00:: 1 18\n"


def write_part(folder: Path, part: str, synsets: dict[int, tuple[list[str], list[tuple[str, int]]]]) -> None:
    letter = part[0]
    lines: list[str] = [LICENCE]
    senses: dict[str, list[int]] = {}
    for offset, (words, parents) in synsets.items():
        listed = " ".join(f"{word} 0" for word in words)
        pointers = " ".join(f"{kind} {to:08d} {letter} 0000" for kind, to in parents)
        lines.append(
            f"{offset:08d} 05 {letter} {len(words):02x} {listed} {len(parents):03d} {pointers} | a meaning  \n"
        )
        for word in words:
            senses.setdefault(word.lower(), []).append(offset)
    (folder / f"data.{part}").write_text("".join(lines), encoding="utf-8")
    index = [
        f"{word} {letter} {len(offsets)} 1 @ {len(offsets)} 0 {' '.join(f'{o:08d}' for o in offsets)}  \n"
        for word, offsets in sorted(senses.items())
    ]
    (folder / f"index.{part}").write_text(LICENCE + "".join(index), encoding="utf-8")


@pytest.fixture(scope="session")
def wordnet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wordnet")
    write_part(folder, "noun", NOUNS)
    write_part(folder, "verb", VERBS)
    (folder / "cntlist.rev").write_text(COUNTS, encoding="utf-8")
    (folder / "noun.exc").write_text("men man\n", encoding="utf-8")
    (folder / "verb.exc").write_text("ran run\n", encoding="utf-8")
    return folder
