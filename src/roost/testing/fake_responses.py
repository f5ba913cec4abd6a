"""Answers as an endpoint writes them that speaks OpenAI's responses."""

from collections.abc import Mapping
from typing import assert_never

from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.messages import StopReason, ToolCall, Usage
from roost.testing.fake_http import Reply, Said, Writer, event, refusal_of, refused_at_once
from roost.testing.fake_openai import ERRORS, error_body
from roost.testing.scripts import CallTool, Fail, Say, Script, Think, stop_of, usage_of


def reply_of(script: Script) -> Reply:
    """The script in the shape of the wire. A failure before anything is said is an HTTP error."""
    if failed := refused_at_once(script):
        status, code = ERRORS[failed.kind]
        return refusal_of(status, error_body(failed.message, code), failed.retry_after_ms)
    writer = _Writer()
    writer.event("response.created", response=_response("in_progress"))
    writer.write(script)
    cut = stop_of(script) is StopReason.LENGTH
    state = "incomplete" if cut else "completed"
    writer.event(f"response.{state}", response=_response(state, usage_of(script)))
    return Reply(pieces=tuple(writer.pieces))


def _response(state: str, usage: Usage | None = None) -> JsonObject:
    incomplete: JsonValue = {"reason": "max_output_tokens"} if state == "incomplete" else None
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "small",
        "status": state,
        "output": [],
        "error": None,
        "incomplete_details": incomplete,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if usage is None else _usage(usage),
    }


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input + usage.cache_read,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


class _Writer(Writer):
    """Items one after another; `kind` is that of the open one."""

    kind = ""
    index = -1
    number = 0

    def event(self, kind: str, **fields: JsonValue) -> None:
        self.pieces.append(event({"type": kind, "sequence_number": self.number, **fields}, kind))
        self.number += 1

    def said(self, step: Said) -> None:
        match step:
            case Say(text):
                if self._open("message", {"role": "assistant", "status": "in_progress", "content": []}):
                    part: JsonObject = {"type": "output_text", "text": "", "annotations": []}
                    self._of_item("response.content_part.added", content_index=0, part=part)
                self._of_item("response.output_text.delta", content_index=0, delta=text, logprobs=[])
            case Think(text):
                if self._open("reasoning", {"summary": []}):
                    summary: JsonObject = {"type": "summary_text", "text": ""}
                    self._of_item("response.reasoning_summary_part.added", summary_index=0, part=summary)
                self._of_item("response.reasoning_summary_text.delta", summary_index=0, delta=text)
            case CallTool(call):
                self._call(call)
            case _:
                assert_never(step)

    def failed(self, step: Fail) -> None:
        self.event("error", code=ERRORS[step.kind][1], message=step.message, param=None)

    @property
    def _item_id(self) -> str:
        return f"item_{self.index}"

    def _of_item(self, kind: str, **fields: JsonValue) -> None:
        self.event(kind, item_id=self._item_id, output_index=self.index, **fields)

    def _open(self, kind: str, item: Mapping[str, JsonValue]) -> bool:
        """Whether the item is a fresh one."""
        if kind == self.kind:
            return False
        self.kind, self.index = kind, self.index + 1
        added: JsonObject = {"id": self._item_id, "type": kind, **item}
        self.event("response.output_item.added", output_index=self.index, item=added)
        return True

    def _call(self, call: ToolCall) -> None:
        self.kind = ""
        text = compact(call.arguments)
        fields: JsonObject = {"call_id": call.id, "name": call.name, "status": "in_progress"}
        self._open("function_call", {**fields, "arguments": ""})
        for piece in (text[:5], text[5:]):
            self._of_item("response.function_call_arguments.delta", delta=piece)
        self._of_item("response.function_call_arguments.done", arguments=text, name=call.name)
        done: JsonObject = {"id": self._item_id, "type": "function_call", **fields, "arguments": text}
        self.event("response.output_item.done", output_index=self.index, item=done)
        self.kind = ""
