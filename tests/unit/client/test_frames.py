"""Frames as a client writes and reads them."""

import json

import pytest

from roost.client.events import Event
from roost.client.frames import UNSAID, Response, read, request


def test_a_request_names_its_method_and_parameters() -> None:
    assert json.loads(request("7", "health", {"probe": True})) == {
        "type": "req",
        "id": "7",
        "method": "health",
        "params": {"probe": True},
    }


def test_answers_and_events_are_told_apart() -> None:
    assert read('{"type":"event","event":"tick","payload":{"ts":1},"seq":3}') == Event(
        name="tick", payload={"ts": 1}, seq=3
    )
    assert read('{"type":"res","id":"1","ok":true,"payload":[1]}') == Response(id="1", payload=[1])


def test_a_refusal_says_why_even_if_the_gateway_does_not() -> None:
    told = read(
        '{"type":"res","id":"1","ok":false,"error":{"code":"FORBIDDEN","message":"no"},"payload":{"a":1}}'
    )
    assert isinstance(told, Response)
    assert told.refusal is not None
    assert (told.refusal.wire_code, str(told.refusal), told.refusal.payload) == ("FORBIDDEN", "no", {"a": 1})
    silent = read('{"type":"res","id":"1","ok":false}')
    assert isinstance(silent, Response)
    assert str(silent.refusal) == UNSAID


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"type":"res"}', '{"type":"event","event":1}'])
def test_what_is_neither_is_passed_over(text: str) -> None:
    assert read(text) is None


def test_a_run_that_was_taken_on_is_not_the_last_answer() -> None:
    assert Response(id="1", payload={"status": "accepted"}).is_preliminary
    assert not Response(id="1", payload={"status": "ok"}).is_preliminary
    assert not Response(id="1", payload=None).is_preliminary


@pytest.mark.parametrize(
    ("hint", "message", "words"), [("wait", "no (wait)", "no"), ("wait", "no", "no"), ("", "no ()", "no ()")]
)
def test_a_hint_is_told_once(hint: str, message: str, words: str) -> None:
    error = {"code": "FORBIDDEN", "message": message, "details": {"code": "forbidden", "hint": hint}}
    told = read(json.dumps({"type": "res", "id": "1", "ok": False, "error": error}))
    assert isinstance(told, Response)
    assert told.refusal is not None
    assert (told.refusal.message, told.refusal.hint) == (words, hint)
