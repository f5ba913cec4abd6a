"""What becomes of one message, read from the events of its run. Pure."""

from dataclasses import dataclass
from typing import TypeAlias

from roost.client.errors import TurnFailed
from roost.client.events import Event
from roost.core.jsonvalue import JsonObject, JsonValue, as_object
from roost.protocol.events import AGENT, CHAT, NO_MODEL

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More of the answer: `text` is all of it so far, and `added` the end of it, unless all of it is new."""

    text: str
    added: str
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """What the model thinks before it answers, all of it so far; told where the session shows its reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A tool began, or is done."""

    name: str
    running: bool
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the last call of a turn took, or about that where its provider did not say; `model` and `cost`, in dollars, only
    where the session shows them too."""

    tokens_in: int
    tokens_out: int
    model: str | None = None
    cost: float = 0.0
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end. `text` is None for what was answered without words, and as long as it is not answered for what joined
    another turn; `figures` are told where the session shows them. `aside` is what the gateway says itself, also while a
    turn goes on: the answer of a command."""

    text: str | None
    figures: Figures | None = None
    aside: bool = False


Piece: TypeAlias = Delta | Thought | ToolStep | Answer


class Turn:
    """The run of one message, by the name its client gave it. Others may go by the same in other sessions: `session` is the
    key of its own, once that is known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.session: str | None = None
        self.text = ""

    def is_told_by(self, event: Event) -> bool:
        if event.payload.get("runId") != self.name:
            return False
        return self.session is None or event.payload.get("sessionKey", self.session) == self.session

    def hear(self, event: Event) -> Piece | None:
        """What an event of this run says; raises `TurnFailed` for an end without an answer."""
        if event.name == CHAT:
            return self._chat(event.payload)
        if event.name != AGENT:
            return None
        data = as_object(event.payload.get("data"))
        match event.payload.get("stream"):
            case "item":
                return _step(data)
            case "thinking":
                return Thought(text=str(data.get("text") or ""))
            case _:
                return None

    def _chat(self, payload: JsonObject) -> Piece | None:
        match payload.get("state"):
            case "delta":
                self.text = message_text(as_object(payload.get("message")))
                added = str(payload.get("deltaText") or "")
                return Delta(text=self.text, added=added, replaces=payload.get("replace") is True)
            case "final":
                message = as_object(payload.get("message"))
                aside = message.get("model") == NO_MODEL
                return Answer(text=message_text(message) or None, figures=_figures(message), aside=aside)
            case "aborted" | "error" as state:
                reason = str(payload.get("errorMessage") or NO_ANSWER)
                raise TurnFailed(reason, text=self.text, stopped=state == "aborted")
            case _:
                return None


def waited(answer: JsonObject) -> Answer | None:
    """What `agent.wait` says of a run; None while it goes on."""
    reply = as_object(answer.get("terminalReply"))
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


def _figures(message: JsonObject) -> Figures | None:
    usage, model = as_object(message.get("usage")), message.get("model")
    tokens_in, tokens_out = usage.get("input"), usage.get("output")
    if not isinstance(tokens_in, int) or not isinstance(tokens_out, int):
        return None
    estimated = usage.get("estimated") is True
    if not isinstance(model, str):
        return Figures(tokens_in=tokens_in, tokens_out=tokens_out, estimated=estimated)
    cost = as_object(usage.get("cost")).get("total")
    return Figures(
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        model=f"{message.get('provider')}/{model}",
        cost=cost if isinstance(cost, int | float) else 0.0,
        estimated=estimated,
    )


def _step(data: JsonObject) -> ToolStep | None:
    name = data.get("name")
    if not isinstance(name, str):
        return None
    return ToolStep(name=name, running=data.get("phase") == "start", failed=data.get("status") == "failed")
