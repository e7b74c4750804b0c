"""A Presidio operator that veils what Presidio finds, and leaves the rest of the text alone."""
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
    """Replaces each finding by one veiled word. Takes a `Veil` with ``select="all"`` as the parameter ``veil``.

    A name of several words gets one draw, for its last word that is in the vocabulary. A draw for each word would
    reveal how many there are, and cost that many times as much. Addresses, numbers and the like get the veil's
    placeholders.

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
        """Veil a finding with one draw."""
        veil: Veil = params["veil"]
        return veil(veil.lookup.head(text, veil.nonwords.apart)).text

    def validate(self, params: dict[str, Any]) -> None:
        """Check that there is a veil, and that it leaves no word alone."""
        veil: Veil = params.get("veil")  # type: ignore[assignment]  # checked now
        check_veil(veil)
        if veil.selection.kind != "all":
            raise OptionError("the operator's veil must have select='all', or parts of what was found would be kept.")
        if veil.once is not None and veil.once.scope == "person":
            raise OptionError("Presidio does not say whose a text is; use a veil with once='file' for each person.")

    def operator_name(self) -> str:
        """Return the name by which configurations refer to this operator."""
        return "veil"

    def operator_type(self) -> OperatorType:
        """Return that this operator anonymises."""
        return OperatorType.Anonymize


def operator_config(veil: Veil) -> OperatorConfig:
    """Return the configuration that makes Presidio veil an entity.

    Parameters
    ----------
    veil : Veil
        Veils it. It needs ``select="all"``.
    """
    return OperatorConfig(VeilOperator().operator_name(), {"veil": veil})
