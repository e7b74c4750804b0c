"""The middleware in a real agent, with a model that keeps what it is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from wordveil import InputError, OptionError, Veil

pytest.importorskip("langchain", reason="the LangChain adapter is not tested: it is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries warn on import, of themselves

SAID = "The harbour burned; write to mary@example.org."


@pytest.fixture(scope="module")
def once(far: Veil) -> Veil:
    return Veil(far.mechanism, once="person")


def agent_of(veil: Veil, replies: list[Any] | None = None, **options: Any) -> tuple[Any, list[list[Any]]]:
    """Make an agent, and the list in which what its model is sent will stand."""
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver

    from wordveil.adapters.langchain import VeilMiddleware

    sent: list[list[Any]] = []

    class Model(GenericFakeChatModel):  # type: ignore[misc] # LangChain is not looked at by mypy
        def _generate(self, messages: Any, *rest: Any, **more: Any) -> Any:
            sent.append([one.model_copy() for one in messages])
            return super()._generate(messages, *rest, **more)

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    def search(query: str) -> str:
        """Look something up."""
        return f"The harbour of {query} belongs to zoe@example.net."

    made = Model(messages=iter(replies or [AIMessage("Done, by the harbour.") for _ in range(9)]))
    agent = create_agent(
        made, tools=[search], middleware=[VeilMiddleware(veil, **options)], system_prompt="Mind the harbour.",
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    return agent, sent


def config(thread: str = "1") -> Any:
    return {"configurable": {"thread_id": thread}}


def test_users_are_veiled_and_the_rest_is_not(once: Veil) -> None:
    agent, sent = agent_of(once)
    agent.invoke({"messages": [("user", SAID)]}, config())
    state = agent.invoke({"messages": [("user", [{"type": "text", "text": SAID}])]}, config())
    (system, human), (_, again, reply, parts) = sent
    assert system.content == "Mind the harbour."
    assert "harbour" not in human.content
    assert "<EMAIL>" in human.content
    assert again.content == human.content  # kept in the state
    assert reply.content == "Done, by the harbour."  # the model wrote it
    assert parts.content[0]["text"] == human.content  # the same message, the same draw
    assert SAID not in str(state)


def test_a_history_that_is_sent_again_is_not_drawn_again(once: Veil) -> None:
    agent, sent = agent_of(once)
    history = [("user", SAID), ("assistant", "The harbour?")]
    for thread in ("1", "2"):
        asyncio.run(agent.ainvoke({"messages": [*history, ("user", "Yes.")]}, config(thread)))
    first, second = ([one.content for one in messages] for messages in sent)
    assert first == second
    assert "harbour" not in " ".join(first[1:])  # this model did not write the reply


def test_another_text_under_the_same_id(once: Veil) -> None:
    from langchain_core.messages import HumanMessage

    agent, sent = agent_of(once)
    agent.invoke({"messages": [HumanMessage("Hello there.", id="a")]}, config())
    agent.invoke({"messages": [HumanMessage(SAID, id="a")], "wordveil_done": {"a": "b"}}, config())
    assert "harbour" not in sent[1][1].content


@pytest.mark.parametrize("results", ["veil", "leave"])
def test_answers_of_tools(once: Veil, results: str) -> None:
    from langchain_core.messages import AIMessage

    call = {"name": "search", "args": {"query": "Leith"}, "id": "call_1", "type": "tool_call"}
    agent, sent = agent_of(once, [AIMessage("", tool_calls=[call]), AIMessage("Done.")], results=results)
    agent.invoke({"messages": [("user", "Whose is it?")]}, config())
    *_, asked, answer = sent[1]
    assert asked.tool_calls[0]["args"] == {"query": "Leith"}
    assert ("zoe@example.net" in answer.content) == (results == "leave")


def bad_messages() -> dict[str, Any]:
    from langchain_core.messages import AIMessage, ChatMessage, HumanMessage

    call = {"name": "search", "args": {"query": SAID}, "id": "call_1", "type": "tool_call"}
    return {
        "a picture": HumanMessage([{"type": "image_url", "image_url": {"url": SAID}}]),
        "a role": ChatMessage(SAID, role="oracle"),
        "a name": HumanMessage("a", name="mary"),
        "fields": HumanMessage("a", additional_kwargs={"note": SAID}),
        "calls": [AIMessage("", tool_calls=[call]), ("user", "a")],
    }


@pytest.mark.parametrize("name", ["a picture", "a role", "a name", "fields", "calls"])
def test_what_cannot_be_veiled_stops_the_agent(once: Veil, name: str) -> None:
    agent, sent = agent_of(once)
    with pytest.raises(InputError):
        agent.invoke({"messages": bad_messages()[name]}, config())
    assert sent == []


def test_what_is_dropped_is_not_sent(once: Veil) -> None:
    agent, sent = agent_of(once, other="drop")
    for name in ("a picture", "a name", "fields"):
        agent.invoke({"messages": bad_messages()[name]}, config(name))
    shown = [(one[1].content, one[1].name, one[1].additional_kwargs) for one in sent]
    assert shown[0] == ([], None, {})
    assert [rest for _, *rest in shown] == [[None, {}]] * 3


def test_choices_that_make_no_sense(once: Veil, far: Veil) -> None:
    from wordveil.adapters.langchain import VeilMiddleware

    with pytest.raises(OptionError):
        VeilMiddleware(far)
    with pytest.raises(OptionError):
        VeilMiddleware(once, system="ignore")
    no_veil: Any = 4
    with pytest.raises(OptionError):
        VeilMiddleware(no_veil)


def test_scopes(once: Veil) -> None:
    agent, sent = agent_of(once, scope=lambda state, _: str(len(state["messages"])))
    agent.invoke({"messages": [("user", SAID)]}, config("1"))
    agent.invoke({"messages": [("user", "a"), ("user", SAID)]}, config("2"))
    assert sent[0][1].content != sent[1][2].content
