"""One run as clients follow it: `chat` for the words, `agent` for everything else. Values in, events out."""

from typing import assert_never

from roost.core import toolnames
from roost.core.endings import visible
from roost.core.growing import Growing, Growth
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.ledger import Counted
from roost.core.messages import Image, Text, text_of
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
from roost.core.redaction import SecretScanner, redact
from roost.core.runs import Outcome, Run, RunState
from roost.core.tools import ToolOutcome
from roost.protocol.convert.messages import (
    INJECTED,
    answer_message,
    masked_fields,
    masked_message,
    text_message,
)
from roost.protocol.events import AGENT, CHAT, TOOL, Audience, WireEvent

NOT_SAID = "no answer"
STOPPED = "rpc"


class Turn:
    """What was told of one run, without the secrets in it. `name` is what clients know it by."""

    def __init__(self, run: Run, name: str, scanner: SecretScanner) -> None:
        self.run = run
        self.name = name
        self.over = False
        self._scanner = scanner
        self._words = Growing(scanner)
        self._thoughts = Growing(scanner)
        self._printed: dict[str, Growing] = {}
        self._seq = 0
        self._answer = 0
        self._begun = False
        self._stored = False

    @property
    def text(self) -> str:
        """What is shown of the answer."""
        return self._words.shown

    @property
    def unstored(self) -> str:
        """What was said and is not in the transcript yet."""
        return "" if self._stored else self.text

    @property
    def started_at(self) -> int:
        return self.run.started_at or self.run.queued_at

    def tell(self, preview: Preview, now: int) -> tuple[WireEvent, ...]:
        """A turn that begins is told of with its first model call: what it answers is in the transcript by then."""
        match preview:
            case RunBegan():
                return ()
            case ModelAsked():
                self._stored = True
                data: JsonObject = {
                    "phase": "model",
                    "provider": preview.model.provider,
                    "model": preview.model.model,
                }
                return (*self._begin(now), self._agent("lifecycle", data, now))
            case SpokenText():
                return self._spoken(preview, now)
            case SpokenThinking():
                return self._thinking(_grown(self._thoughts, preview.offset, preview.text), now)
            case ToolBegan():
                return self._tool_began(preview, now)
            case ToolPrinted():
                return self._tool_printed(preview, now)
            case ToolOver():
                return self._tool_over(preview, now)
            case RunOver():
                return self._ended(preview, now)
            case _:
                assert_never(preview)

    # -- beginning and words -------------------------------------------------------------------------

    def _begin(self, now: int) -> tuple[WireEvent, ...]:
        if self._begun:
            return ()
        self._begun = True
        start: JsonObject = {"phase": "start", "startedAt": self.started_at}
        return (
            *self._phase("preparing_workspace", now),
            *self._phase("preparing_context", now),
            self._agent("lifecycle", start, now),
            *self._phase("starting_model", now),
        )

    def _phase(self, phase: str, now: int) -> tuple[WireEvent, ...]:
        told = self._agent("run_status", {"phase": phase}, now)
        return (self._chat("status", {"phase": phase}), told)

    def _spoken(self, piece: SpokenText, now: int) -> tuple[WireEvent, ...]:
        if piece.answer != self._answer:
            self._words.begin()
        self._answer, self._stored = piece.answer, False
        thought = self._thinking(self._thoughts.end(), now)
        return (*thought, *self._said(_grown(self._words, piece.offset, piece.text), now))

    def _said(self, growth: Growth | None, now: int) -> tuple[WireEvent, ...]:
        if growth is None:
            return ()
        more = _replacing(growth)
        data: JsonObject = {
            "text": self.text,
            "delta": growth.added,
            "itemId": f"answer:{self._answer}",
            **more,
        }
        said = self._agent("assistant", data, now)
        shown: JsonObject = {"deltaText": growth.added, "message": text_message(self.text, now), **more}
        return (said, self._chat("delta", shown))

    def _thinking(self, growth: Growth | None, now: int) -> tuple[WireEvent, ...]:
        if growth is None:
            return ()
        thought: JsonObject = {"text": self._thoughts.shown, "delta": growth.added, **_replacing(growth)}
        return (self._agent("thinking", thought, now),)

    def _complete(self, now: int) -> tuple[WireEvent, ...]:
        """What was held back of what is said by now."""
        return (*self._thinking(self._thoughts.end(), now), *self._said(self._words.end(), now))

    # -- tools ---------------------------------------------------------------------------------------

    def _tool_began(self, began: ToolBegan, now: int) -> tuple[WireEvent, ...]:
        # Before it is called, the answer that asks for it is stored.
        rest, self._stored = self._complete(now), True
        call = began.call
        item: JsonObject = {
            **_item(call.id, call.name),
            "phase": "start",
            "status": "running",
            "startedAt": now,
        }
        data: JsonObject = {
            "phase": "start",
            "name": call.name,
            "toolCallId": call.id,
            "args": masked_fields(call.arguments, self._scanner),
        }
        return (*rest, self._agent("item", item, now), *self._tool(data, now))

    def _tool_printed(self, printed: ToolPrinted, now: int) -> tuple[WireEvent, ...]:
        output = self._printed.setdefault(printed.call_id, Growing(self._scanner))
        return self._output(printed.call_id, _grown(output, printed.offset, printed.text), now)

    def _output(self, call_id: str, growth: Growth | None, now: int) -> tuple[WireEvent, ...]:
        if growth is None:
            return ()
        more, content = _replacing(growth), [{"type": "text", "text": growth.added}]
        data: JsonObject = {
            "phase": "update",
            "toolCallId": call_id,
            "partialResult": {"content": content},
            **more,
        }
        output: JsonObject = {
            "itemId": f"command:{call_id}",
            "phase": "delta",
            "output": growth.added,
            "status": "running",
            **more,
        }
        return (*self._tool(data, now), self._agent("command_output", output, now))

    def _tool_over(self, over: ToolOver, now: int) -> tuple[WireEvent, ...]:
        call, outcome = over.call, over.outcome
        printed = self._printed.pop(call.id, None)
        rest = self._output(call.id, printed.end(), now) if printed else ()
        status = "failed" if outcome.is_error else "completed"
        data: JsonObject = {
            "phase": "result",
            "name": call.name,
            "toolCallId": call.id,
            "isError": outcome.is_error,
            "result": masked_fields(_result(outcome), self._scanner),
        }
        ended: JsonObject = {"itemId": f"command:{call.id}", "phase": "end", "status": status}
        item: JsonObject = {**_item(call.id, call.name), "phase": "end", "status": status, "endedAt": now}
        output = (self._agent("command_output", ended, now),) if call.name == toolnames.EXEC else ()
        return (*rest, *output, *self._tool(data, now), self._agent("item", item, now))

    # -- the end -------------------------------------------------------------------------------------

    def _ended(self, ended: RunOver, now: int) -> tuple[WireEvent, ...]:
        self.over = True
        outcome, words = ended.run.outcome, ended.words
        begun = (*self._begin(now), *self._complete(now))
        spent = () if words is None else (self._agent("usage", _spent(ended.took), now),)
        if outcome is None or outcome.succeeded:
            return (*begun, *spent, *self._succeeded(ended, now))
        if outcome.state is RunState.KILLED:
            return (*begun, *self._stopped(outcome, now))
        return (*begun, *spent, *self._failed(outcome, now))

    def _succeeded(self, ended: RunOver, now: int) -> tuple[WireEvent, ...]:
        outcome = ended.run.outcome
        words = ended.words and masked_message(ended.words, self._scanner)
        text = visible(text_of(words)) if words else None
        reason = "stop" if words is None else str(words.stop)
        reply: JsonObject = (
            {"disposition": "silent"} if text is None else {"disposition": "visible", "text": text}
        )
        end: JsonObject = {**self._end("end", reason, now), "terminalReply": reply}
        message: dict[str, JsonValue] = {}
        if words is not None and text is not None:
            message = {"message": answer_message(text, words, ended.took, ended.overrides, now)}
        yielded: dict[str, JsonValue] = {"yielded": True} if outcome and outcome.yielded else {}
        return (
            self._agent("lifecycle", {"phase": "finishing", "stopReason": reason}, now),
            self._agent("lifecycle", end, now),
            self._chat("final", {"stopReason": reason, **message, **yielded}),
        )

    def _stopped(self, outcome: Outcome, now: int) -> tuple[WireEvent, ...]:
        partial: dict[str, JsonValue] = {"message": text_message(self.text, now)} if self.text else {}
        told: JsonObject = {"stopReason": STOPPED, "errorMessage": self._why(outcome), **partial}
        end: JsonObject = {**self._end("end", STOPPED, now), "status": "cancelled", "aborted": True}
        return (self._chat("aborted", told), self._agent("lifecycle", end, now))

    def _failed(self, outcome: Outcome, now: int) -> tuple[WireEvent, ...]:
        error = self._why(outcome)
        kind = "timeout" if outcome.state is RunState.TIMEOUT else "unknown"
        end: JsonObject = {**self._end("error", "error", now), "error": error}
        told: JsonObject = {"errorMessage": error, "errorKind": kind, "stopReason": "error"}
        return (self._agent("lifecycle", end, now), self._chat("error", told))

    def _end(self, phase: str, reason: str, now: int) -> dict[str, JsonValue]:
        return {
            "phase": phase,
            "startedAt": self.started_at,
            "endedAt": now,
            "stopReason": reason,
            "aborted": False,
        }

    # ------------------------------------------------------------------------------------------------

    def _why(self, outcome: Outcome) -> str:
        return redact(outcome.error or NOT_SAID, self._scanner)[0]

    def _agent(self, stream: str, data: JsonObject, now: int) -> WireEvent:
        return self._event(AGENT, Audience.READERS, self._agent_event(stream, data, now))

    def _tool(self, data: JsonObject, now: int) -> tuple[WireEvent, ...]:
        payload = self._agent_event("tool", data, now)
        return (
            self._event(AGENT, Audience.STARTER, payload),
            self._event(TOOL, Audience.LISTENERS, payload),
        )

    def _agent_event(self, stream: str, data: JsonObject, now: int) -> JsonObject:
        self._seq += 1
        within: dict[str, JsonValue] = {"sessionId": self.run.session_id} if self.run.session_id else {}
        return {
            **self._base(),
            **within,
            "stream": stream,
            "ts": now,
            "data": data,
            "isHeartbeat": self.run.key.heartbeat,
        }

    def _chat(self, state: str, data: JsonObject) -> WireEvent:
        return self._event(CHAT, Audience.READERS, {**self._base(), "state": state, **data})

    def _base(self) -> dict[str, JsonValue]:
        key = self.run.key
        agent: dict[str, JsonValue] = {"agentId": key.agent} if key.agent else {}
        return {"runId": self.name, "sessionKey": str(key), **agent, "seq": self._seq}

    def _event(self, name: str, audience: Audience, payload: JsonObject) -> WireEvent:
        return WireEvent(name=name, payload=payload, audience=audience, key=self.run.key, run=self.name)


def _grown(text: Growing, offset: int, piece: str) -> Growth | None:
    """A piece that does not go on where the last one ended begins anew."""
    if offset != text.size:
        text.begin()
    return text.add(piece)


def _replacing(growth: Growth) -> dict[str, JsonValue]:
    """What replaces is told whole: nothing of what was shown before stands."""
    return {"replace": True} if growth.replaces else {}


def answer(run_name: str, key: str, agent: str, text: str | None, now: int) -> JsonObject:
    """The one `chat` event of what no run answered: the answer of a command, or nothing for what joined another run."""
    message: dict[str, JsonValue] = {} if not text else {"message": {**text_message(text, now), **INJECTED}}
    named: dict[str, JsonValue] = {"agentId": agent} if agent else {}
    return {"runId": run_name, "sessionKey": key, **named, "seq": 1, "state": "final", **message}


def never_answered(run_name: str, key: str, agent: str, reason: str) -> JsonObject:
    """The last `chat` event of a message that no run will take."""
    named: dict[str, JsonValue] = {"agentId": agent} if agent else {}
    base: dict[str, JsonValue] = {"runId": run_name, "sessionKey": key, **named, "seq": 1}
    return {**base, "state": "aborted", "stopReason": "stop", "errorMessage": reason}


def _spent(took: Counted) -> JsonObject:
    marked: JsonObject = {"estimated": True} if took.estimated else {}
    return {"outputTokens": took.usage.output, **marked}


def _item(call_id: str, name: str) -> dict[str, JsonValue]:
    return {"itemId": f"tool:{call_id}", "toolCallId": call_id, "name": name, "kind": "tool", "title": name}


def _result(outcome: ToolOutcome) -> JsonObject:
    content: list[JsonValue] = [_block(block) for block in outcome.content]
    return {"content": content, "details": outcome.details or {}}


def _block(block: Text | Image) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "mimeType": block.mime}
