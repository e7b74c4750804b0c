"""What goes over the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core.core_schema import CoreSchema, literal_schema

from wordveil._mechanisms import DEFAULT, MECHANISMS
from wordveil.calibration import TARGETS
from wordveil.errors import WordveilError
from wordveil.text import SELECTIONS
from wordveil.text.replacing import CASES, POLICIES

__all__ = [
    "FIELDS",
    "CalibrationRequest",
    "GuaranteeDetails",
    "Job",
    "MechanismFacts",
    "PrivatizeRequest",
    "PrivatizeResponse",
    "ProblemDetails",
    "SpaceFacts",
    "Tradeoff",
    "Way",
    "WordFacts",
    "WordRequest",
]


class _OneOf:
    """Makes of a str one that must be among some names, which the schema lists."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return literal_schema(self._names)


def _not_rare(name: object) -> object:
    if name == "rare":
        raise WordveilError(
            "the selection rare learns from all records which words are common, and a request has no such collection; "
            "use `wordveil privatize --select rare` on the whole table."
        )
    return name


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


MechanismName = Annotated[str, _OneOf(MECHANISMS)]
SelectionName = Annotated[str, _OneOf(SELECTIONS), BeforeValidator(_not_rare)]
PolicyName = Annotated[str, _OneOf(POLICIES)]
CaseName = Annotated[str, _OneOf(CASES)]
TargetName = Annotated[str, _OneOf(TARGETS)]

Epsilon = Annotated[
    float,
    Field(gt=0, le=1e6, allow_inf_nan=False, description="The privacy loss per unit of the mechanism's distance."),
]
OptionName = Annotated[str, Field(pattern=r"^[a-z_]{1,30}$")]
Option = Annotated[int, Field(ge=-(10**6), le=10**6)] | Annotated[float, Field(allow_inf_nan=False)] | str | bool | None
SpaceName = Annotated[str, Field(max_length=100, description="One of /v1/spaces; the first of them if not given.")]
SpaceKind = Literal["vectors", "hyperbolic"]
Words = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=10_000)]
Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MechanismChoice(_Strict):
    """A mechanism on a space, at an ε."""

    mechanism: MechanismName = Field(default=DEFAULT, description="One of /v1/mechanisms.")
    epsilon: Epsilon
    space: SpaceName | None = None
    options: dict[OptionName, Option] = Field(
        default_factory=dict, description="Options of the mechanism, such as k.", max_length=8
    )


class Way(MechanismChoice):
    """How texts are veiled."""

    select: SelectionName = Field(default="content", description="Which words are veiled.")
    oov: PolicyName = Field(default="replace", description="What becomes of unknown words; keep leaves no guarantee.")
    case: CaseName = Field(
        default="sentence", description="Where capitals come from; copy reveals those of the original."
    )


class PrivatizeRequest(Way):
    """One text or a batch, and how to veil it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "The committee met in Paris.", "epsilon": 6.0},
                {"text": ["One text.", "Another text."], "mechanism": "laplace", "epsilon": 12.0, "select": "all"},
            ]
        }
    )

    text: str | list[str] = Field(description="One text, or a batch.")
    words: Words | None = Field(default=None, description="For the selection words: the words to veil.")
    spans: list[list[Span]] | None = Field(
        default=None, description="For the selection spans: for each text the places to veil, in characters."
    )

    @property
    def texts(self) -> list[str]:
        """The texts, as a batch."""
        return [self.text] if isinstance(self.text, str) else self.text

    @model_validator(mode="after")
    def _are_characters(self) -> PrivatizeRequest:
        if not all(map(_can_be_written, self.texts)):
            raise WordveilError("a text holds half of a surrogate pair, which is no character; take it out.")
        return self

    @model_validator(mode="after")
    def _go_together(self) -> PrivatizeRequest:
        if (self.select == "words") != (self.words is not None):
            raise WordveilError("the selection words and the list words go together: give both or neither.")
        if (self.select == "spans") != (self.spans is not None):
            raise WordveilError("the selection spans and the list spans go together: give both or neither.")
        if self.spans is not None and len(self.spans) != len(self.texts):
            raise WordveilError("spans needs an entry for each text.")
        return self


class ReplacementDetails(BaseModel):
    """Where a word was drawn anew, in characters of the input and of the output; it may have come out the same."""

    start: int
    end: int
    new_start: int
    new_end: int


class ReleaseDetails(BaseModel):
    """A veiled text."""

    text: str
    replacements: list[ReplacementDetails]


class CountDetails(BaseModel):
    """How many words went which way, in all texts of the request."""

    words: int
    left_alone: int
    drawn: int
    outside: int
    numbers: int
    dropped: int
    kept_raw: int


class GuaranteeDetails(BaseModel):
    """What is promised for each veiled word; epsilon is null where nothing is."""

    notion: str
    epsilon: float | None
    metric: str
    unit: str
    delta: float
    pairs: str
    caveats: list[str]
    claim: str
    sentence: str = Field(description="The promise in one sentence for a person.")
    formula: str = Field(description="The promise in one formula for an expert.")


class PrivatizeResponse(BaseModel):
    """The veiled texts, in order."""

    results: list[ReleaseDetails]
    counts: CountDetails
    guarantee: GuaranteeDetails
    budget_left: float | None = Field(description="What the key may still spend, if it has a budget.")


class MechanismFacts(BaseModel):
    """What a mechanism is, what it promises, and what the audit of this version found."""

    name: str
    default: bool
    summary: str
    family: str
    promises: str
    source: str
    audit: str
    claim: str
    options: list[str]
    kinds: list[SpaceKind] = Field(description="The kinds of space that it goes with; see /v1/spaces.")
    smallest_epsilon: float
    largest_epsilon: float


class SpaceFacts(BaseModel):
    """A space of words."""

    name: str
    default: bool
    words: int
    dimension: int
    metric: str
    kind: SpaceKind


class WordRequest(MechanismChoice):
    """A word, in the body so that it stands in no address and no log."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"word": "harbour", "epsilon": 6.0}]})

    word: str = Field(min_length=1, max_length=200)
    top: int = Field(default=15, ge=1, le=100, description="How many outputs to list.")


class Output(BaseModel):
    """A word that may come out, and how likely it is."""

    word: str
    probability: float


class Neighbour(BaseModel):
    """A near word."""

    word: str
    distance: float


class MapNode(BaseModel):
    """A word on the map.

    `ring` counts hops from the word in the middle; x and y are its place in the unit disk, where the map is one.
    """

    word: str
    ring: int
    probability: float
    x: float | None = None
    y: float | None = None


class WordMap(BaseModel):
    """What lies around a word."""

    kind: Literal["graph", "disk"]
    nodes: list[MapNode]
    edges: list[list[int]]


class WordFacts(BaseModel):
    """What a word may become."""

    word: str
    mechanism: str
    epsilon: float
    space: str
    exact: bool = Field(description="Whether the probabilities are exact, or counted from draws.")
    draws: int | None
    stays: float = Field(description="N_w: the probability that the word stays itself.")
    distinct_in_1000_draws: float = Field(description="S_w: how many different words come out in 1,000 draws.")
    words_for_95_percent: int
    outputs: list[Output]
    neighbours: list[Neighbour]
    map: WordMap
    guarantee: GuaranteeDetails


class TradeoffPoint(BaseModel):
    """What a mechanism does at one ε."""

    epsilon: float
    adversary: float = Field(description="How often the best guess is right, all words being equally likely.")
    adversary_frequency: float = Field(description="The same, if the guesser knows word frequencies.")
    kept: float = Field(description="How often a word stays itself.")
    near: float = Field(description="How often it becomes one of its 50 most similar words.")


class Tradeoff(BaseModel):
    """A curve over ε; it has no points where none was measured in advance."""

    mechanism: str
    space: str
    how: str
    options: dict[str, Any] = Field(description="The options of the mechanism that was measured.")
    suspects: int = Field(description="Among how many words the guesser looks.")
    points: list[TradeoffPoint]


class TargetRequest(_Strict):
    """Something that must be true."""

    kind: TargetName
    bound: float = Field(gt=0, allow_inf_nan=False)
    share: float = Field(default=1.0, gt=0, le=1)


class CalibrationRequest(_Strict):
    """What to find out about a mechanism on a space."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"mechanism": "graph", "targets": [{"kind": "stays", "bound": 0.5}]},
                {"mechanism": "graph", "epsilons": [2.0, 3.0], "words": 500},
            ]
        }
    )

    mechanism: MechanismName = DEFAULT
    space: SpaceName | None = None
    options: dict[OptionName, Option] = Field(default_factory=dict, max_length=8)
    epsilons: list[Epsilon] = Field(default_factory=list, max_length=20)
    targets: list[TargetRequest] = Field(default_factory=list, max_length=6)
    points: int = Field(default=10, ge=2, le=20, description="How many ε to look at if none is given.")
    words: int = Field(default=500, ge=1, le=50_000, description="How many words to measure.")
    adversary_words: int = Field(default=2000, ge=1, le=50_000, description="Among how many words the adversary looks.")
    draws: int = Field(default=500, ge=2, le=10_000)


class Job(BaseModel):
    """How far a calibration is, and what it found."""

    id: str
    status: Literal["waiting", "running", "done", "failed"]
    progress: float
    doing: str
    result: dict[str, Any] | None = None
    problem: str | None = None


class ProblemDetails(BaseModel):
    """What is wrong, in one sentence (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


_REQUESTS: tuple[type[BaseModel], ...] = (PrivatizeRequest, WordRequest, CalibrationRequest, TargetRequest)

#: The names that a message may repeat: those of our own fields.
FIELDS = {name for model in _REQUESTS for name in model.model_fields} | {"top", "id"}
