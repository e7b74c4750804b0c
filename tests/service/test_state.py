"""What a service keeps ready, how much it makes at once, and how far that is."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Service, running
from tests.serving import PATIENCE, until
from wordveil import mechanism
from wordveil.progress import Watch, tell
from wordveil.service import Settings
from wordveil.service.attacker import Attacker
from wordveil.service.kept import Kept, Preparing, Progress
from wordveil.service.keys import Keys
from wordveil.service.problems import Problem
from wordveil.service.state import Batcher, State
from wordveil.spaces import EuclideanSpace
from wordveil.text import Document, Release, Veil


def test_a_flood_of_things_to_make_is_refused_and_what_is_ready_is_not() -> None:
    go_on = threading.Event()

    def slow() -> str:
        go_on.wait(PATIENCE)
        return "made"

    async def flood() -> None:
        with ThreadPoolExecutor(2) as makers:
            kept: Kept[str] = Kept(5, makers, waiting=5)
            assert await kept.get("warm", lambda: "ready") == "ready"
            waiting = [asyncio.create_task(kept.get(number, slow)) for number in range(5)]
            await asyncio.sleep(0)
            with pytest.raises(Problem):
                await kept.get("one more", slow)
            assert await kept.get("warm", slow) == "ready"
            again = asyncio.create_task(kept.get(0, slow))  # for which others wait, too: it is made once
            await asyncio.sleep(0)
            go_on.set()
            assert set(await asyncio.gather(*waiting, again)) == {"made"}
            assert await kept.get("one more", slow) == "made"

    asyncio.run(flood())


def test_what_is_no_longer_kept_leaves_nothing_behind() -> None:
    class Named:
        """A key that can be watched."""

    async def made() -> int:
        with ThreadPoolExecutor(1) as makers:
            kept: Kept[str] = Kept(2, makers)
            names = [Named() for _ in range(20)]
            watched = [weakref.ref(name) for name in names]
            while names:
                await kept.get(names.pop(), lambda: "made")
            await asyncio.sleep(0)
            gc.collect()
            return sum(one() is not None for one in watched)

    assert asyncio.run(made()) <= 3  # two that are kept, and perhaps the one that was made last


def test_a_service_that_is_stopped_while_it_warms_makes_no_more(tmp_path: Path, toy_file: Path) -> None:
    async def stopped() -> bool:
        settings = Settings(spaces=(str(toy_file),), warm=("graph:1", "graph:2"))
        state = State(settings, Keys(settings), tmp_path)
        state.stop()
        await state.warm()
        was_ready = state.is_ready
        await state.close()
        return was_ready

    assert not asyncio.run(stopped())


def test_a_service_that_is_stopped_while_it_makes_something_does_not_wait_for_it(
    tmp_path: Path, toy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> None:
        begun.set()
        go_on.wait(PATIENCE)

    monkeypatch.setattr("wordveil.service.state.mechanism", slow)

    async def stopped() -> tuple[bool, bool]:
        settings = Settings(spaces=(str(toy_file),), warm=("graph:1",))
        state = State(settings, Keys(settings), tmp_path)
        warming = asyncio.create_task(state.warm())
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        state.stop()
        await warming
        found = state.is_ready, go_on.is_set()
        go_on.set()
        await state.close()
        return found

    assert asyncio.run(stopped()) == (False, False)


def test_a_fault_of_one_request_leaves_those_that_are_drawn_with_it_alone(
    toy: EuclideanSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, together = threading.Event(), threading.Event(), Veil.together
    sizes: list[int] = []

    def faulty(veil: Veil, texts: Sequence[Document]) -> list[Release]:
        sizes.append(len(texts))
        begun.set()
        assert go_on.wait(PATIENCE)
        if any(one.text == "fault" for one in texts):
            raise KeyError("a fault of ours")
        return together(veil, texts)

    monkeypatch.setattr(Veil, "together", faulty)

    async def drawn() -> list[Any]:
        with ThreadPoolExecutor(1) as executor:
            batcher = Batcher(Veil(mechanism("graph", toy, epsilon=4.0)), executor)
            first = asyncio.create_task(batcher([Document("first")]))
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            asked = [asyncio.create_task(batcher([Document(text)])) for text in ("one", "fault", "two")]
            await asyncio.sleep(0)  # they gather while the first is drawn
            go_on.set()
            return await asyncio.gather(first, *asked, return_exceptions=True)

    answers = asyncio.run(drawn())
    assert [isinstance(answer, KeyError) for answer in answers] == [False, False, True, False]
    assert sizes == [1, 3, 1, 1, 1]


def test_progress_is_told_by_what_is_done_or_by_how_long_the_last_one_took() -> None:
    told, go_on = threading.Event(), threading.Event()

    def slow(shares: list[float]) -> str:
        for share in shares:
            tell("making", share)
        told.set()
        go_on.wait(PATIENCE)
        return "made"

    async def look() -> None:
        with ThreadPoolExecutor(1) as makers:
            kept: Kept[str] = Kept(8, makers, kind=lambda key: key[0])

            async def made(key: str, shares: list[float]) -> Progress:
                told.clear()
                go_on.clear()
                task = asyncio.create_task(kept.get(key, lambda: slow(shares)))
                await asyncio.to_thread(told.wait)
                found = kept.progress(key)
                go_on.set()
                assert await task == "made"
                assert kept.progress(key) == (1.0, 0.0)
                return found

            assert kept.progress("a1") == (0.0, None)
            assert await made("a1", []) == (None, None)  # nothing is known
            share, left = await made("b1", [0.25])
            assert share == 0.25
            assert left is not None
            expected = kept.progress("a2").seconds_left
            assert expected is not None
            share, left = await made("a2", [])
            assert share is not None
            assert left is not None
            assert 0.0 <= left <= expected

    asyncio.run(look())


def test_a_slow_attacker_keeps_nobody_else_waiting_and_callers_take_turns() -> None:
    go_on = threading.Event()
    made: list[str] = []

    def maker(name: str) -> Any:
        def make(watch: Watch) -> Attacker:
            until(lambda: go_on.is_set() or name == "known")
            watch("learning", 0.5)
            made.append(name)
            return Attacker(None, name)

        return make

    async def ask(preparing: Preparing, name: str, caller: str, seconds: float = 0.0) -> Attacker | float:
        is_exact = name == "known"
        return await preparing.get(name, maker(name), is_exact=is_exact, caller=caller, seconds=seconds)

    async def several() -> None:
        preparing = Preparing()
        for name in ("slow", "second", "third"):  # one caller, of whom the last wish counts
            assert await ask(preparing, name, "greedy") == 0.0
        assert await ask(preparing, "other", "modest") == 0.0
        assert await ask(preparing, "known", "modest", PATIENCE) == Attacker(None, "known")
        go_on.set()
        assert await ask(preparing, "other", "modest", PATIENCE) == Attacker(None, "other")
        assert await ask(preparing, "third", "greedy", PATIENCE) == Attacker(None, "third")
        assert "second" not in made
        assert await ask(preparing, "third", "greedy") == Attacker(None, "third")
        preparing.stop()

    asyncio.run(several())


def test_a_mechanism_can_be_made_before_it_is_needed(toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordveil.service.state import State

    go_on = threading.Event()
    make = State._make

    def slow(*given: Any) -> Any:
        go_on.wait(PATIENCE)
        return make(*given)

    with running(Settings(spaces=(str(toy_file),))) as one:
        monkeypatch.setattr(State, "_make", slow)
        body = {"mechanism": "laplace", "epsilon": 3.5}
        begun = one.post("/v1/prepare?wait=0", body)
        assert (begun.status, begun.json["ready"]) == (202, False)
        go_on.set()
        until(lambda: prepared(one, body))
        assert one.post("/v1/prepare", body).json == {"ready": True, "progress": 1.0, "seconds_left": 0.0}
        assert one.post("/v1/prepare", {**body, "epsilon": 1e9}).status == 422
        assert one.post("/v1/prepare", {"mechanism": "hyperbolic", "epsilon": 3.5}).status == 409


def test_what_is_unused_for_longest_is_forgotten_when_memory_is_short(
    toy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[float] = []
    make, kept = State._make, State._forget
    forgotten: list[float] = []

    def noted(state: State, choice: Any, space: Any) -> Any:
        made.append(choice.epsilon)
        return make(state, choice, space)

    def forget(state: State, key: tuple[Any, ...]) -> None:
        forgotten.append(key[2])
        kept(state, key)

    monkeypatch.setattr(State, "_make", noted)
    monkeypatch.setattr(State, "_forget", forget)
    monkeypatch.setattr("wordveil.service.state._LOOK", 0.01)
    monkeypatch.setattr("wordveil.service.memory.resident", lambda: (len(made) - len(forgotten)) << 20)
    settings = Settings(spaces=(str(toy_file),), warm=("graph:1",), kept_bytes=2 << 20)

    def ask(one: Service, *rates: float) -> None:
        for epsilon in rates:
            assert one.post("/v1/privatize", {"text": "zqa zqb", "epsilon": epsilon}).status == 200

    with running(settings) as one:
        ask(one, 2.0, 3.0, 1.0)  # all fit
        ask(one, 4.0)
        until(lambda: forgotten == [2.0])  # the first was used again
        ask(one, 1.0, 3.0, 4.0)
        assert made == [1.0, 2.0, 3.0, 4.0]
        ask(one, 2.0)
        until(lambda: forgotten == [2.0, 1.0])
        assert made == [1.0, 2.0, 3.0, 4.0, 2.0]


def test_what_cannot_be_forgotten_is_not_collected_again_and_again(
    toy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, collected = list[int](), list[int]()
    held = [0]

    def resident() -> int:
        looks.append(held[0])
        return held[0]

    monkeypatch.setattr("wordveil.service.state._LOOK", 0.01)
    monkeypatch.setattr("wordveil.service.memory.resident", resident)
    monkeypatch.setattr("wordveil.service.memory.give_back", lambda: collected.append(held[0]))
    with running(Settings(spaces=(str(toy_file),), warm=("graph:1",), kept_bytes=1 << 20)) as one:
        held[0] = 100 << 20  # of one mechanism, which stays
        until(lambda: len(collected) == 1)
        seen = len(looks)
        until(lambda: len(looks) > seen + 5)
        assert len(collected) == 1
        held[0] = 200 << 20
        until(lambda: len(collected) == 2)
        assert one.post("/v1/privatize", {"text": "zqa zqb", "epsilon": 2.0}).status == 200
        until(lambda: len(collected) == 4)  # once, and once more after the older of two is forgotten


def test_a_word_that_is_not_there_makes_no_mechanism(toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(Settings(spaces=(str(toy_file),))) as one:
        monkeypatch.setattr(State, "_make", lambda *_: pytest.fail("it was made"))
        body = {"word": "zqxvwjk", "mechanism": "bayes-remap", "epsilon": 3.5}
        assert one.post("/v1/words", body).status == 404
        assert one.post("/v1/words", {**body, "epsilon": 1e9}).status == 422


def prepared(one: Service, body: dict[str, Any]) -> bool:
    return one.post("/v1/prepare", body).status == 200
