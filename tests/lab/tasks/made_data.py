"""Small data sets of the same form as the real ones, with sentences made of a few words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordveil.spaces import EuclideanSpace, Vocabulary

DIMENSION = 8
TOPICS = 4
WORDS_A_TOPIC = 15


def topic_space(seed: int = 0) -> EuclideanSpace:
    """Words in well separated topics: word number i is of topic i // WORDS_A_TOPIC."""
    generator = np.random.default_rng(seed)
    centres = np.eye(TOPICS, DIMENSION) * 6
    vectors = (
        np.repeat(centres, WORDS_A_TOPIC, axis=0) + generator.normal(size=(TOPICS * WORDS_A_TOPIC, DIMENSION)) * 0.5
    )
    return EuclideanSpace("topics", Vocabulary([word(number) for number in range(len(vectors))]), vectors)


def word(number: int) -> str:
    return "q" + "".join(chr(97 + int(digit)) for digit in str(number))


#: A toy vocabulary, that of `topic_space`.
TOY = tuple(word(number) for number in range(TOPICS * WORDS_A_TOPIC))

#: Frequent words of both bundled spaces, for experiments that open those.
COMMON = tuple(
    word
    for topic in (
        "two first year people percent last government time world three president state million city national",
        "day country second company group china four war south american minister police team international week",
        "high part end former make billion work home school party house old get tuesday news",
        "long five wednesday military way monday thursday friday game take north security season york public",
    )
    for word in topic.split()
)


def sentence(topic: int, generator: np.random.Generator, length: int = 8, words: Sequence[str] = TOY) -> str:
    return " ".join(words[topic * WORDS_A_TOPIC + int(place)] for place in generator.integers(0, WORDS_A_TOPIC, length))


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())


def make_data(folder: Path, examples: int = 40, words: Sequence[str] = TOY) -> Path:
    """Write every data set that the tasks read."""
    generator = np.random.default_rng(1)

    def lines(topic: int, count: int = examples) -> list[str]:
        return [sentence(topic, generator, words=words) for _ in range(count)]

    for name, first, second in (
        ("MR", "rt-polarity.neg", "rt-polarity.pos"),
        ("CR", "custrev.neg", "custrev.pos"),
        ("MPQA", "mpqa.neg", "mpqa.pos"),
        ("SUBJ", "subj.objective", "subj.subjective"),
    ):
        for topic, file in enumerate((first, second)):
            write(folder, f"senteval/{name}/{file}", "\n".join(lines(topic)) + "\n")
    for part in ("train", "test"):
        for variant, count in (("binary", 2), ("fine", 4)):
            rows = [f"{topic} {line}" for topic in range(count) for line in lines(topic, 15)]
            write(folder, f"senteval/SST/stsa.{variant}.{part}", "\n".join(rows))
        rows = [
            f"{label}:fine {line} ?" for topic, label in enumerate(("ABBR", "DESC", "LOC")) for line in lines(topic)
        ]
        write(folder, f"senteval/TREC6/TREC.{part}", "\n".join(rows))
    _pairs(folder, words)
    _requests(folder, words)
    rows = ["text,label,source"] + [f'"{line}<br />",{topic},imdb' for topic in (0, 1) for line in lines(topic)]
    write(folder, "imdb/combined_movie_reviews.csv.gz", "\n".join([*rows, "other,1,rotten_tomatoes"]))
    rows = ["split\tdomain\tquestion\tanswers"]
    rows += [
        f"{part}\tdomain{topic}\t{line}\t1"
        for part in ("train", "valid", "test")
        for topic in (0, 1)
        for line in lines(topic)
    ]
    write(folder, "insuranceqa/insuranceqa_v2_questions.tsv", "\n".join(rows))
    for name in ("EN-MEN-TR-3k", "EN-SIMLEX-999", "EN-SimVerb-3500", "EN-WS-353-ALL"):
        rows = [f"{words[0]}\t{words[place]}\t{9.0 if place < WORDS_A_TOPIC else 1.0}" for place in range(1, 60)]
        write(folder, f"word-similarity/{name}.txt", "\r\n".join(rows))
    rows = ["\t".join(["kind", words[WORDS_A_TOPIC + place], *words[place : place + 4]]) for place in range(10)]
    write(folder, "odd-man-out/crowdsourced_filtered.tsv", "\n".join([*rows, "kind\tshort\tline"]))
    for author in ("Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes"):
        home, topics = f"pang-lee-scale/{author}", [topic for topic in range(3) for _ in range(10)]
        write(folder, f"{home}/label.3class.{author}", "\n".join(map(str, topics)))
        texts = [sentence(topic, generator, words=words) for topic in topics]
        write(folder, f"{home}/subj.{author}.gz", "\n".join(texts))
    return folder


def _pairs(folder: Path, words: Sequence[str]) -> None:
    generator = np.random.default_rng(2)

    def pair(alike: bool) -> tuple[str, str]:
        topic = int(generator.integers(0, TOPICS))
        other = topic if alike else (topic + 1) % TOPICS
        return sentence(topic, generator, words=words), sentence(other, generator, words=words)

    for part in ("train", "trial", "test_annotated"):
        rows = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        for number in range(60):
            first, second = pair(number % 2 == 0)
            rows.append(f"{number}\t{first}\t{second}\t4.5\t{'ENTAILMENT' if number % 2 == 0 else 'NEUTRAL'}")
        write(folder, f"senteval/SICK/SICK_{part}.txt", "\r\n".join(rows))
    for part in ("train", "val", "test"):
        rows = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for number in range(60):
            first, second = pair(number % 2 == 0)
            rows.append(f"{int(number % 2 == 0)}\t1\t2\t{first}\t{second}")
        write(folder, f"senteval/MRPC/msr-para-{part}.tsv", "\n".join(rows))
    for year in range(2012, 2017):
        for name in ("one", "two"):
            rows = []
            for number in range(30):
                first, second = pair(number % 2 == 0)
                rows.append(f"{5.0 if number % 2 == 0 else 0.5}\t{first}\t{second}")
            rows.append("\tunrated pair\tunrated pair")
            write(folder, f"sts/semeval-sts/{year}/{name}.test.tsv", "\n".join(rows))
    rows = []
    for number in range(30):
        first, second = pair(number % 2 == 0)
        rows.append(f'"{first}",{second},{5.0 if number % 2 == 0 else 0.5}')
    write(folder, "sts/stsb/stsb-en-test.csv", "\n".join(rows))


def _requests(folder: Path, words: Sequence[str]) -> None:
    generator = np.random.default_rng(3)
    intents = (
        "AddToPlaylist", "BookRestaurant", "GetWeather", "PlayMusic", "RateBook", "SearchCreativeWork",
        "SearchScreeningEvent",
    )  # fmt: skip
    for number, intent in enumerate(intents):
        for kind, ending, count in (("train", "_full", 20), ("validate", "", 5)):
            held = []
            for _ in range(count):
                text = sentence(number % TOPICS, generator, words=words)
                held.append({"data": [{"text": text[:10]}, {"text": text[10:], "entity": "thing"}]})
            write(folder, f"snips/{intent}/{kind}_{intent}{ending}.json", json.dumps({intent: held}))


def mail(name: str, author: str | None, body: str | None) -> str:
    """Write a text of a file of PAN 2011: with its author, its body, or both."""
    inside = "" if author is None else f' <author id="{author}"/>\n'
    inside += "" if body is None else f"  <body>\n\n{body}\n</body>\n"
    return f'<text file="Some//{name}.xml">\n{inside}</text>\n'


def make_corpora(folder: Path, words: Sequence[str] = COMMON) -> Path:
    """Write the texts by author, the hierarchies and the dictionary that experiments read beside the tasks."""
    generator = np.random.default_rng(4)

    def said(person: int) -> str:
        return sentence(person % TOPICS, generator, 12, words)

    def letters(persons: int, each: int) -> str:
        return "".join(mail(f"{who}-{one}", f"x{who}", said(who)) for who in range(persons) for one in range(each))

    write(folder, "pan11/SmallTrain.xml", f"<training>\n{letters(8, 8)}</training>")
    write(folder, "pan11/LargeTrain.xml", f"<training>\n{letters(12, 6)}</training>")
    write(folder, "pan11/SmallTest+.xml", "".join(mail(f"t{who}", None, said(who)) for who in range(8)))
    write(folder, "pan11/GroundTruthSmallTest+.xml", "".join(mail(f"t{who}", f"x{who}", None) for who in range(8)))
    for number, author in enumerate(("Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes")):
        write(folder, f"pang-lee-scale/{author}/subj.{author}.gz", "\n".join(said(number) for _ in range(10)))
        write(folder, f"pang-lee-scale/{author}/label.3class.{author}", "\n".join(str(one % 3) for one in range(10)))
    for year in range(8):
        address = {"name": f"President {year % 2}", "text": said(year % 2)}
        write(folder, f"sotu/{1800 + year}.json", json.dumps(address))
    kinds = {words[0]: words[2:12], words[1]: words[12:22]}
    pairs = [(one, kind) for kind, own in kinds.items() for one in own] + [(one, words[1]) for one in words[2:12]]
    write(folder, "hearst/hearst_counts.txt.gz", "".join(f"{one}\t{kind}\t9\n" for one, kind in pairs))
    steps = "".join(f"{one}\t{kind}\n" for one, kind in pairs)
    write(folder, "wordnet/derived/direct_singleword_in_glove.tsv.gz", steps)
    return folder
