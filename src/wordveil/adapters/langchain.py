"""LangChain middleware that veils what users write and tools answer before the model sees it."""
# ruff: noqa: E402 - a missing package is reported before it is imported

from __future__ import annotations

import asyncio
import hashlib
import json
import operator
from collections.abc import Callable
from typing import Annotated, Any

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs

needs("langchain", "langchain", "wordveil.adapters.langchain")
from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from typing_extensions import NotRequired

from wordveil.adapters._cells import check_veil
from wordveil.text import Document, Veil
from wordveil.text.conversation import Policy, Writer

__all__ = ["VeilMiddleware"]

_ROLES = {HumanMessage: None, SystemMessage: "system", AIMessage: "assistant", ToolMessage: "results"}
_DONE = "wordveil_done"


class _State(AgentState[Any]):  # type: ignore[misc] # mypy does not look at LangChain
    """The agent's state, extended by a hash of each message that may be sent as it is."""

    wordveil_done: NotRequired[Annotated[dict[str, str], PrivateStateAttr, operator.or_]]  # type: ignore[valid-type] # mypy sees no type; the reducer must come last


class VeilMiddleware(AgentMiddleware[Any, Any, Any]):  # type: ignore[misc] # likewise
    """Veils the messages of an agent before each call of its model.

    The veiled message replaces the original in the agent's state, and so in what a checkpointer keeps. A message is
    veiled once. When it comes again, unchanged or with a history that the caller sends again, it gets the same draws.
    Whatever cannot be veiled stops the agent before the model is called.

    Parameters
    ----------
    veil : Veil
        Veils them. It needs ``once="person"``.
    system : {"leave", "veil", "refuse"}
        What to do with system messages in the state. The agent's own system prompt is always left alone.
    assistant : {"veil", "leave"}
        What to do with model messages that this agent's model did not write.
    results : {"veil", "leave", "refuse"}
        What to do with the answers of tools.
    other : {"refuse", "drop"}
        What to do with pictures, sound, files, names of participants and unknown fields.
    scope : callable, optional
        Returns a string that says whose conversation it is, from the state and LangGraph's runtime. Equal messages in
        different scopes get different draws. Without it, everything that this object veils has one scope.

    Raises
    ------
    OptionError
        If the veil draws anew each time, or a choice is not one of those above.

    Examples
    --------
    >>> import wordveil
    >>> from langchain.agents import create_agent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> middleware = VeilMiddleware(wordveil.Veil(epsilon=4, once="person"))
    >>> agent = create_agent(FakeListChatModel(responses=["Done."]), middleware=[middleware])
    >>> ask = {"role": "user", "content": "Write to mary@example.org."}
    >>> "<EMAIL>" in agent.invoke({"messages": [ask]})["messages"][0].content
    True
    """

    state_schema = _State

    def __init__(
        self,
        veil: Veil,
        *,
        system: str = "leave",
        assistant: str = "veil",
        results: str = "veil",
        other: str = "refuse",
        scope: Callable[[Any, Any], str] | None = None,
    ) -> None:
        super().__init__()
        check_veil(veil)
        if veil.once is None or veil.once.scope != "person":
            raise OptionError("the middleware needs a veil with once='person', or a history would be drawn again.")
        self._veil, self._scope = veil, scope
        self._policy = Policy(system, assistant, results, other=other).check()

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Veil the messages that have not been veiled yet."""
        done = state.get(_DONE) or {}
        waiting = [one for one in state["messages"] if one.id is None or done.get(one.id) != _hash(one)]
        if not waiting:
            return None
        writer = Writer(self._policy)
        changed = [(message, self._written(message, writer)) for message in waiting]
        texts, scope = writer.texts, "" if self._scope is None else self._scope(state, runtime)
        releases = self._veil.together([Document(text, scope=f"{scope}\0{text}") for text in texts])
        writer.fill(release.text for release in releases)
        made = [message.model_copy(update=update) for message, update in changed]
        return {"messages": made, _DONE: {one.id: _hash(one) for one in made}}

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Veil the messages that have not been veiled yet, in a thread."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's form
        """Note what the model wrote. It has seen only veiled text, so its message needs no veil."""
        wrote = next((one for one in reversed(state["messages"]) if isinstance(one, AIMessage)), None)
        return {_DONE: {wrote.id: _hash(wrote)}} if wrote is not None and wrote.id else None

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Note what the model wrote."""
        return self.after_model(state, runtime)

    def _written(self, message: BaseMessage, writer: Writer) -> dict[str, Any]:
        """Return what to update in a message, with gaps for the veiled texts."""
        if type(message) not in _ROLES or message.id is None:
            raise InputError("a message must be a human's, the system's, the model's or a tool's, and have an id.")
        way = writer.way(_ROLES[type(message)])
        made: dict[str, Any] = {}
        writer.content(made, "content", message.content, way)
        if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls) and way != "leave":
            raise InputError("calls of tools that the model did not write cannot be veiled.")
        if way != "leave" and message.additional_kwargs:
            writer.other("a field of a message")
            made["additional_kwargs"] = {}
        if message.name and not isinstance(message, ToolMessage) and way != "leave":
            writer.other("the name of a participant")
            made["name"] = None
        return made


def _hash(message: BaseMessage) -> str:
    """Return a hash that identifies a message. With another text under the same id, it is another message."""
    told = [
        message.type,
        message.content,
        message.name,
        message.additional_kwargs,
        getattr(message, "tool_calls", None),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=repr).encode()).hexdigest()
