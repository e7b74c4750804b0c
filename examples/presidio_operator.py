"""A Presidio operator: what Presidio finds is veiled by wordveil, and the rest of the text is left alone.

Run it with ``python examples/presidio_operator.py``. To fetch nothing, the analyzer here runs on an empty English
pipeline and knows names from a list; with a trained spaCy model it finds names by itself, and the operator stays the
same.
"""

from __future__ import annotations

from typing import Any

import spacy
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_anonymizer import AnonymizerEngine
from presidio_anonymizer.entities import OperatorConfig
from presidio_anonymizer.operators import Operator, OperatorType

import wordveil


class WordveilOperator(Operator):  # type: ignore[misc]
    """Replaces a piece of text by its veiled form; takes the veil as the parameter ``veil``."""

    def operate(self, text: str, params: dict[str, Any]) -> str:
        """Veil every word of what was found."""
        veil: wordveil.Veil = params["veil"]
        return veil(text).text

    def validate(self, params: dict[str, Any]) -> None:
        """Refuse to run without a veil."""
        if not isinstance(params.get("veil"), wordveil.Veil):
            raise TypeError("give the operator a wordveil.Veil as the parameter veil")

    def operator_name(self) -> str:
        """Return the name by which configurations ask for it."""
        return "wordveil"

    def operator_type(self) -> OperatorType:
        """Say that it anonymises."""
        return OperatorType.Anonymize


class _EmptyEngine(SpacyNlpEngine):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}


def make_analyzer(names: list[str]) -> AnalyzerEngine:
    """Make an analyzer that finds these names."""
    known = PatternRecognizer(supported_entity="PERSON", deny_list=names)
    registry = RecognizerRegistry(recognizers=[known])
    return AnalyzerEngine(registry=registry, nlp_engine=_EmptyEngine(), supported_languages=["en"])


def veil_names(text: str, analyzer: AnalyzerEngine, veil: wordveil.Veil) -> str:
    """Veil what the analyzer takes for names."""
    found = analyzer.analyze(text, language="en", entities=["PERSON"])
    anonymizer = AnonymizerEngine()
    anonymizer.add_anonymizer(WordveilOperator)
    how = {"PERSON": OperatorConfig("wordveil", {"veil": veil})}
    answer: str = anonymizer.anonymize(text, found, how).text
    return answer


def main() -> None:
    """Veil the names in a sentence."""
    veil = wordveil.Veil(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=1.0), select="all")
    text = "On Monday Mary Jones wrote to Peter about the lease."
    print(veil_names(text, make_analyzer(["Mary Jones", "Peter"]), veil))


if __name__ == "__main__":
    main()
