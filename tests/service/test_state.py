"""What a service keeps ready, and how much it makes at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from wordveil.service.problems import Problem
from wordveil.service.state import _MOST_MADE, _Kept


def test_a_flood_of_things_to_make_is_refused_and_what_is_ready_is_not() -> None:
    go_on = threading.Event()

    def slow() -> str:
        go_on.wait(60)
        return "made"

    async def flood() -> None:
        with ThreadPoolExecutor(2) as makers:
            kept: _Kept[str] = _Kept(_MOST_MADE, makers)
            assert await kept.get("warm", lambda: "ready") == "ready"
            waiting = [asyncio.create_task(kept.get(number, slow)) for number in range(_MOST_MADE)]
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
