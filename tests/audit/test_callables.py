"""Anybody's callable: what is wrong is convicted, what is right is not, and what cannot be told is said."""

from __future__ import annotations

import json
import math
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from tests.audit import named
from tests.audit.callables import EPSILON, FAULTY, HONEST, LOCAL, SPACE, SUBTLE, Double, exponential, response
from wordveil import mechanism
from wordveil.audit import CHECKS, Claim, Command, Endpoint, Program, Report, TableSpace, Target, audit_callable, replay
from wordveil.audit import cases as cases_module
from wordveil.errors import FileError, InputError, OptionError

NAMED = "tests.audit.named"
FOUR = Claim(TableSpace({(a, b): 1.0 for a in named.WORDS for b in named.WORDS if a < b}), epsilon=0.8)
BESIDE_WORDS = [check for check in CHECKS if check not in ("words", "raw", "repeats")]


MANY = 4000  # draws


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_module, "PAUSE", 0.0)  # the doubles' clock is their own


def audit(double: Double, seed: int = 1, **how: Any) -> Report:
    settings: dict[str, Any] = {"draws": double.draws, "seconds": 3600.0, "repeat": True, "seed": seed, **how}
    return audit_callable(double.make(seed), double.claim, takes=double.takes, **settings)


@pytest.mark.parametrize("name", HONEST)
def test_what_is_right_is_not_convicted(name: str) -> None:
    report = audit(HONEST[name])
    assert report.verdict == "holds as far as seen"
    assert report.worst is not None
    assert not report.worst.breaks
    assert "no proof" in report.sentence()


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_wrong_is_convicted(name: str) -> None:
    beside = BESIDE_WORDS if FAULTY[name].draws > MANY else ()  # what takes many draws is in the words themselves
    report = audit(FAULTY[name], skip=beside)
    assert report.verdict == "broken"
    assert report.worst is not None
    assert report.worst.measured > report.worst.allowed
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["verdict"] == "broken"


def test_false_convictions_are_as_rare_as_stated() -> None:
    double, seeds, error = (
        HONEST["randomised response, which loses all that is claimed"],
        60,
        0.2,
    )  # it loses all that its claim allows
    convicted = sum(
        audit(double, seed, draws=300, error=error, skip=[*BESIDE_WORDS, "raw"]).verdict == "broken"
        for seed in range(seeds)
    )
    assert convicted <= scipy.stats.binom.ppf(0.99, seeds, error)


def test_what_is_too_subtle_is_never_said_to_be_proved() -> None:
    report = audit(SUBTLE["probabilities of two decimals"], draws=2000, skip=BESIDE_WORDS)
    assert report.verdict == "holds as far as seen"
    assert "no proof" in report.sentence()


def test_most_draws_go_to_the_most_promising_pair() -> None:
    report = audit(FAULTY["the nearest few words"], draws=1000, skip=[*BESIDE_WORDS, "raw", "repeats"])
    assert sorted(one.trials[0] for one in report.findings) == [1000, 1000, 2000, 4000]


def test_bounds_come_near_the_truth() -> None:
    report = audit(Double(response, claim=LOCAL), draws=10_000, skip=[*BESIDE_WORDS, "raw"])
    assert report.worst is not None
    assert 0.8 < report.worst.measured <= 1.0


def test_what_each_check_finds_is_said() -> None:
    found = audit(FAULTY["the word beside"])
    assert any("beside" in remark for remark in found.remarks)
    found = audit(FAULTY["the word before"])
    assert any("before" in remark for remark in found.remarks)
    found = audit(HONEST["texts"])
    assert found.remarks == []
    assert {"restarts", "forks", "sessions"} <= set(found.unchecked)


@pytest.mark.parametrize("name", ["exponential", "gaussian"])  # one for all pairs, one for near ones with a δ
def test_a_mechanism_of_ours_keeps_its_own_claim_and_no_smaller_one(name: str) -> None:
    made = mechanism(name, SPACE, epsilon=2 * EPSILON)

    def veil(words: list[str]) -> list[str]:
        ids = np.array([SPACE.vocabulary.ids.get(word, 0) for word in words])
        return [SPACE.vocabulary[place] for place in made.draw(ids).tolist()]

    how: dict[str, Any] = {"takes": "words", "draws": 3000, "repeat": True, "skip": BESIDE_WORDS}
    assert audit_callable(veil, Claim.of(made), **how).verdict == "holds as far as seen"
    assert audit_callable(veil, Claim(SPACE, 0.3), **how).verdict == "broken"


class Slow(Target):
    """An honest one whose calls take as long as a word says, by a clock of its own."""

    def __init__(self, slow: float) -> None:
        super().__init__("slow", "word")
        self._draw, self._slow, self._noise = exponential(3), slow, random.Random(4)

    def call(self, texts: Sequence[str]) -> list[Any]:
        return [self._draw(text) for text in texts]

    def timed(self, texts: Sequence[str]) -> tuple[list[Any], list[float]]:
        took = [0.005 + self._noise.expovariate(1000) + self._slow * (len(text) < 4) for text in texts]
        return self.call(texts), took


@pytest.mark.parametrize(
    ("slow", "verdict"), [(0.0, "holds as far as seen"), (0.0003, "holds as far as seen"), (0.02, "broken")]
)
def test_time_that_tells_a_word_convicts(slow: float, verdict: str) -> None:
    report = audit_callable(Slow(slow), Claim(SPACE, EPSILON), draws=2000, repeat=True)
    assert report.verdict == verdict
    assert any("how long" in remark for remark in report.remarks) == (slow == 0.02)


def test_what_draws_cannot_show_is_not_acquitted() -> None:
    report = audit(Double(exponential, claim=Claim(SPACE, 1000.0, known_only=True)))
    assert report.verdict == "cannot tell"
    assert report.reasons


@pytest.mark.parametrize("function", [lambda _: 3, lambda text: text + 1, lambda _: ["a"]])
def test_what_does_not_work_is_not_acquitted(function: Any) -> None:
    for takes in ("word", "texts"):
        assert audit_callable(function, LOCAL, takes=takes, draws=100).verdict == "cannot tell"


def test_a_claim_that_covers_no_pair_cannot_be_told() -> None:
    claim = Claim.of(mechanism("gaussian", SPACE, epsilon=1.0, reach=1e-6))
    assert audit_callable(str, claim, takes="word", draws=100).verdict == "cannot tell"


def test_an_audit_without_time_cannot_tell() -> None:
    report = audit(HONEST["exponential"], seconds=1e-6)
    assert report.verdict == "cannot tell"
    assert not report.findings


def test_functions_run_by_name_in_processes_of_their_own() -> None:
    report = audit_callable(f"{NAMED}:honest", FOUR, draws=1500)
    assert report.verdict == "holds as far as seen"
    assert set(report.unchecked) == {"sessions"}
    for function, how in (
        ("seeded", "restarts"),
        ("seeded_at_its_start", "restarts"),
        ("copied_by_a_fork", "forks"),
        ("seeded_on_first_use", "forks"),
    ):
        report = audit_callable(
            f"{NAMED}:{function}", FOUR, draws=500, skip=[one for one in CHECKS if one != "repeats"]
        )
        assert report.verdict == "broken"
        assert any(how in finding.about for finding in report.findings if finding.breaks)


def test_forks_in_which_calls_fail_are_not_looked_at() -> None:
    report = audit_callable(
        f"{NAMED}:fails_in_a_fork", FOUR, draws=500, skip=[one for one in CHECKS if one != "repeats"]
    )
    assert "forks" in report.unchecked
    assert not any("forks" in finding.about for finding in report.findings)


def test_a_function_that_hangs_or_dies_is_called_on() -> None:
    for function, kind in (("hangs", "time-out"), ("dies", "crash")):
        target = Program(f"{NAMED}:{function}", timeout=0.2)
        try:
            found = [target.call([word])[0] for word in ("tea", "milk", "tea")]
        finally:
            target.close()
        assert isinstance(found[0], str)
        assert not isinstance(found[1], str)
        assert found[1].kind == kind
        assert isinstance(found[2], str)


@pytest.mark.parametrize("spec", ["tests.audit.nowhere:f", f"{NAMED}:nothing", f"{NAMED}:not_callable"])
def test_what_cannot_be_imported_is_refused(spec: str) -> None:
    with pytest.raises(InputError):
        audit_callable(Program(spec), FOUR)


def test_a_program_that_filters_lines() -> None:
    filters = [sys.executable, str(Path(named.__file__))]
    how: dict[str, Any] = {"draws": 1000, "skip": ["sessions"]}
    assert audit_callable(Command([*filters, "honest"]), FOUR, **how).verdict == "holds as far as seen"
    assert audit_callable(Command([*filters, "raw"]), FOUR, **how).verdict == "broken"
    assert audit_callable(Command([*filters, "seeded"]), FOUR, **how).verdict == "broken"
    assert audit_callable(Command([*filters, "twice"]), FOUR, **how).verdict == "cannot tell"
    assert audit_callable(Command([*filters, "neither"]), FOUR, **how).verdict == "cannot tell"
    with pytest.raises(OptionError):
        audit_callable(Command(["/no/such/program"]), FOUR)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet an answer

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["in"][0]
        out = {"/honest": named.honest(given), "/raw": given}.get(self.path)
        told = json.dumps({"out": [{"text": out}]}).encode()
        self.send_response(200 if out else 500)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "verdict"), [("/honest", "holds as far as seen"), ("/raw", "broken"), ("/", "cannot tell")]
)
def test_an_address_that_answers(address: str, path: str, verdict: str) -> None:
    target = Endpoint(address + path, body='{"in": ["$TEXT"]}', answer="out.0.text")
    report = audit_callable(target, FOUR, draws=100, skip=[*BESIDE_WORDS, "raw", "repeats"], seconds=600)
    assert report.verdict == verdict


def test_a_finding_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    for name in ("Vickrey that looks back", "unknown words raw", "the word before", "words of the private texts"):
        double = FAULTY[name]
        audit(double).save(path)
        then, now = replay(path, double.make(2), takes=double.takes)
        assert then.breaks
        assert now.breaks
        assert then.case == now.case
    honest = HONEST["laplace"]
    audit(FAULTY["Vickrey that looks back"]).save(path)
    assert not replay(path, honest.make(2), takes=honest.takes)[1].breaks


@pytest.mark.parametrize("change", [{"case": None}, {"case": {"kind": "pair"}}, {"hits": 3}, None])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "found.json"
    audit(FAULTY["identity"], draws=200).save(path)
    told = json.loads(path.read_text())
    told["findings"] = [{**told["findings"][0], **change}] if change else []
    path.write_text(json.dumps(told))
    with pytest.raises(InputError):
        replay(path, str, takes="word")
    with pytest.raises(FileError):
        replay(tmp_path / "none.json", str)


def test_claims_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("tea,coffee,0.5\ncoffee,milk,2\nmilk,coffee,1\n")
    claim = Claim(TableSpace.read(path), epsilon=2.0)
    assert claim.between(np.arange(3)).tolist() == [[0.0, 1.0, math.inf], [1.0, 0.0, 2.0], [math.inf, 2.0, 0.0]]
    assert claim.unknown == 2.0
    assert Claim(claim.space, 2.0, local=True).unknown == 2.0
    assert Claim(claim.space, 2.0, known_only=True).unknown == math.inf
    for bad in ("tea,coffee\n", "tea,coffee,far\n", "tea,coffee,-1\n", "tea,coffee,nan\n", "", "tea,tea,1\n"):
        path.write_text(bad)
        with pytest.raises(InputError):
            TableSpace.read(path)


@pytest.mark.parametrize(
    "how",
    [{"draws": 3}, {"words": 1}, {"error": 0.0}, {"error": 1.0}, {"seconds": math.nan}, {"skip": ["nothing"]},
     {"seed": -1}, {"takes": "letters"}, {"timeout": 0.0}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        audit_callable(str, LOCAL, **how)


@pytest.mark.parametrize("how", [{"epsilon": -1.0}, {"epsilon": math.inf}, {"epsilon": 1.0, "delta": 1.0}])
def test_claims_that_make_no_sense_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Claim(SPACE, **how)
    with pytest.raises(OptionError):
        Claim.of(mechanism("jaccard", SPACE, epsilon=1.0))
    with pytest.raises(OptionError):
        Endpoint("ftp://example.org")
    with pytest.raises(OptionError):
        Endpoint("http://example.org", body="{}")
