"""The Presidio operator, behind an analyzer that knows names from a list."""

from __future__ import annotations

import re
from typing import Any

import pytest

from wordveil import OptionError, Veil

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries warn on import, of themselves


@pytest.fixture(scope="module")
def adapter() -> Any:
    pytest.importorskip("presidio_anonymizer", reason="the Presidio adapter is not tested: it is not installed")
    import wordveil.adapters.presidio as module

    return module


def test_names_that_presidio_finds(adapter: Any, far: Veil) -> None:
    pytest.importorskip("presidio_analyzer", reason="the whole of Presidio is not tested: the analyzer is missing")
    import spacy
    from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
    from presidio_analyzer.nlp_engine import SpacyNlpEngine
    from presidio_anonymizer import AnonymizerEngine

    engine = SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}  # nothing is fetched
    known = PatternRecognizer(supported_entity="PERSON", deny_list=["Mary Jones"])
    registry = RecognizerRegistry(recognizers=[known])
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    text = "On Monday Mary Jones wrote a letter."
    found = analyzer.analyze(text, language="en", entities=["PERSON"])
    anonymizer = AnonymizerEngine()
    anonymizer.add_anonymizer(adapter.VeilOperator)
    answer = anonymizer.anonymize(text, found, {"PERSON": adapter.operator_config(far)})
    name = re.fullmatch(r"On Monday (\S+) wrote a letter\.", answer.text)  # one draw for the whole name
    assert name
    assert name[1].lower() not in ("mary", "jones")
    assert [(item.start, item.end, item.operator) for item in answer.items] == [(10, 10 + len(name[1]), "veil")]


@pytest.mark.parametrize(
    ("found", "one"),
    [
        ("+44 20 7946 0958", "<PHONE>"),
        ("zyqx qqzzx", r"[^\W\d]\S*"),
        ("Zoë, of 12 Harbour Road", r"[^\W\d]\S*"),
        ("--", "--"),
    ],
)
def test_one_draw_for_each(adapter: Any, far: Veil, found: str, one: str) -> None:
    assert re.fullmatch(one, adapter.VeilOperator().operate(found, {"veil": far}))


def test_only_a_veil_of_all_words_is_taken(adapter: Any, far: Veil) -> None:
    operator = adapter.VeilOperator()
    operator.validate({"veil": far})
    for wrong in ({}, {"veil": "graph"}, {"veil": Veil(far.mechanism)}):
        with pytest.raises(OptionError):
            operator.validate(wrong)
