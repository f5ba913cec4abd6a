"""A run as clients follow it."""

from dataclasses import replace
from typing import Any

import pytest

from roost.core.footers import Reasoning
from roost.core.keys import KeyKind, SessionKey
from roost.core.ledger import Counted
from roost.core.messages import AssistantMessage, Image, StopReason, Text, Thinking, ToolCall, Usage
from roost.core.models import ModelRef
from roost.core.previews import (
    ModelAsked,
    Preview,
    RunBegan,
    RunOver,
    SpokenText,
    SpokenThinking,
    ToolBegan,
    ToolOver,
    ToolPrinted,
)
from roost.core.redaction import mask
from roost.core.runs import Outcome, RunState
from roost.core.sessions import Overrides
from roost.core.tools import ToolOutcome
from roost.protocol.convert.turns import Turn, answer, never_answered
from roost.protocol.events import Audience, WireEvent
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.credentials import mixed

RUN = replace(builders.run("r-1"), session_id="s-1")
CALL = ToolCall(id="c-1", name="read", arguments={"path": "a"})
ASKED = ModelAsked(key=MAIN, run_id="r-1", answer=1, model=ModelRef("p", "m"))


def words(text: str) -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), at=5, usage=Usage(output=3))


def spoken(text: str, offset: int = 0, number: int = 1) -> SpokenText:
    return SpokenText(key=MAIN, run_id="r-1", answer=number, offset=offset, text=text)


def ended(state: RunState, said: AssistantMessage | None = None, **more: Any) -> RunOver:
    took = Counted() if said is None else Counted(said.usage)
    return RunOver(run=replace(RUN, outcome=Outcome(state=state, at=9, **more)), words=said, took=took)


def told(turn: Turn, *previews: Preview) -> list[dict[str, Any]]:
    """The payloads, without those for tools' own listeners."""
    events = [event for preview in previews for event in turn.tell(preview, 7)]
    assert all(event.key == MAIN and event.run == "name" for event in events)
    return [dict(event.payload) for event in events if event.audience is Audience.READERS]


def chats(turn: Turn, *previews: Preview) -> list[dict[str, Any]]:
    return [payload for payload in told(turn, *previews) if "state" in payload]


@pytest.fixture
def turn() -> Turn:
    return Turn(RUN, "name", StdlibScanner())


def test_a_run_is_told_of_with_its_first_model_call(turn: Turn) -> None:
    assert turn.tell(RunBegan(run=RUN), 7) == ()
    first = told(turn, ASKED)
    assert [one.get("phase") or one["data"]["phase"] for one in first] == [
        *["preparing_workspace"] * 2,
        *["preparing_context"] * 2,
        "start",
        *["starting_model"] * 2,
        "model",
    ]
    assert first[-1]["data"] == {"phase": "model", "provider": "p", "model": "m"}
    assert first[-1]["sessionId"] == "s-1"
    again = told(turn, replace(ASKED, answer=2))
    assert len(again) == 1


def test_words_are_told_as_they_grow(turn: Turn) -> None:
    deltas = chats(turn, spoken("He "), spoken("said ", 3))
    assert [(one["deltaText"], one["message"]["content"][0]["text"]) for one in deltas] == [
        ("He ", "He "),
        ("said ", "He said "),
    ]
    assert all("replace" not in one for one in deltas)


def test_what_begins_anew_stands_in_the_place_of_what_was_shown(turn: Turn) -> None:
    deltas = chats(
        turn,
        spoken("One "),
        spoken("Two ", number=2),
        spoken("more ", 4, 2),
        spoken("Two mo ", number=2),
    )
    assert [one.get("replace", False) for one in deltas] == [False, True, False, True]
    assert turn.text == "Two mo "


def test_what_a_tool_was_called_for_is_stored_and_what_is_said_after_it_is_not_yet(turn: Turn) -> None:
    told(turn, ASKED, spoken("let me look "))
    assert turn.unstored == "let me look "
    told(turn, ToolBegan(key=MAIN, run_id="r-1", call=CALL))
    assert turn.unstored == ""
    told(turn, ASKED, spoken("I see ", number=2))
    assert turn.unstored == "I see "


def test_thoughts_are_told_apart_from_words(turn: Turn) -> None:
    def thought(text: str, offset: int) -> SpokenThinking:
        return SpokenThinking(key=MAIN, run_id="r-1", answer=1, offset=offset, text=text)

    shown = told(turn, thought("a ", 0), thought("b ", 2))
    assert [one["data"]["text"] for one in shown] == ["a ", "a b "]


def test_the_last_word_is_told_when_a_tool_is_called_or_the_run_ends(turn: Turn) -> None:
    began = ToolBegan(key=MAIN, run_id="r-1", call=CALL)
    deltas = chats(turn, ASKED, spoken("let me look-up"), began, spoken("I see-saw", number=2))
    assert [one.get("deltaText") for one in deltas[3:]] == ["let me ", "look-up", "I "]
    last = chats(turn, ended(RunState.FAILED, error="broken"))
    assert [one.get("deltaText") or one["errorMessage"] for one in last] == ["see-saw", "broken"]


@pytest.mark.requirement("P24")
def test_who_follows_thoughts_or_what_a_tool_prints_is_told_when_something_is_taken_back(turn: Turn) -> None:
    said = ('run it with --password "correct horse ', 'battery staple" now\n')
    pieces = tuple(zip(said, (0, len(said[0])), strict=True))
    previews: list[Preview] = [
        *(SpokenThinking(key=MAIN, run_id="r-1", answer=1, offset=at, text=text) for text, at in pieces),
        ToolBegan(key=MAIN, run_id="r-1", call=CALL),
        *(ToolPrinted(key=MAIN, run_id="r-1", call_id="c-1", offset=at, text=text) for text, at in pieces),
    ]
    events = [event.payload for preview in previews for event in turn.tell(preview, 7)]
    told: list[Any] = [event["data"] for event in events if event.get("stream") != "item"]
    for field in ("delta", "output", "partialResult"):
        view = ""
        for one in (one for one in told if field in one):
            added = one[field] if field != "partialResult" else one[field]["content"][0]["text"]
            view = added if one.get("replace") else view + added
        assert view == 'run it with --password "correc…aple" now\n'


@pytest.mark.requirement("P24")
def test_no_event_of_a_run_tells_a_credential(turn: Turn) -> None:
    secret = "ghp_" + mixed(36)
    halves = [
        spoken(f"it is {secret[:9]}"),
        spoken(f"{secret[9:]} and", 15),
        spoken(" so on", 19 + len(secret) - 9),
    ]
    call = replace(CALL, arguments={"key": secret, "env": {"password": "hunter2"}})
    printed = [
        ToolPrinted(key=MAIN, run_id="r-1", call_id="c-1", offset=0, text=secret[:20]),
        ToolPrinted(key=MAIN, run_id="r-1", call_id="c-1", offset=20, text=f"{secret[20:]}\nok"),
    ]
    thought = SpokenThinking(key=MAIN, run_id="r-1", answer=1, offset=0, text=f"{secret} is")
    outcome = ToolOutcome(content=(Text(secret),), details={"token": secret, "tail": [secret]})
    said = AssistantMessage(content=(Thinking(thinking=secret), Text(f"it is {secret}")), at=5)
    over = replace(ended(RunState.DONE, said), overrides=Overrides(reasoning=Reasoning.ON))
    previews: list[Preview] = [
        ASKED,
        thought,
        *halves,
        ToolBegan(key=MAIN, run_id="r-1", call=call),
        *printed,
        ToolOver(key=MAIN, run_id="r-1", call=call, outcome=outcome),
        over,
    ]
    events = [event.payload for preview in previews for event in turn.tell(preview, 7)]
    assert secret[10:-4] not in repr(events)
    assert "hunter2" not in repr(events)
    assert repr(events).count("ghp_") == repr(events).count(mask(secret)) > 8
    failed = told(Turn(RUN, "name", StdlibScanner()), ended(RunState.FAILED, error=f"refused {secret}"))
    assert secret not in repr(failed)


@pytest.mark.parametrize(("name", "streams"), [("read", 4), ("exec", 5)])
def test_a_tool_is_an_item_for_all_and_in_full_for_who_asked(turn: Turn, name: str, streams: int) -> None:
    call = replace(CALL, name=name)
    outcome = ToolOutcome(content=(Text("ok"), Image(mime="image/png", data="A")), is_error=True)
    previews: tuple[Preview, ...] = (
        ToolBegan(key=MAIN, run_id="r-1", call=call),
        ToolPrinted(key=MAIN, run_id="r-1", call_id="c-1", offset=0, text="out\n"),
        ToolOver(key=MAIN, run_id="r-1", call=call, outcome=outcome),
    )
    events: list[WireEvent] = [event for preview in previews for event in turn.tell(preview, 7)]
    full = [event for event in events if event.audience is Audience.STARTER]
    assert [event.payload for event in events if event.audience is Audience.LISTENERS] == [
        event.payload for event in full
    ]
    result: Any = full[-1].payload["data"]
    assert result["result"]["content"] == [
        {"type": "text", "text": "ok"},
        {"type": "image", "mimeType": "image/png"},
    ]
    items: list[Any] = [event.payload for event in events if event.audience is Audience.READERS]
    assert items[-1]["data"]["status"] == "failed"
    assert len(items) == streams - 1


def test_a_run_that_is_done_ends_with_its_words(turn: Turn) -> None:
    (final,) = chats(turn, ASKED, ended(RunState.DONE, words("Hello")))[-1:]
    assert (final["state"], final["stopReason"]) == ("final", "stop")
    assert final["message"]["content"][0]["text"] == "Hello"
    assert turn.over


def test_a_silent_answer_ends_without_words(turn: Turn) -> None:
    payloads = told(turn, ASKED, ended(RunState.DONE, words("NO_REPLY"), yielded=True))
    assert "message" not in payloads[-1]
    assert payloads[-1]["yielded"] is True
    assert payloads[-2]["data"]["terminalReply"] == {"disposition": "silent"}
    lost = Turn(RUN, "name", StdlibScanner())
    assert chats(lost, RunOver(run=RUN))[-1]["state"] == "final"


def test_a_run_that_was_stopped_ends_with_what_it_had_said(turn: Turn) -> None:
    (aborted,) = chats(turn, ASKED, spoken("He"), ended(RunState.KILLED, error="stopped"))[-1:]
    assert (aborted["state"], aborted["stopReason"], aborted["errorMessage"]) == ("aborted", "rpc", "stopped")
    assert aborted["message"]["content"][0]["text"] == "He"
    silent = Turn(RUN, "name", StdlibScanner())
    assert "message" not in chats(silent, ended(RunState.KILLED))[-1]


@pytest.mark.parametrize(("state", "kind"), [(RunState.TIMEOUT, "timeout"), (RunState.FAILED, "unknown")])
def test_a_run_that_failed_ends_with_its_reason(turn: Turn, state: RunState, kind: str) -> None:
    said = replace(words(""), stop=StopReason.ERROR)
    (failed,) = chats(turn, ended(state, said, error="it broke"))[-1:]
    assert (failed["state"], failed["errorKind"], failed["errorMessage"]) == ("error", kind, "it broke")


def test_the_one_global_session_is_of_no_agent() -> None:
    nobody = replace(RUN, key=SessionKey(agent="", kind=KeyKind.GLOBAL), session_id=None, started_at=None)
    turn = Turn(nobody, "name", StdlibScanner())
    events = turn.tell(ASKED, 7)
    assert all("agentId" not in event.payload and "sessionId" not in event.payload for event in events)
    assert turn.started_at == nobody.queued_at
    assert "agentId" not in answer("n", "global", "", None, 5)
    assert "agentId" not in never_answered("n", "global", "", "why")


def test_what_no_run_answers_is_one_event() -> None:
    assert answer("n", "k", "main", "yes", 5)["message"] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "yes"}],
        "timestamp": 5,
        "model": "gateway-injected",
        "provider": "roost",
    }
    assert never_answered("n", "k", "main", "why")["state"] == "aborted"


@pytest.mark.parametrize(
    ("overrides", "shown"),
    [
        (Overrides(), {}),
        (Overrides(usage="off", reasoning="off"), {}),
        (Overrides(reasoning="on"), {"thinking": "hm"}),
        (Overrides(usage="tokens"), {"usage": {"input", "output", "cacheRead", "cacheWrite", "totalTokens"}}),
        (
            Overrides(usage="full", reasoning="stream"),
            {
                "thinking": "hm",
                "usage": {"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"},
                "provider": "p",
                "model": "m",
            },
        ),
    ],
)
def test_an_answer_is_told_with_what_its_session_shows(
    turn: Turn, overrides: Overrides, shown: dict[str, Any]
) -> None:
    said = AssistantMessage(
        content=(Thinking(thinking="hm"), Text("yes")), at=5, provider="p", model="m", usage=Usage(output=3)
    )
    events = turn.tell(replace(ended(RunState.DONE, said), overrides=overrides), 7)
    message = next(event.payload["message"] for event in events if event.payload.get("state") == "final")
    assert isinstance(message, dict)
    *before, words = message["content"]
    assert words == {"type": "text", "text": "yes"}
    thoughts = {"thinking": before[0]["thinking"]} if before else {}
    usage = {"usage": set(message["usage"])} if "usage" in message else {}
    named = {name: message[name] for name in ("provider", "model") if name in message}
    assert {**thoughts, **usage, **named} == shown


def test_figures_that_no_provider_counted_are_told_as_estimated(turn: Turn) -> None:
    said = AssistantMessage(content=(Text("yes"),), at=5, provider="p", model="m")
    about = Counted(Usage(input=8, output=3, total=11), estimated=True)
    over = replace(ended(RunState.DONE, said), took=about, overrides=Overrides(usage="tokens"))
    payloads = [event.payload for event in turn.tell(over, 7)]
    message = next(payload["message"] for payload in payloads if payload.get("state") == "final")
    assert isinstance(message, dict)
    assert message["usage"] == {
        "input": 8,
        "output": 3,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 11,
        "estimated": True,
    }
    spent = next(payload["data"] for payload in payloads if payload.get("stream") == "usage")
    assert spent == {"outputTokens": 3, "estimated": True}
