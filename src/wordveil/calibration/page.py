"""A calibration as one self-contained page that can be filed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from html import escape
from typing import Any

import numpy as np

from wordveil import __version__
from wordveil.calibration.calibrate import Calibration
from wordveil.calibration.figures import Curve, averages, histograms, inline, panels
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.wording import meaning, percent, success

__all__ = ["page"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .92rem; }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } .chosen { background: #fff4cc; font-weight: 600; }
.words td { text-align: left; } .promise { background: #eef4ff; padding: .8rem 1rem; border-left: 4px solid #36c; }
.small { font-size: .85rem; color: #555; overflow-wrap: anywhere; } svg { max-width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } table, svg { break-inside: avoid; } }
"""

# What no ε protects, whatever the mechanism.
_NOT_PROTECTED = (
    "The promise is for each word. Over a text the losses of its words add up, and a text of many words can be told "
    "from a very different one.",
    "The number of words, punctuation, spacing, and every word that is left alone are released as they are.",
    "Words outside the vocabulary are replaced by draws that do not depend on them, unless they are kept on purpose, "
    "which voids the promise.",
    "What the same person writes elsewhere, and what is known about them, is not hidden by this.",
    "A seeded run carries no promise at all.",
)


def page(calibration: Calibration, others: Sequence[Curve] = ()) -> str:
    """Write the report.

    Parameters
    ----------
    calibration : Calibration
        What was found.
    others : sequence of Curve
        Other mechanisms to draw beside this one.
    """
    meter, facts = calibration.meter, calibration.to_dict()
    curve = Curve.from_dict(facts)
    shown = calibration.at(calibration.recommended or calibration.measurements[-1].epsilon)
    promise = meter.make(shown.epsilon).guarantee
    draws = meter.effort.draws
    body = [
        f"<h1>Calibration of {escape(curve.label)}</h1>",
        *_recommendation(calibration, shown),
        "<h2>The promise</h2>",
        f'<p class="promise">{escape(promise.sentence())}<br><code>{escape(promise.formula())}</code><br>'
        f"It covers {escape(promise.pairs)}.</p>",
        *_list(promise.caveats),
        "<h2>What each ε means</h2>",
        _table(calibration, shown.epsilon),
        f"<p>{escape(meter.law.how)} {_errors(calibration)}</p>",
        "<h3>Plausible deniability</h3>",
        _deniability(calibration, shown.epsilon),
        f"<h3>ε = {shown.epsilon:g} in words</h3>",
        *_list(meaning(shown, meter.vocabulary, draws)),
        "<h3>The words that stay most</h3>",
        _worst(facts, shown.epsilon),
        "<h2>Figures</h2>",
        f"<p>How the words are spread at each ε; the dotted line is the worst word.</p>"
        f"{inline(histograms(calibration.measurements, draws))}",
        f"<p>Averages over ε.</p>{inline(averages([curve, *others]))}",
        f"<p>Mean and worst case over ε.</p>{inline(panels([curve, *others]))}",
        "<h2>Examples</h2>",
        "<p>Four draws of each word at several ε.</p>",
        _examples(calibration),
        "<h2>What is not protected</h2>",
        *_list(_NOT_PROTECTED),
        "<h2>How to repeat it</h2>",
        _provenance(calibration),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Calibration of {escape(curve.label)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _recommendation(calibration: Calibration, shown: Measurement) -> list[str]:
    said = calibration.advice()
    if not said:
        return [f"<p>No target was set. The words below are about ε = {shown.epsilon:g}.</p>"]
    if calibration.recommended is None:
        return ["<h2>Recommendation</h2>", *_list(said)]
    reasons = said[1 : 1 + len(calibration.answers)]
    return ["<h2>Recommendation</h2>", f"<p><strong>{escape(said[0])}</strong></p>", *_list(reasons)]


def _list(sentences: Iterable[str]) -> list[str]:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return [f"<ul>{items}</ul>"] if items else []


def _table(calibration: Calibration, chosen: float) -> str:
    heads = (
        "ε", "stays, mean", "stays, worst", "distinct outputs, fewest", "median", "adversary right, all words alike",
        "knowing frequencies", "near loss, median", "kept", "near word", "other word",
    )  # fmt: skip
    rows = []
    for found in calibration.measurements:
        loss = float(np.median(found.near_loss.values))
        cells = (
            f"{found.epsilon:g}", percent(found.stays.mean), percent(found.stays.worst), f"{found.distinct.worst:,.0f}",
            f"{np.median(found.distinct.values):,.0f}", success(found.uniform), success(found.frequency),
            f"{'≤ ' if found.near_loss.bound else ''}{loss:.3g}" if np.isfinite(loss) else "none",
            percent(found.kept.value), percent(found.near.value), percent(found.far.value),
        )  # fmt: skip
        rows.append(_row(cells, is_chosen=found.epsilon == chosen))
    return _rows(heads, rows)


def _deniability(calibration: Calibration, chosen: float) -> str:
    settings = calibration.meter.effort
    heads = (
        "ε", f"outputs that hold {percent(1 - settings.eta)}, fewest", "median", "min-entropy in bits, lowest", "mean",
        f"inputs that give an output in {settings.draws:,} draws (K), fewest", "mean",
        f"inputs within a factor {settings.gamma:g} of the likeliest (k), fewest", "mean",
    )  # fmt: skip
    rows = []
    for found in calibration.measurements:
        figures = (
            found.effective.worst, float(np.median(found.effective.values)), found.min_entropy.worst,
            found.min_entropy.mean, found.inputs.worst, found.inputs.mean, found.alike.worst, found.alike.mean,
        )  # fmt: skip
        cells = [f"{found.epsilon:g}", *(_number(value) for value in figures)]
        rows.append(_row(cells, is_chosen=found.epsilon == chosen))
    return _rows(heads, rows)


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _row(cells: Iterable[str], *, is_chosen: bool) -> str:
    mark = ' class="chosen"' if is_chosen else ""
    return f"<tr{mark}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _rows(heads: Iterable[str], rows: Iterable[str]) -> str:
    return "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>" + "".join(rows) + "</table>"


def _errors(calibration: Calibration) -> str:
    first = calibration.measurements[0]
    whole = len(calibration.meter.vocabulary)
    measured = f"Staying was measured on {len(first.stays.ids):,} of {whole:,} words, the number of outputs on "
    measured += f"{len(first.distinct.ids):,}, the adversary among {first.uniform.n:,}."
    if calibration.meter.exact:
        return measured
    largest = max(found.stays.mean_error for found in calibration.measurements)
    guess = max(found.uniform.error for found in calibration.measurements)
    return f"{measured} Standard errors: mean of staying at most {largest:.1g}, adversary at most {guess:.1g}."


def _worst(facts: dict[str, Any], epsilon: float) -> str:
    found = next(one for one in facts["measurements"] if one["epsilon"] == epsilon)
    cells = "".join(
        f"<tr><td>{escape(one['word'])}</td><td>{percent(one['value'])}</td></tr>"
        for one in found["stays"]["worst_words"]
    )
    return f"<table><tr><th>word</th><th>stays</th></tr>{cells}</table>"


def _examples(calibration: Calibration) -> str:
    words = list(next(iter(calibration.examples.values())))
    head = "".join(f"<th>{escape(word)}</th>" for word in words)
    rows = "".join(
        f"<tr><td>{epsilon:g}</td><td>{percent(calibration.at(epsilon).stays.mean)}</td>"
        + "".join(f"<td>{escape(', '.join(drawn[word]))}</td>" for word in words)
        + "</tr>"
        for epsilon, drawn in sorted(calibration.examples.items())
    )
    return f'<table class="words"><tr><th>ε</th><th>stays, mean</th>{head}</tr>{rows}</table>'


def _provenance(calibration: Calibration) -> str:
    meter = calibration.meter
    described = meter.probe.describe()
    settings = ", ".join(f"{key} = {value}" for key, value in meter.effort.to_dict().items())
    today = datetime.now(timezone.utc).date().isoformat()
    return (
        f'<p class="small">wordveil {__version__}, {today}. Mechanism {escape(described["mechanism"])}, options '
        f"{escape(str(described['options']))}. Space {escape(meter.space.name)}, SHA-256 {meter.space.checksum}. "
        f"Settings: {escape(settings)}. All draws for this report are seeded and of public words.</p>"
    )
