"""Frames as they are read and written."""

from types import MappingProxyType

import orjson
import pytest

from roost.protocol import frames
from roost.protocol.frames import MOST_ESCAPED, ErrorCode, Failure, Malformed, NotJson, Request


def test_a_request_may_leave_out_its_parameters() -> None:
    read = frames.read('{"type":"req","id":"1","method":"health"}')
    assert read == Request(id="1", method="health", params={})
    traced = frames.read(b'{"type":"req","id":"1","method":"m","params":[1],"traceparent":"t"}')
    assert traced == Request(id="1", method="m", params=[1], traceparent="t")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "hello", "NaN", '{"a":"\\ud800"', '{"a":"\x00\\ud800"}', "[" * 100_000),
        *(b"\xff", b'{"a":"\\ud800\xff"}', b'{"a":"\xed\xa0\x80"}'),
    ],
)
def test_what_is_no_json_is_told_apart(text: str | bytes) -> None:
    assert frames.read(text) == NotJson()


def test_of_half_a_character_its_place_is_left() -> None:
    read = frames.read(r'{"type":"req","id":"1","method":"m","params":{"a":"\ud83d!","b":"\ud83d\ude00"}}')
    assert read == Request(id="1", method="m", params={"a": "\ufffd!", "b": "😀"})
    assert frames.parse(rb'"\uDE00\ud83D\uDe00"') == "\ufffd😀"


def test_what_only_looks_like_half_a_character_stays() -> None:
    assert frames.parse(r'"\\ud83d \\\ud83d \"\ud83d"') == '\\ud83d \\\ufffd "\ufffd'


def test_among_too_many_escaped_characters_no_half_is_looked_for_and_whole_ones_are_read() -> None:
    whole = r"\ud83d\ude00" * MOST_ESCAPED
    text = '{"type":"req","id":"1","method":"m","params":"%s"}'
    assert frames.read(text % whole) == Request(id="1", method="m", params="😀" * MOST_ESCAPED)
    read = frames.read(text % (whole + r"\ud83d"))
    assert read == Malformed("half a character among more than 100000 escaped ones")
    most = frames.read(text % (r"\ud83d" * MOST_ESCAPED))
    assert most == Request(id="1", method="m", params="\ufffd" * MOST_ESCAPED)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "must be object"),
        ('{"type":"res","id":"1"}', "at /type"),
        ('{"type":"req","method":"m"}', "must have required property 'id'"),
        ('{"type":"req","id":"","method":"m"}', "at /id"),
        ('{"type":"req","id":"1","method":3}', "at /method"),
        ('{"type":"req","id":"1","method":"m","traceparent":1}', "at /traceparent"),
        ('{"type":"req","id":"1","method":"m","extra":1}', "at root: unexpected property 'extra'"),
    ],
)
def test_json_that_is_no_request_is_told_with_what_is_wrong(text: str, problem: str) -> None:
    read = frames.read(text)
    assert isinstance(read, Malformed)
    assert problem in read.problem


def test_an_answer_carries_its_payload_and_a_refusal_its_error() -> None:
    assert orjson.loads(frames.response("1", None)) == {"type": "res", "id": "1", "ok": True, "payload": None}
    failed = Failure(code=ErrorCode.UNAVAILABLE, message="", retryable=True, retry_after_ms=5)
    assert orjson.loads(frames.failure("1", failed)) == {
        "type": "res",
        "id": "1",
        "ok": False,
        "error": {"code": "UNAVAILABLE", "message": "UNAVAILABLE", "retryable": True, "retryAfterMs": 5},
    }
    both = orjson.loads(frames.failure("1", failed, {"runId": "r"}))
    assert both["payload"] == {"runId": "r"}


def test_an_event_is_written_once_and_numbered_for_each() -> None:
    head = frames.event_head("chat", {"state": "final"})
    assert orjson.loads(frames.event(head)) == {
        "type": "event",
        "event": "chat",
        "payload": {"state": "final"},
    }
    assert orjson.loads(frames.event(head, 7))["seq"] == 7


def test_of_half_a_character_that_is_sent_its_place_is_left() -> None:
    assert frames.encode({"a": "caf\udce9", "n": 1}) == '{"a":"caf\ufffd","n":1}'.encode()


def test_what_the_fast_way_cannot_write_is_written_the_slow_way() -> None:
    assert frames.encode({"n": 2**70, "m": MappingProxyType({"a": "ü"})}) == (
        b'{"n":1180591620717411303424,"m":{"a":"\xc3\xbc"}}'
    )
