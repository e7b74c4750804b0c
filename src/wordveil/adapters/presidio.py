"""A Presidio operator: what Presidio finds is veiled, and the rest of the text is left alone."""
# ruff: noqa: E402 - a missing package is reported before it is imported

from __future__ import annotations

from typing import Any

from wordveil.errors import OptionError
from wordveil.extras import needs

needs("presidio_anonymizer", "presidio", "wordveil.adapters.presidio")
from presidio_anonymizer.entities import OperatorConfig
from presidio_anonymizer.operators import Operator, OperatorType

from wordveil.adapters._cells import check_veil
from wordveil.text import Veil

__all__ = ["VeilOperator", "operator_config"]


class VeilOperator(Operator):  # type: ignore[misc]
    """Replaces what was found by one veiled word; takes a `Veil` with ``select="all"`` as the parameter ``veil``.

    A name of several words has one draw, that of its last word that the vocabulary has: a draw for each word would tell
    how many there are, and cost as many times as much. Addresses, numbers and the like get the veil's placeholders.

    Examples
    --------
    >>> import wordveil
    >>> from presidio_anonymizer import AnonymizerEngine
    >>> from presidio_anonymizer.entities import RecognizerResult
    >>> engine = AnonymizerEngine()
    >>> engine.add_anonymizer(VeilOperator)
    >>> how = {"PERSON": operator_config(wordveil.Veil(epsilon=4, select="all"))}
    >>> found = [RecognizerResult("PERSON", start=10, end=14, score=1.0)]
    >>> engine.anonymize("On Monday Mary wrote.", found, how).text.startswith("On Monday ")
    True
    """

    def operate(self, text: str, params: dict[str, Any]) -> str:
        """Veil what was found, with one draw."""
        veil: Veil = params["veil"]
        return veil(veil.lookup.head(text, veil.nonwords.apart)).text

    def validate(self, params: dict[str, Any]) -> None:
        """Check that there is a veil, and that it leaves none of the words alone."""
        veil: Veil = params.get("veil")  # type: ignore[assignment]  # checked now
        check_veil(veil)
        if veil.selection.kind != "all":
            raise OptionError("the operator's veil must have select='all', or parts of what was found would be kept.")
        if veil.once is not None and veil.once.scope == "person":
            raise OptionError(
                "Presidio does not say who a text belongs to; use a veil with once='file' for each person."
            )

    def operator_name(self) -> str:
        """Return the name by which configurations refer to it."""
        return "veil"

    def operator_type(self) -> OperatorType:
        """Return that it anonymises."""
        return OperatorType.Anonymize


def operator_config(veil: Veil) -> OperatorConfig:
    """Return the configuration that has Presidio veil an entity.

    Parameters
    ----------
    veil : Veil
        What veils it, with ``select="all"``.
    """
    return OperatorConfig(VeilOperator().operator_name(), {"veil": veil})
