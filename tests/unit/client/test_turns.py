"""What becomes of one message."""

import pytest

from roost.client.errors import TurnFailed
from roost.client.events import Event
from roost.client.turns import Answer, Delta, Figures, Thought, ToolStep, Turn, message_text, waited
from roost.core.jsonvalue import JsonValue


def words(text: str) -> JsonValue:
    return {"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "toolCall"}]}


def chat(state: str, **more: JsonValue) -> Event:
    return Event(name="chat", payload={"runId": "r", "state": state, **more})


def item(**data: JsonValue) -> Event:
    return Event(name="agent", payload={"runId": "r", "stream": "item", "data": data})


def test_the_answer_grows_and_may_begin_anew() -> None:
    turn = Turn("r")
    assert turn.hear(chat("status", phase="x")) is None
    assert turn.hear(chat("delta", deltaText="a", message=words("a"))) == Delta(text="a", added="a")
    assert turn.hear(chat("delta", deltaText="b", message=words("b"), replace=True)) == Delta(
        text="b", added="b", replaces=True
    )
    assert turn.hear(chat("final", message=words("b!"))) == Answer(text="b!")
    assert turn.hear(chat("final")) == Answer(text=None)


def test_what_is_thought_and_what_it_took_are_told_where_the_session_shows_them() -> None:
    turn = Turn("r")
    thinking = Event(name="agent", payload={"runId": "r", "stream": "thinking", "data": {"text": "hm"}})
    assert turn.hear(thinking) == Thought(text="hm")
    tokens: JsonValue = {"content": "a", "usage": {"input": 5, "output": 2}}
    assert turn.hear(chat("final", message=tokens)) == Answer(
        text="a", figures=Figures(tokens_in=5, tokens_out=2)
    )
    usage: JsonValue = {"input": 5, "output": 2, "cost": {"total": 0.25}}
    full: JsonValue = {"content": "a", "usage": usage, "provider": "p", "model": "m"}
    assert turn.hear(chat("final", message=full)) == Answer(
        text="a", figures=Figures(tokens_in=5, tokens_out=2, model="p/m", cost=0.25)
    )
    about: JsonValue = {"content": "a", "usage": {"input": 5, "output": 2, "estimated": True}}
    assert turn.hear(chat("final", message=about)) == Answer(
        text="a", figures=Figures(tokens_in=5, tokens_out=2, estimated=True)
    )
    free: JsonValue = {"content": "a", "usage": {"input": 5, "output": 2}, "provider": "p", "model": "m"}
    assert turn.hear(chat("final", message=free)) == Answer(
        text="a", figures=Figures(tokens_in=5, tokens_out=2, model="p/m")
    )


def test_tools_are_told_of() -> None:
    turn = Turn("r")
    assert turn.hear(item(name="exec", phase="start")) == ToolStep(name="exec", running=True)
    assert turn.hear(item(name="exec", phase="end", status="failed")) == ToolStep(
        name="exec", running=False, failed=True
    )
    assert turn.hear(item()) is None
    assert turn.hear(Event(name="agent", payload={"runId": "r", "stream": "usage"})) is None


def test_other_runs_and_other_events_say_nothing_of_it() -> None:
    assert not Turn("other").is_told_by(chat("final"))
    assert Turn("r").is_told_by(chat("final"))
    assert Turn("r").hear(Event(name="tick", payload={"runId": "r"})) is None


@pytest.mark.parametrize(("state", "stopped"), [("error", False), ("aborted", True)])
def test_an_end_without_an_answer_is_raised_with_what_was_said(state: str, *, stopped: bool) -> None:
    turn = Turn("r")
    turn.hear(chat("delta", deltaText="half", message=words("half")))
    with pytest.raises(TurnFailed, match="broke") as raised:
        turn.hear(chat(state, errorMessage="it broke"))
    assert (raised.value.text, raised.value.stopped) == ("half", stopped)


def test_what_was_waited_for_is_over_or_not() -> None:
    assert waited({"status": "timeout"}) is None
    assert waited({"status": "ok", "terminalReply": {"text": "hi"}}) == Answer(text="hi")
    assert waited({"status": "ok", "terminalReply": {"disposition": "silent"}}) == Answer(text=None)
    with pytest.raises(TurnFailed, match="broke"):
        waited({"status": "error", "error": "broke"})
    with pytest.raises(TurnFailed, match="stopped"):
        waited({"status": "timeout", "endedAt": 5})


def test_the_words_of_a_message_are_its_text() -> None:
    assert message_text({"content": "plain"}) == "plain"
    assert message_text({"content": ["odd", {"type": "text", "text": "a"}]}) == "a"
    assert message_text({}) == ""
