"""WordNet's files, and the pairs that come out of them."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from benchmarks.hierarchy import relation

from wordveil.errors import FileError, InputError
from wordveil.lab.training import Pairs, Synset, WordNet, synset_pairs, word_pairs
from wordveil.text.lookup import BaseForms


def named(pairs: Pairs) -> set[tuple[str, str]]:
    return {(pairs.names[c], pairs.names[p]) for c, p in zip(pairs.child, pairs.parent, strict=True)}


def test_synsets_senses_and_ancestors(wordnet_folder: Path) -> None:
    wordnet = WordNet(wordnet_folder)
    dog = Synset("noun", 5)
    assert wordnet.lemmas(dog) == ("dog", "domestic_dog")
    assert wordnet.parents(Synset("noun", 8)) == (dog,)
    assert wordnet.ancestors(Synset("noun", 7)) == {Synset("noun", n) for n in (1, 2, 3, 4, 5)}
    assert wordnet.senses("dog") == [dog, Synset("noun", 9), Synset("verb", 3)]
    assert wordnet.by_frequency("dog") == [dog, Synset("verb", 3), Synset("noun", 9)]
    assert wordnet.senses("unheard") == []
    assert {"dog", "rex", "run", "domestic_animal"} <= wordnet.words
    assert wordnet.notice.splitlines() == [
        "This software and database is being provided to you.",
        "WordNet 3.0 Copyright.",
    ]


def test_names(wordnet_folder: Path) -> None:
    wordnet = WordNet(wordnet_folder)
    assert wordnet.name(Synset("noun", 9)) == "dog.n.02"


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [
        ("dog", "dog", "same"),
        ("animal", "beast", "synonym"),
        ("poodle", "animal", "hypernym"),
        ("animal", "poodle", "hyponym"),
        ("dog", "cat", "co-hyponym"),
        ("poodle", "cat", "unrelated"),
        ("poodle", "run", "unrelated"),
    ],
)
def test_relations(word: str, other: str, expected: str, wordnet_folder: Path) -> None:
    assert relation(WordNet(wordnet_folder), word, other) == expected


def test_gzipped_files_and_missing_ones(wordnet_folder: Path, tmp_path: Path) -> None:
    for name in ("data.noun", "index.noun"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((wordnet_folder / name).read_bytes()))
    nouns = WordNet(tmp_path)
    assert len(nouns.synsets("noun")) == 10
    assert nouns.by_frequency("dog") == [Synset("noun", 5), Synset("noun", 9)]
    with pytest.raises(FileError, match=r"data\.verb"):
        nouns.synsets("verb")
    with pytest.raises(FileError):
        WordNet(tmp_path / "nowhere")


@pytest.mark.parametrize("line", ["00000001 05 n zz entity 0 000 | x\n", "what\n", "00000003 05 n 01 x 0 001 @\n"])
def test_damaged_files_are_told_by_line(line: str, wordnet_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(wordnet_folder, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "data.noun").open("a", encoding="utf-8") as out:
        out.write(line)
    with pytest.raises(InputError, match=r"data\.noun, line 13"):
        WordNet(tmp_path).synsets("noun")


def test_circles_are_told(wordnet_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(wordnet_folder, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "data.noun").open("a", encoding="utf-8") as out:
        out.write(
            "00000020 05 n 01 hen 0 001 @ 00000021 n 0000 | x\n00000021 05 n 01 egg 0 001 @ 00000020 n 0000 | x\n"
        )
    with pytest.raises(InputError):
        WordNet(tmp_path).ancestors(Synset("noun", 20))


def test_the_closure_of_synsets(wordnet_folder: Path) -> None:
    pairs = synset_pairs(WordNet(wordnet_folder))
    assert len(pairs.names) == 10
    assert len(pairs) == 1 + 2 + 3 + 4 + 4 + 5 + 5 + 2 + 2
    assert ("poodle.n.01", "entity.n.01") in named(pairs)
    assert len(pairs.closed()) == len(pairs)
    both = synset_pairs(WordNet(wordnet_folder), ("noun", "verb"))
    assert ("run.v.01", "move.v.01") in named(both)


def test_pairs_of_words(wordnet_folder: Path) -> None:
    vocabulary = ["the", "run", "dog", "dogs", "poodle", "rex", "animal", "beast", "entity", "move", "be", "moon"]
    wordnet = WordNet(wordnet_folder)
    pairs = word_pairs(wordnet, vocabulary, leave_out=["the"], bases=BaseForms(wordnet_folder).of)
    words = pairs.names[: len(pairs.names) - pairs.hidden]
    # "dogs" is a form of the commoner "dog", "be" is related to nothing, "moon" is unknown
    assert words == ["run", "dog", "poodle", "rex", "animal", "beast", "entity", "move"]
    assert pairs.names[len(words) :] == ["(object.n.01)", "(domestic_animal.n.01)"]
    found = named(pairs)
    assert {("poodle", "dog"), ("rex", "dog"), ("dog", "animal"), ("dog", "beast"), ("animal", "beast")} <= found
    assert {("beast", "animal"), ("run", "move"), ("dog", "(domestic_animal.n.01)")} <= found
    assert not any("dogs" in pair for pair in found)
    only_verbs = word_pairs(wordnet, vocabulary, parts=["verb"])
    assert set(only_verbs.names) == {"run", "move"}


def test_a_word_alone_in_its_commonest_meaning_takes_the_next(tmp_path: Path, wordnet_folder: Path) -> None:
    shutil.copytree(wordnet_folder, tmp_path, dirs_exist_ok=True)
    for name, line in (
        ("data.verb", "00000009 05 v 01 cat 0 000 | to be alone\n"),
        ("index.verb", "cat v 1 0 1 0 00000009\n"),
        ("cntlist.rev", "cat%2:38:00:: 1 99\n"),
    ):
        with (tmp_path / name).open("a", encoding="utf-8") as out:
            out.write(line)
    wordnet = WordNet(tmp_path)
    assert wordnet.by_frequency("cat")[0].part == "verb"
    assert ("cat", "animal") in named(word_pairs(wordnet, ["cat", "animal"]))
