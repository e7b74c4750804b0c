"""The bodies of requests and answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import PydanticKnownError
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function, str_schema

from wordveil._mechanisms import DEFAULT, MECHANISMS
from wordveil.calibration import TARGETS
from wordveil.errors import InputError, OptionError
from wordveil.text import SCOPES, SELECTIONS, languages
from wordveil.text.nonwords import IDENTIFIERS, MARKUP, NUMBERS
from wordveil.text.replacing import CASES, POLICIES

__all__ = [
    "FIELDS",
    "BudgetDetails",
    "CalibrationRequest",
    "CaseName",
    "CountDetails",
    "GuaranteeDetails",
    "Job",
    "MechanismChoice",
    "MechanismFacts",
    "PolicyName",
    "PriceDetails",
    "PrivatizeRequest",
    "PrivatizeResponse",
    "ProblemDetails",
    "SpaceFacts",
    "Tradeoff",
    "Way",
    "WordFacts",
    "WordRequest",
    "check_characters",
]


class _OneOf:
    """Annotates a str that must be one of some names. The names are read at each check, and the schema lists them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def _check(self, name: str) -> str:
        if name not in self._names:
            raise PydanticKnownError("literal_error", {"expected": ", ".join(self._names)})
        return name

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return no_info_after_validator_function(self._check, str_schema())

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self._names)}


def _not_rare(name: object) -> object:
    if name == "rare":
        raise OptionError(
            "the selection rare learns which words are common from a whole collection, which a request does not have; "
            "use `wordveil privatize` on the whole table."
        )
    return name


def _not_moved(name: object) -> object:
    if name == "metric":
        raise OptionError(
            "moved values have an ε of their own, which this service does not charge, so it moves none; use "
            "`wordveil privatize`, or choose placeholder, digits or drop."
        )
    return name


def check_characters(texts: Iterable[str]) -> None:
    """Refuse texts with half of a surrogate pair: no answer could contain them."""
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise InputError("a text contains half of a surrogate pair, which is not a character; remove it.") from None


MechanismName = Annotated[str, _OneOf(MECHANISMS)]
SelectionName = Annotated[str, _OneOf(SELECTIONS), BeforeValidator(_not_rare)]
PolicyName = Annotated[str, _OneOf(POLICIES)]
CaseName = Annotated[str, _OneOf(CASES)]
ScopeName = Annotated[str, _OneOf(SCOPES)]
IdentifiersName = Annotated[str, _OneOf(IDENTIFIERS)]
NumbersName = Annotated[str, _OneOf([name for name in NUMBERS if name != "metric"]), BeforeValidator(_not_moved)]
MarkupName = Annotated[str, _OneOf(MARKUP)]
LanguageName = Annotated[str, _OneOf(languages())]
StreamScope = Annotated[str, _OneOf((*SCOPES, "none"))]
TargetName = Annotated[str, _OneOf(TARGETS)]

Epsilon = Annotated[
    float,
    Field(gt=0, le=1e6, allow_inf_nan=False, description="The privacy loss per unit of the mechanism's distance."),
]
OptionName = Annotated[str, Field(pattern=r"^[a-z_]{1,30}$")]
Option = Annotated[int, Field(ge=-(10**6), le=10**6)] | Annotated[float, Field(allow_inf_nan=False)] | str | bool | None
SpaceName = Annotated[str, Field(max_length=100, description="One of /v1/spaces; the first by default.")]
SpaceKind = Literal["vectors", "hyperbolic"]
Words = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=10_000)]
Conversation = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Names a conversation of this key and user. A text sent again in it with the same settings "
        "returns the same draws and costs nothing.",
    ),
]
EndUser = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Whose text it is, for budgets of end users. Any name will do that stays the same.",
    ),
]
Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _OnSpace(_Strict):
    mechanism: MechanismName = Field(default=DEFAULT, description="One of /v1/mechanisms.")
    space: SpaceName | None = None
    options: dict[OptionName, Option] = Field(
        default_factory=dict, description="Options of the mechanism, such as k.", max_length=8
    )


class MechanismChoice(_OnSpace):
    """A mechanism on a space, at an ε."""

    epsilon: Epsilon


class Way(MechanismChoice):
    """How texts are veiled."""

    select: SelectionName = Field(default="content", description="Which words are veiled.")
    oov: PolicyName = Field(default="replace", description="What to do with unknown words; keep voids the guarantee.")
    case: CaseName = Field(
        default="sentence", description="How words are capitalised; copy reveals the capitals of the original."
    )
    once: ScopeName | None = Field(
        default="record",
        description="Draw equal words once per text (record), per person, or per request (file); null draws each "
        "time. The release then shows which words are equal. The draws are kept for this request only.",
    )
    identifiers: IdentifiersName = Field(
        default="placeholder",
        description="What to do with e-mail addresses, phone numbers, card numbers and the like, wherever they are; "
        "selected releases as they are those that are not selected.",
    )
    numbered: bool = Field(
        default=False, description="Number placeholders, so that equal identifiers share a number within once."
    )
    numbers: NumbersName = Field(
        default="placeholder", description="What to do with numbers, amounts, dates and times."
    )
    markup: MarkupName = Field(default="keep", description="What to do with HTML tags, entities and mail headers.")
    language: LanguageName = Field(
        default="en", description="The language of the texts; the selection content leaves its function words alone."
    )

    @property
    def beyond_words(self) -> dict[str, Any]:
        """The settings for what is not a word, and the language of the words."""
        return {name: getattr(self, name) for name in ("identifiers", "numbered", "numbers", "markup", "language")}


class PrivatizeRequest(Way):
    """One text or a batch, and how to veil it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "The committee met in Paris.", "epsilon": 4.0},
                {"text": ["One text.", "Another text."], "mechanism": "laplace", "epsilon": 12.0, "select": "all"},
            ]
        }
    )

    text: str | list[str] = Field(description="One text, or a batch.")
    words: Words | None = Field(default=None, description="For the selection words: the words to veil.")
    spans: list[list[Span]] | None = Field(
        default=None, description="For the selection spans: the places to veil in each text, in characters."
    )

    people: list[Annotated[str, Field(max_length=1000)] | None] | None = Field(
        default=None, description="For once person: whose text each one is; null for a person of its own."
    )
    conversation: Conversation | None = None
    user: EndUser | None = None

    @property
    def texts(self) -> list[str]:
        """The texts, as a batch."""
        return [self.text] if isinstance(self.text, str) else self.text

    @model_validator(mode="after")
    def _make_sense(self) -> PrivatizeRequest:
        check_characters(self.texts)
        if (self.select == "words") != (self.words is not None):
            raise OptionError("the selection words and the list words go together: give both or neither.")
        if (self.select == "spans") != (self.spans is not None):
            raise OptionError("the selection spans and the list spans go together: give both or neither.")
        if self.spans is not None and len(self.spans) != len(self.texts):
            raise OptionError("spans needs one entry per text.")
        if (self.once == "person") != (self.people is not None):
            raise OptionError("once person and the list people go together: give both or neither.")
        if self.people is not None and len(self.people) != len(self.texts):
            raise OptionError("people needs one entry per text.")
        return self


class ReplacementDetails(BaseModel):
    """Where a word was drawn, in characters of the input and of the output. The draw may have kept it."""

    start: int
    end: int
    new_start: int
    new_end: int


class ReleaseDetails(BaseModel):
    """A veiled text."""

    text: str
    replacements: list[ReplacementDetails]


class CountDetails(BaseModel):
    """What happened to the words, over all texts of the request."""

    words: int
    left_alone: int
    drawn: int
    outside: int
    numbers: int
    identifiers: int
    dropped: int
    kept_raw: int
    repeated: int = Field(description="How many of the drawn words reused the draw of an equal word.")


class GuaranteeDetails(BaseModel):
    """What is guaranteed for each veiled word. Without a guarantee, epsilon is null."""

    notion: str
    epsilon: float | None
    metric: str
    unit: str
    delta: float
    pairs: str
    caveats: list[str]
    claim: str
    sentence: str = Field(description="The guarantee in one sentence.")
    formula: str = Field(description="The guarantee as a formula.")


class PrivatizeResponse(BaseModel):
    """The veiled texts, in order."""

    results: list[ReleaseDetails]
    counts: CountDetails
    guarantee: GuaranteeDetails
    budget_left: float | None = Field(
        description="What is left of the budgets that paid, in the tightest one; null if there is none."
    )
    reused: int = Field(description="How many texts reused draws of this conversation.")


class PriceDetails(BaseModel):
    """What veiling would cost; nothing was drawn."""

    draws: int = Field(description="How many draws would be made, without kept ones.")
    price_of_a_draw: float | None = Field(description="The most that a draw can lose; null if it has no bound.")
    price: float | None
    budget_left: float | None = Field(description="What is left of the budgets that would pay, in the tightest one.")
    fits: bool


class AccountDetails(BaseModel):
    """Where a budget stands."""

    of: Literal["key", "user"]
    budget: float
    period: str | None = Field(description="How often the budget is renewed, in UTC; null for never.")
    since: int | None = Field(description="When the period began, in seconds since 1970.")
    spent: float = Field(description="Spent in this period.")
    left: float = Field(description="Below 0 if the budget was made smaller.")
    ever: float = Field(description="Spent over all periods and resets. Bounds the loss of everything released.")


class BudgetDetails(BaseModel):
    """The budgets of a key, and of an end user if one is named."""

    key: str | None
    budgets: list[AccountDetails]


class MechanismFacts(BaseModel):
    """What a mechanism is, what it guarantees, and what the audit of this version found."""

    name: str
    default: bool
    summary: str
    family: str
    promises: str
    source: str
    audit: str
    claim: str
    options: list[str]
    aliases: dict[str, str] = Field(description="Other names for it, and why they are the same.")
    unproven: bool = Field(description="Whether it guarantees nothing or leaves some words unprotected.")
    kinds: list[SpaceKind] = Field(description="The kinds of space it works on; see /v1/spaces.")
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
    """A word, sent in the body so that no address or log contains it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"word": "harbour", "epsilon": 4.0}]})

    word: str = Field(min_length=1, max_length=200)
    top: int = Field(default=15, ge=1, le=100, description="How many outputs to list.")


class Output(BaseModel):
    """A possible output and its probability."""

    word: str
    probability: float


class Neighbour(BaseModel):
    """A nearby word."""

    word: str
    distance: float


class MapNode(BaseModel):
    """A word on the map.

    `ring` counts hops from the word in the centre. On a disk, x and y are its position in the unit disk.
    """

    word: str
    ring: int
    probability: float
    x: float | None = None
    y: float | None = None


class WordMap(BaseModel):
    """The neighbourhood of a word."""

    kind: Literal["graph", "disk"]
    nodes: list[MapNode]
    edges: list[list[int]]


class WordFacts(BaseModel):
    """What a word may become."""

    word: str
    mechanism: str
    epsilon: float
    space: str
    exact: bool = Field(description="Whether the probabilities are exact; otherwise they are estimated from draws.")
    draws: int | None
    stays: float = Field(description="N_w: the probability that the word stays the same.")
    distinct_in_1000_draws: float = Field(description="S_w: the number of distinct outputs in 1,000 draws.")
    words_for_95_percent: int
    outputs: list[Output]
    neighbours: list[Neighbour]
    map: WordMap
    guarantee: GuaranteeDetails


class AttackerFigure(BaseModel):
    """How often an attacker guesses a veiled word, with its 95% interval."""

    value: float
    low: float
    high: float
    attacker: str = Field(description="Who they are.")
    on: str = Field(description="The texts it was measured on.")
    uses_context: bool = Field(description="Whether they look at the other words of a text.")


class TradeoffPoint(BaseModel):
    """What a mechanism does at one ε."""

    epsilon: float
    adversary: float = Field(
        description="How often an attacker who looks at one word at a time is right, if all words are equally likely."
    )
    adversary_frequency: float = Field(description="The same for an attacker who knows how frequent words are.")
    kept: float = Field(description="How often a word stays the same.")
    near: float = Field(description="How often it becomes one of its 50 most similar words.")
    strongest: AttackerFigure | None = Field(
        description="The strongest attacker measured on public prose; null if there is none."
    )


class Tradeoff(BaseModel):
    """A curve over ε. It has no points if it was not measured in advance."""

    mechanism: str
    space: str
    how: str
    options: dict[str, Any] = Field(description="The options of the mechanism that were measured.")
    suspects: int = Field(description="How many words the attacker chooses from.")
    points: list[TradeoffPoint]


class TargetRequest(_Strict):
    """A condition that ε must meet."""

    kind: TargetName
    bound: float = Field(gt=0, allow_inf_nan=False)
    share: float = Field(default=1.0, gt=0, le=1)


class CalibrationRequest(_OnSpace):
    """What to measure of a mechanism on a space."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"mechanism": "graph", "targets": [{"kind": "stays", "bound": 0.5}]},
                {"mechanism": "graph", "epsilons": [2.0, 4.0], "words": 500},
            ]
        }
    )

    epsilons: list[Epsilon] = Field(default_factory=list, max_length=20)
    targets: list[TargetRequest] = Field(default_factory=list, max_length=6)
    points: int = Field(default=10, ge=2, le=20, description="How many values of ε to try if you give none.")
    words: int = Field(default=500, ge=1, le=50_000, description="How many words to measure.")
    adversary_words: int = Field(default=2000, ge=1, le=50_000, description="How many words the attacker chooses from.")
    draws: int = Field(default=500, ge=2, le=10_000)


class Job(BaseModel):
    """The progress of a calibration, and its result."""

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
    code: str = Field(description="A code that programs can rely on.")
    instance: str | None = Field(default=None, description="The request's id, as in X-Request-ID.")
    needs: float | None = Field(default=None, description="For over-budget: what the request would cost.")
    has: float | None = Field(default=None, description="For over-budget: what is left.")
    epsilon_that_fits: float | None = None


_REQUESTS: tuple[type[BaseModel], ...] = (PrivatizeRequest, WordRequest, CalibrationRequest, TargetRequest)

#: Names that a message may repeat, because they are our own fields.
FIELDS = {name for model in _REQUESTS for name in model.model_fields} | {"top", "id", "draw"}
