"""The laws of transcript lines: what was read is written again, byte for byte."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.branches import branches
from roost.core.entries import EntryDraft
from roost.core.jsonl import Importer, Malformed, entry_to_json, line_of, read_entry
from roost.core.jsonvalue import JsonValue, compact
from roost.core.messages import Body, Notice
from roost.core.principals import OWNER, person
from tests.property.histories import bodies
from tests.scale import examples

IMPORTER = Importer(principal=person("telegram", "7"), fallback_id="line-1")

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        "role",
        "content",
        "timestamp",
        "provenance",
        "usage",
        "stopReason",
        "toolCallId",
        "details",
        "cost",
        "kind",
    ]
)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "thinking", "toolCall", "audio"])},
    optional={"text": values, "thinking": values, "id": values, "arguments": values, "data": values},
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "toolResult", "bashExecution"])},
    optional={
        "content": st.text(max_size=8) | st.lists(blocks | values, max_size=3),
        "timestamp": values | st.integers(0, 2**45),
        "provenance": values | st.dictionaries(st.just("kind"), st.sampled_from(["external_user", "x"])),
        "usage": values,
        "isError": values,
        "extra": values,
    },
)
kinds = ["message", "compaction", "reset", "leaf", "label", "model_change", "custom_message", "unheard_of"]
objects = st.fixed_dictionaries(
    {"type": st.sampled_from(kinds)},
    optional={
        "id": st.text(max_size=8) | values,
        "parentId": st.text(max_size=4) | values,
        "timestamp": values
        | st.sampled_from(["2026-01-31T23:59:59.999Z", "2026-01-01", "9999-12-31T23:59:59Z"]),
        "message": messages | values,
        "summary": values,
        "tokensBefore": values,
        "more": values,
    },
)
spellings = st.sampled_from([(",", ":"), (", ", ": ")])


@pytest.mark.requirement("D57")
@settings(max_examples=examples(100, 3000), deadline=None)
@given(objects, spellings, st.booleans())
def test_a_line_of_any_type_is_written_as_it_was_read(
    line: dict[str, JsonValue], spelling: tuple[str, str], ascii_only: bool
) -> None:
    text = json.dumps(line, separators=spelling, ensure_ascii=ascii_only)
    draft = read_entry(text, IMPORTER)
    assert isinstance(draft, EntryDraft)
    assert line_of(draft) == text


@settings(max_examples=examples(80, 2000), deadline=None)
@given(bodies, st.text(min_size=1, max_size=8), st.none() | st.text(max_size=8))
def test_an_entry_that_was_written_here_needs_no_copy_of_its_line(
    body: Body, entry_id: str, parent_id: str | None
) -> None:
    text = line_of(EntryDraft(id=entry_id, body=body, parent_id=parent_id))
    again = read_entry(text, replace(IMPORTER, principal=OWNER))
    assert isinstance(again, EntryDraft)
    assert (again.id, again.parent_id, again.source) == (entry_id, parent_id, None)
    assert compact(entry_to_json(again)) == text


@settings(max_examples=examples(80, 2000), deadline=None)
@given(st.text(max_size=40) | values.map(json.dumps))
def test_any_text_is_read_or_refused_but_never_raises(text: str) -> None:
    assert isinstance(read_entry(text, IMPORTER), EntryDraft | Malformed)


@settings(max_examples=examples(80, 2000), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.none() | st.sampled_from("abcdefg"),
            st.none() | st.sampled_from("abx"),
        ),
        max_size=12,
    )
)
def test_every_line_is_in_one_branch_however_ids_and_parents_are_tangled(
    tangle: list[tuple[str, str | None, str | None]],
) -> None:
    lines = [
        EntryDraft(
            id=entry_id,
            parent_id=parent_id,
            body=Notice(kind="leaf" if target else "custom", at=0, data={"targetId": target}),
        )
        for entry_id, parent_id, target in tangle
    ]
    found = branches(lines)
    positions = [*found.active, *(line for branch in found.others for line in branch.lines)]
    assert sorted(positions) == list(range(len(lines)))
    for path in (found.active, *(branch.lines for branch in found.others)):
        assert list(path) == sorted(path)
        assert all(lines[child].parent_id == lines[parent].id for parent, child in pairwise(path))
    assert all(
        branch.base is None or lines[branch.lines[0]].parent_id == lines[branch.base].id
        for branch in found.others
    )
