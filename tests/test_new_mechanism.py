"""A mechanism is its class and one `wordveil.register`: every command and every route then takes it by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil
from tests.attacks.doubles import texts_of
from tests.lab.tasks.made_data import make_data, topic_space
from tests.service.conftest import running
from wordveil import Entropy, Guarantee, Mechanism, Notion, Space, Veil
from wordveil._mechanisms import MECHANISMS, ExponentialMechanism
from wordveil.cli.main import main
from wordveil.client import Client
from wordveil.service import Settings
from wordveil.spaces.space import Ids, Rows


class Falling(ExponentialMechanism[Space]):
    """States its probabilities, which fall with the distance."""

    name, summary = "falling", "draws a near word more often than a far one"
    in_brief, source = "ε per unit of distance", "a test"

    def log_weights(self, ids: Ids) -> Rows:
        return np.asarray(-0.5 * self.epsilon * self.space.distances(ids))

    @property
    def guarantee(self) -> Guarantee:
        return self.make_guarantee()


class Answer(Mechanism[Space]):
    """Randomised response, which states nothing of its probabilities: they are counted."""

    name, family, summary = "answer", "draws any word", "keeps a word, or draws any word of the space"
    in_brief, source = "ε for every two words", "Warner 1965"

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        entropy = entropy or Entropy()
        rest = np.expm1(self.epsilon) / (np.expm1(self.epsilon) + len(self.space))
        keeps = entropy.uniform(len(ids)) < rest
        return np.where(keeps, ids, entropy.below(np.full(len(ids), len(self.space))))

    @property
    def guarantee(self) -> Guarantee:
        return self.make_guarantee(Notion.APPROXIMATE)


class Liar(Falling):
    """Promises a tenth of what it reveals."""

    name = "liar"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(Notion.METRIC, self.epsilon / 10, self.space.metric, self.space.unit)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(MECHANISMS)
    for kind in (Falling, Answer, Liar):
        wordveil.register(kind)
    yield
    MECHANISMS.clear()
    MECHANISMS.update(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make data sets, a space of their words, and texts of these words by two authors."""
    folder = make_data(tmp_path_factory.mktemp("data"))
    space = topic_space()
    words = space.vocabulary.words
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, space.matrix.tolist(), strict=True))
    (folder / "topics.txt").write_text("\n".join(rows) + "\n")
    for seed, name in enumerate(("private.txt", "public.txt")):
        (folder / name).write_text("\n".join(texts_of(words, 40, 8, seed)) + "\n")
    half = np.repeat([0.9, 0.1], len(words) // 2) / (len(words) // 2)
    written = [(a, text) for a, p in (("a", half), ("b", half[::-1])) for text in texts_of(words, 16, 25, ord(a), p)]
    (folder / "mail.csv").write_text("author,text\n" + "".join(f"{author},{text}\n" for author, text in written))
    return folder


Run = Callable[..., Any]


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder, and return what it tells as JSON."""
    monkeypatch.chdir(folder)

    def run(*arguments: str, code: int = 0) -> Any:
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--json"])
        out, err = capfd.readouterr()
        assert (left.value.code or 0) == code, err
        return json.loads(out)

    return run


SPACE = ("--space", "topics.txt")
each = pytest.mark.parametrize(("name", "epsilon", "exact"), [("falling", "1", True), ("answer", "3", False)])


@each
def test_what_it_does_to_words(name: str, epsilon: str, exact: bool, run: Run) -> None:
    asked = ("--mechanism", name, *SPACE)
    assert name in {one["name"] for one in run("mechanisms")}
    facts = run("explain", "qb", *asked, "--epsilon", epsilon)
    assert (facts["mechanism"], facts["exact"]) == (name, exact)
    assert facts["outputs"][0]["word"] == "qb"
    found = run("calibrate", *asked, "--adversary", "0.3", "--points", "3", "--quiet")
    at = next(one for one in found["measurements"] if one["epsilon"] == found["recommended_epsilon"])
    assert at["adversary"]["uniform"]["value"] <= 0.3


@each
def test_what_an_attacker_learns(name: str, epsilon: str, exact: bool, run: Run) -> None:
    asked = ("--mechanism", name, *SPACE, "--epsilon", epsilon, "--seed", "1", "--quiet")
    public = ("--reference", "public.txt")
    (rates,) = run("attack", "bayes", "private.txt", *asked, *public)["results"]
    assert rates["exact"] is exact
    assert 0.05 < rates["best"]["value"] < 0.95
    (rates,) = run("attack", "sentence", "private.txt", *asked, *public)["results"]
    assert 0.05 < rates["in_context"]["value"] < 0.95


@each
def test_how_useful_it_leaves_texts(name: str, epsilon: str, exact: bool, run: Run) -> None:
    told = ("--task", "trec6", "--level", "0.3", "--draws", "3000", "--repeats", "1", "--quiet")
    found = run("compare", "--data", ".", *SPACE, "-m", name, *told)
    (point,) = found["points"]
    assert (point["mechanism"], set(point["shares"])) == (name, {"TREC-6"})
    assert point["adversary"] == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize(
    ("name", "epsilon", "verdict"), [("falling", "1", "holds"), ("answer", "3", "holds"), ("liar", "1", "broken")]
)
def test_whether_it_keeps_its_promise(name: str, epsilon: str, verdict: str, run: Run) -> None:
    asked = ("--mechanism", name, *SPACE, "--epsilon", epsilon, "--draws", "5000", "--repeat")
    (found,) = run("audit", *asked, code=int(verdict == "broken"))
    assert (found["mechanism"], found["verdict"]) == (name, verdict)


@each
def test_veiling(name: str, epsilon: str, exact: bool, folder: Path, tmp_path: Path) -> None:
    release = Veil(name, epsilon=float(epsilon), space=folder / "topics.txt", select="all")("qa qb")
    assert release.counts.drawn == 2
    written = tmp_path / "veiled.txt"
    asked = ("--mechanism", name, "--space", str(folder / "topics.txt"), "--epsilon", epsilon, "--workers", "2")
    with pytest.raises(SystemExit) as left:
        main(["privatize", str(folder / "private.txt"), *asked, "--output", str(written), "--quiet"])
    assert not left.value.code
    assert len(written.read_text().splitlines()) == 40


def test_the_routes(folder: Path) -> None:
    settings = Settings(spaces=(str(folder / "topics.txt"),), mechanisms=("falling", "answer"))
    with running(settings) as service:
        client = Client(service.address)
        listed = {one["name"]: one for one in client.call("/v1/mechanisms")}
        assert set(listed) == {"falling", "answer"}
        assert all(not one["unproven"] and "vectors" in one["kinds"] for one in listed.values())
        for name, epsilon in (("falling", 1.0), ("answer", 3.0)):
            chosen = {"mechanism": name, "epsilon": epsilon}
            assert client.call("/v1/words", {"word": "qb", **chosen})["stays"] > 0.05
            assert service.get(f"/v1/words/qb?mechanism={name}&epsilon={epsilon}").status == 200
            veiled = service.post("/v1/privatize", {"text": "qa qb", "select": "all", **chosen}).json
            assert veiled["counts"]["drawn"] == 2
            streamed = service.call(
                "POST",
                f"/v1/privatize/stream?mechanism={name}&epsilon={epsilon}",
                b'{"text": "qa qb"}\n',
                content_type="application/x-ndjson",
            )
            assert len(json.loads(streamed.body)["replacements"]) == 2
            assert service.get(f"/v1/tradeoffs?mechanism={name}").json["points"] == []
        # In a process of its own, which has registered nothing.
        found = client.calibrate(mechanism="falling", epsilons=[1.0], words=20, adversary_words=60)
        assert [one["epsilon"] for one in found["measurements"]] == [1.0]
