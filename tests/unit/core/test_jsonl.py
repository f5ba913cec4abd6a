import json

import pytest

from roost.core.entries import Entry, EntryDraft
from roost.core.jsonl import (
    MAX_DEPTH,
    Header,
    Importer,
    Malformed,
    entry_to_json,
    header_from_json,
    header_to_json,
    line_of,
    read_entry,
    read_line,
)
from roost.core.jsonvalue import JsonObject, compact
from roost.core.messages import Compaction, Notice, Text, UserMessage
from roost.core.principals import person

IMPORTER = Importer(principal=person("telegram", "7"), fallback_id="line-3", previous_id="line-2")
USER_LINE = (
    '{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":'
    '{"role":"user","content":"hé","timestamp":1767323045678,"provenance":'
    '{"kind":"external_user","fromOwner":false}}}'
)


def read(text: str) -> EntryDraft:
    draft = read_entry(text, IMPORTER)
    assert isinstance(draft, EntryDraft)
    return draft


def line(**fields: object) -> str:
    frame = {"type": "custom", "id": "e1", "parentId": None, "timestamp": "2026-01-02T03:04:05.678Z"}
    return json.dumps({**frame, **fields}, separators=(",", ":"), ensure_ascii=False)


# -- lines -------------------------------------------------------------------------------------------


def test_a_line_in_our_own_spelling_is_read_to_a_value_and_needs_no_copy() -> None:
    draft = read(USER_LINE)
    assert isinstance(draft.body, UserMessage)
    assert (draft.id, draft.parent_id, draft.body.at) == ("e1", None, 1_767_323_045_678)
    assert draft.body.content == (Text("hé"),)
    assert draft.source is None
    assert line_of(draft) == USER_LINE


@pytest.mark.requirement("D57")
@pytest.mark.parametrize(
    "text",
    [
        USER_LINE.replace('"role"', '"idempotencyKey":"k","role"'),
        USER_LINE.replace(":", ": "),
        USER_LINE.replace("hé", "h\\u00e9"),
        USER_LINE.replace("1767323045678", "1767323045678.0"),
        USER_LINE.replace("05.678Z", "05.678+00:00"),
        USER_LINE.replace('"id":"e1"', '"id":"e0","id":"e1"'),
    ],
)
def test_any_other_spelling_is_kept_beside_the_value(text: str) -> None:
    draft = read(text)
    assert isinstance(draft.body, UserMessage)
    assert draft.body.content == (Text("hé"),)
    assert draft.source == text
    assert line_of(draft) == text


def test_an_entry_in_its_place_is_written_like_its_draft() -> None:
    draft = read(USER_LINE)
    placed = Entry(session_id="s", seq=1, id=draft.id, body=draft.body, parent_id=draft.parent_id)
    assert line_of(placed) == USER_LINE


@pytest.mark.parametrize(
    "kind", ["model_change", "label", "session_info", "custom_message", "never_heard_of"]
)
def test_other_types_and_their_fields_are_notices(kind: str) -> None:
    text = line(type=kind, label="x", deep={"a": [1, None]})
    draft = read(text)
    assert draft.body == Notice(
        kind=kind, at=1_767_323_045_678, data={"label": "x", "deep": {"a": [1, None]}}
    )
    assert (draft.source, line_of(draft)) == (None, text)


@pytest.mark.parametrize("message", [{"role": "robot"}, {"role": ""}, {}])
def test_a_message_that_is_none_is_a_notice_too(message: dict[str, str]) -> None:
    text = line(type="message", message=message)
    assert read(text).body == Notice(kind="message", at=1_767_323_045_678, data={"message": message})
    assert line_of(read(text)) == text


@pytest.mark.parametrize("extra", [{}, {"tokensAfter": 4}])
def test_a_compaction_is_read_and_written(extra: dict[str, int]) -> None:
    text = line(type="compaction", summary="s", firstKeptEntryId="e0", tokensBefore=9, **extra)
    body = read(text).body
    assert body == Compaction(
        summary="s",
        first_kept_id="e0",
        tokens_before=9,
        tokens_after=extra.get("tokensAfter"),
        at=1_767_323_045_678,
    )
    assert line_of(read(text)) == text
    assert read(text).source is None


def test_a_notice_cannot_change_its_own_frame() -> None:
    notice = EntryDraft(
        id="e1", body=Notice(kind="custom", at=0, data={"id": "other", "type": "message", "n": 1})
    )
    assert entry_to_json(notice) == {
        "type": "custom",
        "id": "e1",
        "parentId": None,
        "timestamp": "1970-01-01T00:00:00.000Z",
        "n": 1,
    }


@pytest.mark.parametrize("entry_id", ["", 7, None, "x" * 257])
def test_a_line_without_a_usable_id_gets_the_importers(entry_id: object) -> None:
    text = line(id=entry_id)
    assert read(text).id == "line-3"
    assert line_of(read(text)) == text


def test_a_line_without_a_parent_follows_the_line_before_it() -> None:
    assert read('{"type":"custom"}').parent_id == "line-2"
    assert read('{"type":"custom","parentId":null}').parent_id is None


# -- times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timestamp", "at"),
    [
        ("2026-01-02T03:04:05.678Z", 1_767_323_045_678),
        ("2026-01-02T04:04:05.678+01:00", 1_767_323_045_678),
        ("2026-01-02T03:04:05.678", 1_767_323_045_678),
        ("1950-01-01T00:00:00Z", 0),
        ("yesterday", 0),
        (1_767_323_045_678, 0),
        ("0001-01-01T00:00:00+23:59", 0),
    ],
)
def test_a_time_is_milliseconds_and_a_wrong_one_is_harmless(timestamp: object, at: int) -> None:
    text = line(timestamp=timestamp)
    assert read(text).body.at == at
    assert line_of(read(text)) == text


def test_a_time_beyond_the_calendar_is_written_as_its_last_moment() -> None:
    late = EntryDraft(id="e1", body=Notice(kind="custom", at=10**18, data={}))
    assert entry_to_json(late)["timestamp"] == "9999-12-31T23:59:59.999Z"


# -- hostile lines -----------------------------------------------------------------------------------


@pytest.mark.requirement("S25")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "not valid JSON", id="empty"),
        pytest.param("{", "not valid JSON", id="torn"),
        pytest.param('{"type":"custom","n":NaN}', "not valid JSON", id="not a number"),
        pytest.param('{"type":"custom","n":' + "1" * 5_000 + "e}", "not valid JSON", id="bad number"),
        pytest.param('"text"', "not a JSON object", id="text"),
        pytest.param("[1]", "not a JSON object", id="list"),
        pytest.param("{}", "no type", id="no type"),
        pytest.param('{"type":7}', "no type", id="type is a number"),
        pytest.param('{"type":"custom","x":"\ud800"}', "not valid Unicode", id="half a character"),
        pytest.param(
            '{"type":"custom","x":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply", id="abyss"
        ),
        pytest.param(
            '{"type":"custom","x":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "nested too deeply", id="deep"
        ),
    ],
)
def test_a_line_that_is_no_transcript_line_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert read_entry(text, IMPORTER) == Malformed(reason)


@pytest.mark.requirement("S25")
def test_half_characters_and_numbers_no_store_can_hold_are_replaced_and_the_line_kept() -> None:
    text = r'{"type":"custom","half":"a\ud800b","whole":"\ud83d\ude00"}'
    assert read_line(text) == {"type": "custom", "half": "a\ufffdb", "whole": "😀"}
    assert line_of(read(text)) == text
    huge = (
        '{"type":"custom","fits":-9223372036854775808,"over":9223372036854775808,"vast":' + "9" * 5_000 + "}"
    )
    assert read_line(huge) == {
        "type": "custom",
        "fits": -(2**63),
        "over": 9223372036854775808.0,
        "vast": None,
    }
    assert line_of(read(huge)) == huge
    past_all = '{"type":"custom","most":1e999,"least":-2.5E+0400,"long":' + "9" * 400 + '.5,"fits":1e300}'
    assert read_line(past_all) == {"type": "custom", "most": None, "least": None, "long": None, "fits": 1e300}
    assert line_of(read(past_all)) == past_all


@pytest.mark.requirement("S25")
def test_a_line_brings_no_principal_of_its_own() -> None:
    text = USER_LINE.replace('"external_user"', '"external_user","principal":"owner"')
    body = read(text).body
    assert isinstance(body, UserMessage)
    assert body.provenance.principal == IMPORTER.principal


# -- header ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", [None, "older"])
def test_a_header_is_written_and_read(parent: str | None) -> None:
    header = Header(id="s1", at=1_767_323_045_678, cwd="/home/x", parent_session=parent)
    written = header_to_json(header)
    assert list(written)[:5] == ["type", "version", "id", "timestamp", "cwd"]
    assert written["version"] == 4
    again = read_line(compact(written))
    assert not isinstance(again, Malformed)
    assert header_from_json(again) == header


@pytest.mark.parametrize(
    "other", [{"type": "message", "id": "x"}, {"type": "session"}, {"type": "session", "id": 4}]
)
def test_a_line_that_is_no_header_gives_none(other: JsonObject) -> None:
    assert header_from_json(other) is None
