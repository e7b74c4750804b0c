"""``wordveil attack authors`` and ``attack membership``: who wrote a text, and whose texts trained a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.attack.shared import (
    Attacked,
    Plotted,
    Source,
    Told,
    as_number,
    print_json,
    read_corpus,
    read_texts,
    show,
    veiling,
)
from wordveil.cli.checks import refuse_given
from wordveil.cli.options import ReadHeader, Select
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.lab.attacks import Corpus
    from wordveil.spaces import Space
    from wordveil.stats import Estimate

_SCRAMBLERS = ("versatile-semantic", "versatile-statistical", "incognito", "incognito-noise")

TextColumn = Annotated[str, Option("--column", "-c", help="The column of the text.")]
AuthorColumn = Annotated[str, Option("--author-column", "-a", help="The column of the author.")]


def authors(
    table: Annotated[Path, Argument(help="A table with a column of texts and one of their authors.")],
    attacked: Attacked = Attacked(),
    unknown: Annotated[Path | None, Option(help="The texts to attribute, if they are in a table of their own.")] = None,
    share: Annotated[float, Option(help="The share of each author's texts to set aside and attribute.")] = 0.25,
    method: Annotated[list[str] | None, Option(help="koppel or svm. Default: both.")] = None,
    threshold: Annotated[float, Option(min=0.0, max=1.0, help="Koppel: name an author only above this score.")] = 0.0,
    column: TextColumn = "text",
    author_column: AuthorColumn = "author",
    header: ReadHeader = "check",
    select: Select = "content",
    told: Plotted = Plotted(),
) -> None:
    """Find out who wrote a text (authorship attribution).

    Uses the method of Koppel, Schler & Argamon and a linear SVM on character n-grams. Three attacks are compared: on
    clean texts; on veiled texts, from clean texts of the authors (static); and on veiled texts, after veiling the known
    texts as well (adaptive).

    Examples:

      wordveil attack authors mail.csv --epsilon 4

      wordveil attack authors mail.csv --unknown leak.csv --author-column from -e 4 -e 6 --method svm --json
    """
    from wordveil.lab.attacks import Attribution, attack_authors

    rates, seed = attacked.rates, told.seed or 0
    told.check(table, unknown, attacked.space)
    if unknown is not None:
        refuse_given("sets texts aside to attribute, and --unknown names them", "share")
    if method and "koppel" not in method:
        refuse_given("is for --method koppel", "threshold")
    attributors = [_attributor(name, threshold, seed) for name in method or ["koppel", "svm"]]
    found: list[tuple[float | None, Attribution]] = []
    curves: dict[str, list[Estimate]] = {}
    with told.bar() as progress:
        _, make = attacked.maker()
        known = read_corpus(table, column, author_column, header=header)
        if unknown is None:
            known, asked = known.split(share, seed)
        else:
            asked = read_corpus(unknown, column, author_column, header=header)
        for rate in rates:
            veil = veiling(make(rate), select, told.seed)
            kinds = ("clean", "static", "adaptive") if rate == rates[0] else ("static", "adaptive")
            for attributor in attributors:
                for one in attack_authors(attributor, known, asked, veil, kinds=kinds, watch=progress.watch):
                    is_clean = one.kind == "clean"  # the same whatever the ε
                    found.append((None if is_clean else rate, one))
                    times = len(rates) if is_clean else 1
                    curves.setdefault(f"{one.method}, {one.kind}", []).extend([one.right] * times)
    told.draw(rates, curves, f"Texts attributed to their authors, {attacked.mechanism}")
    if told.as_json:
        print_json("authors", make(rates[0]), [{"epsilon": rate, **one.to_dict()} for rate, one in found])
        return
    show(
        f"Texts attributed to their authors ({found[0][1].authors:,} authors, {len(known):,} known texts)",
        ("ε", "method", "attacker"),
        [(rate, one.method, one.kind, one) for rate, one in found],
        {"right": "right", "right of those named": "precision", "reading nothing": "blind"},
        left=3,
    )


def _attributor(name: str, threshold: float, seed: int) -> Any:
    from wordveil.lab.attacks import CharacterSvm, Koppel

    if name == "koppel":
        return Koppel(threshold=threshold, seed=seed)
    if name == "svm":
        return CharacterSvm(seed=seed)
    raise OptionError("--method must be koppel or svm.")


def membership(
    table: Annotated[Path, Argument(help="A table with a column of texts and one of who wrote them.")],
    attacked: Attacked = Attacked(),
    scrambler: Annotated[
        str | None, Option(help=f"Use one of {', '.join(_SCRAMBLERS)} instead of a mechanism; it promises nothing.")
    ] = None,
    wordnet: Annotated[
        Path | None, Option(metavar="FOLDER", help="The folder of WordNet's files, for versatile-semantic.")
    ] = None,
    reference: Annotated[
        Path | None, Option(help="Public texts (the same --column of a table), for versatile-statistical.")
    ] = None,
    asked: Annotated[str, Option(help="What the auditor asks about: original or released texts.")] = "original",
    shadows: Annotated[int, Option(min=1, help="How many shadow models the auditor trains.")] = 4,
    epochs: Annotated[int, Option(min=1, help="How often a model sees its texts.")] = 20,
    words: Annotated[int, Option(min=1, help="How many words a model knows.")] = 5000,
    column: TextColumn = "text",
    author_column: AuthorColumn = "author",
    header: ReadHeader = "check",
    select: Select = "content",
    told: Told = Told(),
) -> None:
    """Find out whose texts trained a language model (the auditor of Song & Shmatikov).

    A model is trained on the texts of a quarter of the people. The auditor tells them from another quarter by how the
    model ranks their words, and practises on the rest. Three attacks are compared: on a model of clean texts; on a
    model of veiled texts (static); and on the latter after practising on veiled texts, too (adaptive).

    Examples:

      wordveil attack membership queries.csv --author-column user --epsilon 4

      wordveil attack membership queries.csv --scrambler incognito --epochs 30 --json
    """
    from wordveil.lab.attacks import Membership, MembershipAuditor, WordModelSize

    if scrambler is not None and attacked.epsilon:
        raise OptionError("use either --scrambler or --epsilon: a scrambler has no epsilon.")
    if scrambler is not None:
        refuse_given("is for a mechanism, and a --scrambler is given", "mechanism", "option", "select")
    if scrambler != "versatile-semantic":
        refuse_given("is for --scrambler versatile-semantic", "wordnet")
    if scrambler != "versatile-statistical":
        refuse_given("is for --scrambler versatile-statistical", "reference")
    if scrambler is not None and scrambler not in _SCRAMBLERS:
        raise OptionError(f"--scrambler must be one of {', '.join(_SCRAMBLERS)}.")
    rates, seed = [0.0] if scrambler else attacked.rates, told.seed or 0
    found: list[tuple[float | None, Membership]] = []
    described: Mechanism[Any] | None = None
    with told.bar() as progress:
        opened, make = attacked.maker()
        corpus = read_corpus(table, column, author_column, header=header)
        public = None
        if reference is not None:
            public = read_texts(reference, column, header=Source(header=header).of_reference(reference).header)
        size = WordModelSize(words=words, epochs=epochs)
        auditor = MembershipAuditor(corpus, shadows=shadows, size=size, seed=seed, watch=progress.watch)
        for place, rate in enumerate(rates):
            if scrambler is None:
                described = make(rate)
                veil = veiling(described, select, told.seed)
            else:
                veil = _scrambling(scrambler, corpus, opened, wordnet, public, seed)
            plans = ("clean", "static", "adaptive") if place == 0 else ("static", "adaptive")
            attacks = auditor.attack(veil, plans=plans, asked=asked)
            found += [(None if scrambler or one.plan == "clean" else rate, one) for one in attacks]
    if told.as_json:
        more = {"scrambler": scrambler} if scrambler else {}
        print_json("membership", described, [{"epsilon": rate, **one.to_dict()} for rate, one in found], **more)
        return
    show(
        f"People judged to be members or not, {scrambler or attacked.mechanism}",
        ("ε", "attacker"),
        [(rate, one.plan, one) for rate, one in found],
        {"precision": "precision", "recall": "recall", "accuracy": "accuracy", "AUC": ("auc", as_number)},
        left=2,
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
