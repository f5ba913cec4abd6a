"""What becomes of one message, read from the events of its run. Pure."""

from dataclasses import dataclass
from typing import TypeAlias

from roost.client.errors import TurnFailed
from roost.client.events import Event
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.events import AGENT, CHAT

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More of the answer: `text` is all of it so far, and `added` the end of it, unless all of it is new."""

    text: str
    added: str
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A tool began, or is done."""

    name: str
    running: bool
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end. None for what was answered without words, or within another turn."""

    text: str | None


Piece: TypeAlias = Delta | ToolStep | Answer


class Turn:
    """The run of one message, by the name its client gave it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.text = ""

    def is_told_by(self, event: Event) -> bool:
        return event.payload.get("runId") == self._name

    def hear(self, event: Event) -> Piece | None:
        """What an event of this run says; raises `TurnFailed` for an end without an answer."""
        if event.name == CHAT:
            return self._chat(event.payload)
        if event.name == AGENT and event.payload.get("stream") == "item":
            return _step(_object(event.payload.get("data")))
        return None

    def _chat(self, payload: JsonObject) -> Piece | None:
        match payload.get("state"):
            case "delta":
                self.text = message_text(_object(payload.get("message")))
                added = str(payload.get("deltaText") or "")
                return Delta(text=self.text, added=added, replaces=payload.get("replace") is True)
            case "final":
                return Answer(text=message_text(_object(payload.get("message"))) or None)
            case "aborted" | "error" as state:
                reason = str(payload.get("errorMessage") or NO_ANSWER)
                raise TurnFailed(reason, text=self.text, stopped=state == "aborted")
            case _:
                return None


def waited(answer: JsonObject) -> Answer | None:
    """What `agent.wait` says of a run; None while it goes on."""
    reply = _object(answer.get("terminalReply"))
    match answer.get("status"):
        case "ok":
            text = reply.get("text")
            return Answer(text=text if isinstance(text, str) else None)
        case "error":
            raise TurnFailed(str(answer.get("error") or NO_ANSWER))
        case _ if "endedAt" in answer:
            raise TurnFailed("stopped", stopped=True)
        case _:
            return None


def message_text(message: JsonObject) -> str:
    """The words of a message row."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(_words(block) for block in blocks)


def _words(block: JsonValue) -> str:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _step(data: JsonObject) -> ToolStep | None:
    name = data.get("name")
    if not isinstance(name, str):
        return None
    return ToolStep(name=name, running=data.get("phase") == "start", failed=data.get("status") == "failed")


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
