"""What all routes share: spaces, mechanisms and veils kept ready, and batches of requests."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from fastapi import Request, Response

from wordveil._mechanisms import MECHANISMS, Mechanism, block, blocked_words, mechanism, option_names
from wordveil.errors import UnprovenError, WordveilError
from wordveil.service import memory
from wordveil.service.attacker import SECONDS, Attacker, make_attacker
from wordveil.service.budgets import Budgets
from wordveil.service.jobs import Jobs
from wordveil.service.kept import Kept, Preparing, Progress
from wordveil.service.keys import Keys, Rates
from wordveil.service.metrics import BATCH
from wordveil.service.problems import Problem, busy, fault, log_fault, problem_of
from wordveil.service.schemas import MechanismChoice, Way
from wordveil.service.settings import SLOW, Key, Settings, traits_of
from wordveil.service.sticky import Sticky
from wordveil.spaces import BUNDLED, EuclideanSpace, PoincareSpace, load_space
from wordveil.text import Document, Once, Release, Veil

__all__ = ["Batcher", "State", "caller", "check_query", "json_response", "state_of"]

Thing = TypeVar("Thing")

_LOG = logging.getLogger("wordveil.service")

_THREADS = 2
_MAKERS = 2  # threads that make mechanisms and the like
_TEXTS = 256  # texts to draw together: more save little, and make the first wait for the last
_CHARACTERS = 1 << 18
_READINGS = 16  # readings that may wait for their turn; more get 503
_ASIDE = 2  # threads for what takes long and is done for one caller alone
_ASIDE_WAITS = 64  # of these that may wait or be done at once; more get 503
_LOOK = 1.0  # seconds between looks at the memory
_GROWN = 1 << 24  # bytes that it grows by until the last mechanism is looked at again
_FIRST_EPSILON = 4.0  # the most likely ε of the first request


def state_of(request: Request) -> State:
    """Return the application's shared state."""
    state: State = request.app.state.shared
    return state


def caller(request: Request) -> Key | None:
    """Return the key of the caller."""
    key: Key | None = request.scope.get("wordveil.key")
    return key


async def check_query(request: Request) -> None:
    """Refuse unknown options in the address, and options given twice, of which only one would count."""
    if not request.scope["query_string"]:
        return
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    if not known.issuperset(given):
        takes = f"takes only the options {', '.join(sorted(known))}" if known else "takes no options"
        raise Problem(422, f"this address {takes}; see /openapi.json.")
    if len(set(given)) < len(given):
        raise Problem(422, "an option is given twice in the address; give each once.")


def json_response(content: Any, status: int = 200) -> Response:
    """Return a JSON response of plain values."""
    return Response(orjson.dumps(content), status, media_type="application/json")


class _Waiting(NamedTuple):
    documents: list[Document]
    answer: asyncio.Future[list[Release]]


class Batcher:
    """Veils the documents of several requests together, in order of arrival.

    While one batch is drawn, the next gathers. There is no timer, so a lone request never waits.
    """

    def __init__(self, veil: Veil, executor: Executor) -> None:
        self.veil = veil
        #: The guarantee as JSON. It is the same for every answer.
        self.guarantee_json = orjson.dumps(veil.guarantee.to_dict())
        self._executor = executor
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, documents: list[Document]) -> list[Release]:
        """Veil the documents of one request."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Release]] = loop.create_future()
        self._waiting.append(_Waiting(documents, answer))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next():
            BATCH.observe(sum(len(one.documents) for one in batch))
            outcomes = await loop.run_in_executor(self._executor, self._together, [one.documents for one in batch])
            for one, outcome in zip(batch, outcomes, strict=True):
                if one.answer.done():  # its request was cancelled
                    continue
                if isinstance(outcome, Exception):
                    one.answer.set_exception(outcome)
                else:
                    one.answer.set_result(outcome)

    def _next(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        texts = characters = 0
        while self._waiting and texts < _TEXTS and characters < _CHARACTERS:
            one = self._waiting.popleft()
            if not one.answer.done():
                batch.append(one)
                texts += len(one.documents)
                characters += sum(len(document.text) for document in one.documents)
        return batch

    def _together(self, requests: list[list[Document]]) -> list[list[Release] | Exception]:
        try:
            releases = iter(self.veil.together([document for documents in requests for document in documents]))
        except Exception as error:  # noqa: BLE001 - goes to the request it belongs to
            if len(requests) == 1:
                return [error]
            # Most likely only one request is at fault, and the others must not suffer for it.
            return [outcome for documents in requests for outcome in self._together([documents])]
        return [[next(releases) for _ in documents] for documents in requests]


class State:
    """Everything that lives as long as the application. Makes what requests ask for, within the settings."""

    def __init__(self, settings: Settings, keys: Keys, folder: Path, secret: bytes | None = None) -> None:
        self.settings, self.keys, self.budgets = settings, keys, Budgets(settings)
        # All processes of a service share the secret and the folder, so that they keep the same draws.
        self.sticky = Sticky(folder, secret or secrets.token_bytes(32), settings.sticky_seconds, settings.sticky_bytes)
        self.jobs = Jobs(folder, settings.jobs, settings.job_timeout)
        self.is_ready = False
        #: Done when the service begins to stop.
        self.stopping: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.rates = Rates(folder, settings.keys)
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="wordveil-draw")
        self._makers = ThreadPoolExecutor(_MAKERS, thread_name_prefix="wordveil-make")
        self._paths = {Path(space).name: space for space in settings.spaces}
        self._spaces: Kept[EuclideanSpace | PoincareSpace] = Kept(len(self._paths), self._makers)
        self._mechanisms: Kept[Mechanism[Any]] = Kept(
            settings.veils, self._makers, kind=lambda key: key[:2], usual=self._usual_seconds
        )
        self._batchers: Kept[Batcher] = Kept(settings.veils, self._makers)
        self._reading, self._reading_waits = asyncio.Semaphore(1), 0
        self._aside, self._aside_waits = ThreadPoolExecutor(_ASIDE, thread_name_prefix="wordveil-aside"), 0
        self._preparing = Preparing()
        self._watching: asyncio.Task[None] | None = None

    @property
    def space_names(self) -> list[str]:
        """The names of the spaces, the default first."""
        return list(self._paths)

    def path(self, name: str | None) -> str:
        """Return the bundled name or the path of a space."""
        chosen = name or self.space_names[0]
        if chosen not in self._paths:
            raise Problem(422, f"the space must be one of {', '.join(self._paths)}.")
        return self._paths[chosen]

    async def space(self, name: str | None) -> EuclideanSpace | PoincareSpace:
        """Open a space by its name."""
        path = self.path(name)
        return await self._spaces.get(path, partial(_opened, path))

    def check_mechanism(self, name: str, options: dict[str, Any]) -> None:
        """Refuse a mechanism or options that the settings do not allow."""
        if options and not self.settings.options:
            raise Problem(422, "this service does not accept options of mechanisms; see the setting options.")
        if name not in self.settings.mechanisms:
            raise Problem(422, f"this service allows the mechanisms {', '.join(self.settings.allowed)}.")
        known = option_names(MECHANISMS[name])
        if not set(options) <= set(known):  # refused here, because the registry would quote the name
            takes = f"takes only the options {', '.join(known)}" if known else "takes no options"
            raise Problem(422, f"the mechanism {name} {takes}.")

    def check_epsilon(self, epsilon: float) -> None:
        """Refuse an ε that the settings do not allow."""
        least, most = self.settings.smallest_epsilon, self.settings.largest_epsilon
        if not least <= epsilon <= most:
            raise Problem(422, f"epsilon must be between {least:g} and {most:g} on this service.")

    def check_choice(self, choice: MechanismChoice) -> None:
        """Refuse a mechanism, options or an ε that the settings do not allow."""
        self.check_mechanism(choice.mechanism, choice.options)
        self.check_epsilon(choice.epsilon)

    async def check_fit(self, name: str, space: str | None) -> None:
        """Refuse a mechanism that does not work on this kind of space, or that is unproven."""
        if (await self.space(space)).kind not in traits_of(name).kinds:
            raise Problem(
                409,
                f"the mechanism {name} does not work on this space; see the kinds of /v1/mechanisms and /v1/spaces.",
            )
        if name not in self.settings.allowed:
            raise _unproven(name)

    async def mechanism(self, choice: MechanismChoice) -> Mechanism[Any]:
        """Return a mechanism, if the settings allow it. It never draws words of the bundled blocklist."""
        self.check_choice(choice)
        space = await self.space(choice.space)
        return await self._mechanisms.get(_key_of(choice), lambda: self._make_ready(choice, space))

    async def prepare(self, choice: MechanismChoice, seconds: float) -> Progress:
        """Have a mechanism made, wait a little, and return how far it is. Raises whatever is wrong with it."""
        making = asyncio.ensure_future(self.mechanism(choice))
        making.add_done_callback(lambda task: task.cancelled() or task.exception())  # unread, asyncio would log it
        await asyncio.wait({making}, timeout=seconds)
        if making.done():
            making.result()
        return self._mechanisms.progress(_key_of(choice))

    def _usual_seconds(self, kind: tuple[str | None, str]) -> float | None:
        space, name = kind
        return SECONDS.get(name) if self.path(space) == BUNDLED[0] else None

    def _make_ready(self, choice: MechanismChoice, space: EuclideanSpace | PoincareSpace) -> Mechanism[Any]:
        made = self._make(choice, space)
        made.draw(
            np.zeros(1, dtype=np.int64)
        )  # some work is done at the first draw; do it here, not in the draw threads
        return made

    def _make(self, choice: MechanismChoice, space: EuclideanSpace | PoincareSpace) -> Mechanism[Any]:
        try:
            made = mechanism(choice.mechanism, space, epsilon=choice.epsilon, **choice.options)
        except WordveilError as error:
            raise problem_of(error, 409) from None
        except (TypeError, ValueError):
            raise Problem(409, f"an option of the mechanism {choice.mechanism} has an invalid value.") from None
        if made.shortfall and not self.settings.unproven:
            raise _unproven(choice.mechanism)
        return block(made, blocked_words())

    async def batcher(self, way: Way, words: list[str] | None = None) -> Batcher:
        """Return the batcher for these settings, which all requests with the same settings share.

        With a list of words it makes a new one: the list may be private, so we do not keep it.
        """
        key = (*_key_of(way), way.select, way.oov, way.case, way.once, *way.beyond_words.values())
        found = None if words is not None else self._batchers.ready(key)
        self._mechanisms.ready(_key_of(way))  # which is used again
        if found is not None:
            return found
        made = await self.mechanism(way)  # the slow part, shared by all that use the same mechanism

        def make() -> Batcher:
            once = None if way.once is None else Once(way.once)
            if once is not None:  # per way: draws of two ways from one secret would not be independent
                once.go_on_with(self.sticky.digest("once", way.model_dump(include=set(Way.model_fields))))
            veil = Veil(
                made, select=way.select, words=words, oov=way.oov, case=way.case, once=once,
                unproven=self.settings.unproven, **way.beyond_words,
            )  # fmt: skip
            return Batcher(veil, self._executor)

        if words is not None:
            return await self.aside(make)
        return await self._batchers.get(key, make)

    async def attacker(
        self, choice: MechanismChoice, select: str, veil: Veil, asker: str, seconds: float
    ) -> Attacker | float:
        """Return the attacker who reads what a veil draws, or how far its preparation is."""
        return await self._preparing.get(
            (*_key_of(choice), select),
            partial(make_attacker, veil.mechanism, select),
            is_exact=veil.mechanism.law().exact,
            caller=asker,
            seconds=seconds,
        )

    async def read(self, work: Callable[..., Thing], *given: Any) -> Thing:
        """Let an attacker read, one text at a time, because reading is slow and draws must not wait for it."""
        if self._reading_waits >= _READINGS:
            raise busy()
        self._reading_waits += 1
        try:
            async with self._reading:
                return await asyncio.to_thread(work, *given)
        finally:
            self._reading_waits -= 1

    async def aside(self, work: Callable[..., Thing], *given: Any) -> Thing:
        """Do what takes long for one caller in threads of its own: charges and draws of others must not wait for it."""
        if self._aside_waits >= _ASIDE_WAITS:
            raise busy()
        self._aside_waits += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._aside, partial(work, *given))
        finally:
            self._aside_waits -= 1

    def pricer(self, way: Way) -> Callable[[float], float]:
        """Return a function that prices a draw at another ε. It raises a `Problem` where that ε is not allowed."""

        def price_at(epsilon: float) -> float:
            self.check_epsilon(epsilon)
            space = self._spaces.ready(self.path(way.space))
            if space is None or way.mechanism == SLOW:
                raise busy()
            return self._make(way.model_copy(update={"epsilon": epsilon}), space).largest_loss

        return price_at

    async def warm(self) -> None:
        """Make what the settings name, or what the first request will most likely need."""
        allowed = self.settings
        first = min(max(_FIRST_EPSILON, allowed.smallest_epsilon), allowed.largest_epsilon)
        asked = [allowed.to_warm(told) for told in allowed.warm]
        if not asked and Way.model_fields["mechanism"].default in allowed.mechanisms:
            asked = [(Way.model_fields["mechanism"].default, first, None)]
        for name, epsilon, space in asked:
            if self.stopping.done():
                return
            making = asyncio.ensure_future(self.batcher(Way(mechanism=name, epsilon=epsilon, space=space)))
            either: set[asyncio.Future[Any]] = {making, self.stopping}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not making.done():  # stopping: it may take minutes, and nobody will ask for it
                making.cancel()
                return
            try:
                batcher = making.result()
            except (Problem, WordveilError) as error:  # requests for it will get the same sentence
                _LOG.warning("%s:%g was not made before the start: %s", name, epsilon, error)
                continue
            await asyncio.to_thread(batcher.veil, "Some first words, zqxj and 12.")
        self._watching = asyncio.create_task(self._watch_memory(memory.resident()))
        self.is_ready = True

    async def _watch_memory(self, before: int) -> None:
        """Forget mechanisms, and what was made of them, while the process holds too much more than at the start.

        Those unused for longest go first, and the last one stays. They take more the longer they are used, so the
        memory is looked at, and not only how many there are. Where the last one, or what is not theirs, is too much by
        itself, nothing is tried again until there is another mechanism or more memory: draws wait for a collection.
        """
        most, left = before + self.settings.kept_bytes, 0
        while True:
            await asyncio.sleep(_LOOK)
            if len(self._mechanisms) < 2 and memory.resident() < left + _GROWN:
                continue
            is_trimmed = False
            while memory.resident() > most:
                if is_trimmed:
                    if len(self._mechanisms) < 2:
                        break
                    self._forget(self._mechanisms.oldest())
                await asyncio.to_thread(memory.give_back)
                is_trimmed = True
            left = memory.resident()

    def _forget(self, key: tuple[Any, ...]) -> None:
        """Drop a mechanism with the veils and attackers that have it."""
        for kept in (self._mechanisms, self._batchers, self._preparing):
            kept.forget(lambda one: one[: len(key)] == key)

    def stop(self) -> None:
        """End streams, whose callers must send the rest again, and stop preparing attackers."""
        self._preparing.stop()
        if not self.stopping.done():
            self.stopping.set_result(None)

    async def close(self) -> None:
        """Stop everything that is running."""
        self.is_ready = False
        if self._watching is not None:
            self._watching.cancel()
        await self.jobs.close()
        self._preparing.stop()
        for unwaited in (self._makers, self._aside):  # nobody waits for these any more
            unwaited.shutdown(wait=False, cancel_futures=True)
        self._executor.shutdown(wait=True, cancel_futures=True)
        self.rates.close()
        self.budgets.close()
        self.sticky.close()


def _opened(path: str) -> EuclideanSpace | PoincareSpace:
    try:
        return load_space(path)
    except WordveilError as error:  # it opened at the start, so this is our fault; the sentence would name the file
        log_fault(error)
        raise fault() from None


def _key_of(choice: MechanismChoice) -> tuple[Any, ...]:
    """Return everything that a mechanism depends on."""
    options = tuple(sorted((name, type(value).__name__, value) for name, value in choice.options.items()))
    return (choice.space, choice.mechanism, choice.epsilon, options)


def _unproven(name: str) -> UnprovenError:
    return UnprovenError(
        f"the mechanism {name} does not protect every word, so this service refuses it; see the setting unproven."
    )
