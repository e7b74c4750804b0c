"""``wordveil train``: learns a Poincaré space from IS-A pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli.checks import refuse_given
from wordveil.cli.options import Json, on_terminal, print_facts, stdout, while_at_work
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, OptionError

if TYPE_CHECKING:
    from wordveil.lab.training import Pairs, Progress, Trained, WordNet

_CHECKPOINT = "checkpoint.npz"
#: The files that a folder with a trained space may hold.
_MADE = frozenset((
    "words.txt", "hyperboloid.npy", "is_a.npy", "meta.json", "vectors.npy", "noun.exc", "verb.exc", "LICENSE",
    _CHECKPOINT,
))  # fmt: skip
_MOST_NODES = 20_000  # of a larger hierarchy, only a sample of nodes is reconstructed at the end


def train(
    source: Annotated[
        Path | None,
        Argument(metavar="PAIRS", help="Lines of child, tab, parent and optionally tab, count; plain or gzipped."),
    ] = None,
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="FOLDER", help="Write the space to this folder.")],
    wordnet: Annotated[
        Path | None, Option(metavar="FOLDER", help="Take the pairs from WordNet's database files.")
    ] = None,
    nodes: Annotated[str, Option(help="With --wordnet: words (in their commonest meaning) or synsets.")] = "words",
    part: Annotated[list[str] | None, Option(help="With --wordnet: noun or verb. Default: both.")] = None,
    root: Annotated[str | None, Option(help="Keep only this node and those below it, such as mammal.n.01.")] = None,
    vocabulary: Annotated[
        str | None, Option(help="Keep only the words of this space, or of a file with one word per line.")
    ] = None,
    min_count: Annotated[float, Option(help="Leave out pairs seen less often than this.")] = 0.0,
    min_links: Annotated[int, Option(min=0, help="Leave out nodes in fewer pairs than this.")] = 0,
    stop_words: Annotated[
        bool, Option("--stop-words/--no-stop-words", help="Include function words, or leave them out.")
    ] = False,
    closure: Annotated[bool, Option("--closure", help="Add implied pairs: a kind of a kind is a kind.")] = False,
    sharpness: Annotated[float, Option(help="How much a unit of distance counts; a sharper space is smaller.")] = 1.0,
    weighted: Annotated[bool, Option("--weighted", help="Draw pairs in proportion to their counts.")] = False,
    dim: Annotated[int, Option("--dim", "-d", help="How many dimensions.")] = 10,
    geometry: Annotated[
        str, Option(help="lorentz or poincare (the same space, computed differently), or euclidean to compare.")
    ] = "lorentz",
    epochs: Annotated[int, Option(help="How often to go through all pairs.")] = 200,
    negatives: Annotated[int, Option(help="How many random nodes each pair is compared with.")] = 50,
    rate: Annotated[float, Option(help="The learning rate.")] = 0.3,
    burn_in: Annotated[int, Option(help="How many epochs at the start run at a tenth of the rate.")] = 10,
    batch: Annotated[int | None, Option(help="Pairs per step. Default: chosen by the number of pairs.")] = None,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    device: Annotated[str, Option(help="cpu, cuda, or auto (cuda if there is a device).")] = "auto",
    evaluate_every: Annotated[int, Option(min=1, help="Report the mean rank every so many epochs.")] = 20,
    sample: Annotated[
        int | None,
        Option(min=1, help=f"How many nodes the final figures are measured on. Default: at most {_MOST_NODES:,}."),
    ] = None,
    hyperlex: Annotated[
        Path | None, Option(metavar="FILE", help="Also report the correlation with these human ratings.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue a training that was stopped.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the content of the folder.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Learn a hyperbolic space from IS-A pairs, and report how well it preserves them.

    Examples:

      wordveil train pairs.tsv -o my-space --dim 10 --closure

      wordveil train --wordnet /usr/share/wordnet -o words --vocabulary glove-50k --dim 10

      wordveil train --wordnet /usr/share/wordnet -o nouns --nodes synsets --part noun --dim 5 --epochs 1000
    """
    from wordveil.lab.training import Training, WordNet, read_pairs, write_forms, write_trained
    from wordveil.lab.training import train as learn
    from wordveil.text import stop_words as function_words

    if (source is None) == (wordnet is None):
        raise OptionError("name either a file of pairs or --wordnet FOLDER.")
    if wordnet is None:
        refuse_given("is for --wordnet", "nodes", "part")
    else:
        refuse_given("is for a file of pairs", "min_count", "min_links", "closure")
        if nodes == "synsets":
            refuse_given("only applies to words, not to synsets", "vocabulary", "stop_words")
    training = Training(dim, geometry, epochs, negatives, rate, burn_in, batch, sharpness, weighted, seed)
    _check_room(output, (source, wordnet, vocabulary, hyperlex), resume=resume, overwrite=overwrite)
    opened = None if wordnet is None else WordNet(wordnet)
    with while_at_work("reading the pairs…"):
        kept = None if vocabulary is None else _vocabulary(vocabulary)
        left_out = () if stop_words else function_words()
        if opened is None:
            pairs = read_pairs(Path(str(source))).filtered(
                min_count=min_count,
                vocabulary=None if kept is None else frozenset(kept),
                leave_out=left_out,
                min_links=min_links,
            )
            pairs = pairs.closed() if closure and len(pairs) else pairs
        else:
            pairs = _from_wordnet(opened, nodes, part or ["noun", "verb"], kept, left_out)
        pairs = pairs if root is None else pairs.below(root)
    _make_room(output, resume=resume)
    with _Watch(training.epochs, quiet=quiet) as watch:
        trained = learn(
            pairs,
            training,
            device=device,
            checkpoint=output / _CHECKPOINT,
            resume=resume,
            evaluate_every=None if quiet else evaluate_every,
            tell=None if quiet else watch.show,
        )
    facts = _facts(trained, pairs, training.batch_for(len(pairs)), sample)
    if hyperlex is not None:
        facts["hyperlex"] = _hyperlex(trained, pairs, opened if nodes == "synsets" else None, hyperlex)
    facts = {"source": "WordNet" if opened else Path(str(source)).name, "pairs": len(pairs), **facts}
    write_trained(output, trained, pairs, {"training": facts})
    if opened is not None and nodes == "words":
        write_forms(output, opened)
    (output / _CHECKPOINT).unlink()
    if as_json:
        print_facts(facts)
    else:
        _show(facts, output)


def _check_room(output: Path, inputs: Iterable[str | Path | None], *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder with content, unless it is to be replaced and is all ours."""
    if output.exists() and not output.is_dir():
        raise FileError(f"{output} is a file; --output must name a folder.")
    if output.exists() and any(output.iterdir()) and not resume:
        if not overwrite:
            raise FileError(f"{output} exists already; use --resume to continue, or --overwrite to replace it.")
        for given in (Path(one).resolve() for one in inputs if one is not None):
            if given.exists() and output.resolve() in (given, *given.parents):
                raise FileError(f"an input lies in {output}, which would be replaced; choose another folder.")
        if any(one.name not in _MADE or one.is_dir() for one in output.iterdir()):
            raise FileError(f"{output} holds more than a trained space, and all of it would be lost; choose another.")


def _make_room(output: Path, *, resume: bool) -> None:
    """Make the folder, without what is in it, if need be."""
    try:
        for one in () if resume or not output.exists() else output.iterdir():
            one.unlink()
        output.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise FileError(f"cannot make the folder {output}; choose another place.") from None


def _vocabulary(name: str) -> list[str]:
    from wordveil.spaces import BUNDLED, load_space

    if name in BUNDLED:
        return list(load_space(name).vocabulary)
    try:
        return [word for line in Path(name).read_text(encoding="utf-8").splitlines() if (word := line.strip())]
    except (OSError, UnicodeDecodeError):
        raise FileError(
            f"cannot read the words of {name}; name a bundled space or a file with one word per line."
        ) from None


def _from_wordnet(
    wordnet: WordNet, nodes: str, parts: list[str], vocabulary: list[str] | None, left_out: Collection[str]
) -> Pairs:
    from wordveil.lab.training import PARTS, synset_pairs, word_pairs
    from wordveil.text.lookup import BaseForms

    for part in parts:
        if part not in PARTS:
            raise OptionError(f"unknown --part {part!r}; choose noun or verb.")
    if nodes == "synsets":
        return synset_pairs(wordnet, parts)
    if nodes != "words":
        raise OptionError(f"unknown --nodes {nodes!r}; choose words or synsets.")
    words = vocabulary or sorted(word for word in wordnet.words if "_" not in word)
    return word_pairs(wordnet, words, leave_out=left_out, parts=parts, bases=BaseForms(wordnet.folder).of)


def _facts(trained: Trained, pairs: Pairs, batch: int, sample: int | None) -> dict[str, Any]:
    from wordveil.lab.training import reconstruction

    with while_at_work("reconstructing the pairs…"):
        found = reconstruction(trained.shape, trained.points, pairs, sample=sample or _MOST_NODES)
    return {
        "nodes": len(pairs.names),
        "words": len(pairs.names) - pairs.hidden,
        "geometry": trained.shape.name,
        "dimension": trained.points.shape[1],
        "epochs": trained.epochs,
        "batch": batch,
        "device": trained.device,
        "seconds": round(trained.seconds, 2),
        "reconstructed_nodes": found.nodes,
        "mean_rank": round(found.mean_rank, 4),
        "mean_average_precision": round(found.mean_average_precision, 5),
    }


def _hyperlex(trained: Trained, pairs: Pairs, wordnet: WordNet | None, path: Path) -> dict[str, float]:
    import numpy as np

    from wordveil.lab.training import hyperlex, read_hyperlex

    rated = read_hyperlex(path)
    place = {name: number for number, name in enumerate(pairs.visible().names)}
    words = {word for row in rated for word in row[:2]}
    senses = {}
    for word in words:
        names = [word] if wordnet is None else [wordnet.name(synset) for synset in wordnet.senses(word)]
        found = [place[name] for name in names if name in place]
        if found:
            senses[word] = np.array(found)
    result = hyperlex(trained.shape, trained.points, senses, rated)
    return {"spearman": round(result.correlation, 4), "covered": result.covered, "pairs": result.pairs}


def _show(facts: dict[str, Any], output: Path) -> None:
    said = [
        f"{facts['words']:,} words in {facts['dimension']} dimensions ({facts['geometry']}), {facts['epochs']:,} "
        f"epochs over {facts['pairs']:,} pairs in {facts['seconds']:.1f} s on {facts['device']}.",
        f"Reconstruction of {facts['reconstructed_nodes']:,} nodes: mean rank {facts['mean_rank']:.2f}, "
        f"mean average precision {facts['mean_average_precision']:.3f}.",
    ]
    if "hyperlex" in facts:
        rated = facts["hyperlex"]
        said.append(
            f"HyperLex: Spearman's ρ {rated['spearman']:.3f} on {rated['covered']:,} of {rated['pairs']:,} pairs."
        )
    for sentence in (*said, f"Written to {output}."):
        stdout().print(sentence, markup=False, soft_wrap=True)


class _Watch(ProgressBar):
    """Shows the training's progress: a bar on a terminal, otherwise a line at every evaluation."""

    def __init__(self, epochs: int, *, quiet: bool) -> None:
        super().__init__("training", epochs, quiet=quiet)
        self._lines = not quiet and not on_terminal()
        self._epochs, self._rank = epochs, ""

    def show(self, progress: Progress) -> None:
        """Move the bar or write a line."""
        loss = f"loss {progress.loss:.4f}"
        if progress.sample is not None:
            found = progress.sample
            self._rank = f", mean rank {found.mean_rank:.2f}, MAP {found.mean_average_precision:.3f}"
            if self._lines:
                typer.echo(
                    f"epoch {progress.epoch:,} of {self._epochs:,}, {progress.seconds:.1f} s: {loss}{self._rank}",
                    err=True,
                )
        self.move(progress.epoch, f"epoch {progress.epoch:,} of {self._epochs:,}, {loss}{self._rank}")
