"""``wordveil attack membership``: whose texts trained a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import (
    as_number,
    as_share,
    epsilons_of,
    maker_of,
    print_json,
    print_table,
    read_corpus,
    read_texts,
    veiling,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.lab.attacks import Corpus
    from wordveil.spaces import Space

__all__ = ["membership"]

_SCRAMBLERS = ("versatile-semantic", "versatile-statistical", "incognito", "incognito-noise")


def membership(
    table: Annotated[Path, Argument(help="A table with a column of texts and one of who wrote them.")],
    epsilon: shared.Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    scrambler: Annotated[
        str | None, Option(help=f"Use one of {', '.join(_SCRAMBLERS)} instead of a mechanism; it promises nothing.")
    ] = None,
    wordnet: Annotated[Path | None, Option(help="The folder of WordNet's files, for versatile-semantic.")] = None,
    reference: Annotated[
        Path | None, Option(help="Public texts (the same --column of a table), for versatile-statistical.")
    ] = None,
    asked: Annotated[str, Option(help="What the auditor asks about: original or released texts.")] = "original",
    shadows: Annotated[int, Option(min=1, help="How many shadow models the auditor trains.")] = 4,
    epochs: Annotated[int, Option(min=1, help="How often a model sees its texts.")] = 20,
    words: Annotated[int, Option(min=1, help="How many words a model knows.")] = 5000,
    column: shared.TextColumn = "text",
    author_column: shared.AuthorColumn = "author",
    select: shared.Select = "content",
    seed: shared.Seed = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out whose texts trained a language model (the auditor of Song & Shmatikov).

    A model is trained on the texts of a quarter of the people; the auditor tells them from another quarter by how the
    model ranks their words, and practises on the rest. On a model of clean texts; on a model of veiled texts (static);
    and on the latter by an auditor who practises on veiled texts too (adaptive).

    Examples:

      wordveil attack membership queries.csv --author-column user --epsilon 4

      wordveil attack membership queries.csv --scrambler incognito --epochs 30 --json
    """
    from wordveil.lab.attacks import MembershipAuditor, WordModelSize

    if scrambler is not None and epsilon:
        raise OptionError("use either --scrambler or --epsilon: a scrambler has no epsilon.")
    if scrambler is not None and scrambler not in _SCRAMBLERS:
        raise OptionError(f"--scrambler must be one of {', '.join(_SCRAMBLERS)}.")
    rates = [0.0] if scrambler else epsilons_of(epsilon)
    found: list[dict[str, Any]] = []
    described: Mechanism[Any] | None = None
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        corpus = read_corpus(table, column, author_column)
        public = None if reference is None else read_texts(reference, column)
        size = WordModelSize(words=words, epochs=epochs)
        auditor = MembershipAuditor(corpus, shadows=shadows, size=size, seed=seed or 0, watch=progress.watch)
        for place, rate in enumerate(rates):
            if scrambler is None:
                described = make(rate)
                veil = veiling(described, select, seed)
            else:
                veil = _scrambling(scrambler, corpus, opened, wordnet, public, seed or 0)
            plans = ("clean", "static", "adaptive") if place == 0 else ("static", "adaptive")
            found += [
                {"epsilon": None if scrambler or one.plan == "clean" else rate, **one.to_dict()}
                for one in auditor.attack(veil, plans=plans, asked=asked)
            ]
    if as_json:
        print_json("membership", described, None, found, scrambler)
        return
    print_table(
        f"People judged to be members or not, {scrambler or mechanism}",
        ("ε", "attacker", "precision", "recall", "accuracy", "AUC"),
        [
            [
                "-" if one["epsilon"] is None else f"{one['epsilon']:g}",
                one["plan"],
                *(as_share(one[name]) for name in ("precision", "recall", "accuracy")),
                as_number(one["auc"]),
            ]
            for one in found
        ],
    )


def _scrambling(
    name: str, corpus: Corpus, space: Space, wordnet: Path | None, reference: list[str] | None, seed: int
) -> Callable[[Sequence[str]], list[str]]:
    from wordveil.lab.attacks import Incognito, Versatile
    from wordveil.lab.attacks.scramblers import general_words

    if name == "versatile-semantic":
        if wordnet is None:
            raise OptionError("versatile-semantic needs --wordnet, the folder that holds WordNet's data.noun.")
        from wordveil.lab.training import WordNet

        return Versatile("semantic", general=general_words(WordNet(wordnet)), seed=seed)
    if name == "versatile-statistical":
        if reference is None:
            raise OptionError("versatile-statistical needs --reference, public texts to take other words from.")
        return Versatile("statistical", reference=reference, seed=seed)
    pairs = list(zip(corpus.authors, corpus.texts, strict=True))
    return Incognito(space, pairs, noise=0.2 if name.endswith("noise") else 0.0, seed=seed)
