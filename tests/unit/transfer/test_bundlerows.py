"""What a bundle says beside transcripts, and how little of it is believed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, compact
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER, Principal, person
from roost.core.rights import Rights
from roost.core.runs import RunKind
from roost.core.sessions import Base, Generation, Lineage, OpenedBy, SessionStatus
from roost.core.terms import SpawnMode, Terms
from roost.core.visibility import Level
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.transfer.bundlerows import (
    MOST,
    BundledGeneration,
    call_from_json,
    call_to_json,
    generation_to_json,
    generations_from_json,
    session_to_json,
    status_from_json,
    terms_from_json,
)
from tests.scale import examples

CHILD = SessionKey.parse("agent:main:subagent:one")


def same(text: str) -> str:
    return text


def again(value: JsonObject) -> JsonObject:
    """As it comes out of a file."""
    read: JsonObject = json.loads(compact(value))
    return read


names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)
counts = st.integers(0, MOST)


@settings(deadline=None, max_examples=examples(20, 500))
@given(
    st.builds(
        LedgerRow,
        id=names,
        at=counts,
        key=st.just(MAIN),
        session_id=names,
        principal=st.just(OWNER),
        run_id=names,
        run_kind=st.sampled_from(RunKind),
        provider=names,
        model=names,
        usage=st.builds(Usage, counts, counts, counts, counts, counts, counts),
        estimated=st.booleans(),
    )
)
def test_a_call_comes_back_as_it_was(row: LedgerRow) -> None:
    assert call_from_json(again(call_to_json(row, same)), MAIN, OWNER) == row


def test_whose_a_call_is_is_not_for_the_bundle_to_say() -> None:
    bob = person("telegram", "7")
    found = call_from_json(
        {"id": "a", "key": "agent:x:main", "principal": "owner", "usage": "many"}, MAIN, bob
    )
    assert (found.key, found.principal, found.usage, found.run_kind) == (MAIN, bob, Usage(), RunKind.TURN)


@pytest.mark.parametrize("said", [{}, {"id": ""}, {"id": 7}, {"id": "a", "usage": [MOST + 1]}])
def test_a_call_that_cannot_be_is_refused(said: JsonObject) -> None:
    with pytest.raises(InvalidInput, match="a call in the bundle"):
        call_from_json(said, MAIN, OWNER)


def test_a_generation_comes_back_as_it_was() -> None:
    one = Generation(
        session_id="g2",
        key=MAIN,
        number=2,
        opened_at=5,
        opened_by=OpenedBy.BACK,
        rule="r",
        base=Base(session_id="g1", seq=3),
        archived=True,
    )
    written = session_to_json(builders.session(MAIN), (generation_to_json(one, "g2.jsonl", same),), same)
    assert [*generations_from_json(again(written))] == [
        BundledGeneration(
            session_id="g2",
            file="g2.jsonl",
            opened_at=5,
            opened_by=OpenedBy.BACK,
            rule="r",
            base=Base(session_id="g1", seq=3),
            archived=True,
        )
    ]


@pytest.mark.parametrize("owner", [OWNER, person("telegram", "7")])
def test_of_its_owner_a_session_says_whether_it_is_the_gateways(owner: Principal) -> None:
    said = again(session_to_json(builders.session(MAIN)._replace(owner=owner), (), same))
    assert said["ofOwner"] is owner.is_owner
    assert "telegram" not in compact(said)


def test_a_generation_needs_an_id_and_nothing_else() -> None:
    (found,) = generations_from_json({"generations": [{"sessionId": "g", "openedBy": "magic"}]})
    assert (found.opened_by, found.file, found.base) == (OpenedBy.IMPORT, None, None)
    assert [*generations_from_json({"generations": "none"})] == []
    for bad in ("../g", "", 7):
        with pytest.raises(InvalidInput, match="no id"):
            [*generations_from_json({"generations": [{"sessionId": bad}]})]


def test_only_how_it_ended_is_believed() -> None:
    assert status_from_json({"status": "done"}) is SessionStatus.DONE
    for said in ("running", "queued", "parked", "idle", "magic", None):
        assert status_from_json({"status": said}) is SessionStatus.IDLE


def test_terms_come_back_as_narrow_as_they_were() -> None:
    rights = Rights(
        allow=frozenset({"read"}), deny=frozenset({"exec"}), sandboxed=True, network=False, level=Level.SELF
    )
    terms = Terms(
        rights=rights,
        mode=SpawnMode.SESSION,
        task="count",
        task_name="n",
        model="a/b",
        thinking="low",
        folder="f",
    )
    row = builders.session(CHILD)._replace(lineage=Lineage(parent=MAIN, depth=1, terms=terms))
    said = again(session_to_json(row, (), same))
    assert said["spawnedBy"] == str(MAIN)
    found = terms_from_json(said["terms"])  # type: ignore[arg-type]
    assert found == Terms(
        rights=rights, mode=SpawnMode.SESSION, task="count", task_name="n", model="a/b", thinking="low"
    )


def test_no_term_gives_a_right() -> None:
    said: JsonObject = {"allow": None, "level": 9, "spawns": 9, "network": True, "sandboxed": False}
    found = terms_from_json({**said, "maxDepth": 9})
    assert found == Terms()
    doubtful = terms_from_json({"allow": "all"})
    assert (doubtful.rights.allow, doubtful.rights.sandboxed, doubtful.rights.network) == (
        frozenset(),
        True,
        False,
    )
    assert doubtful.rights.level is Level.SELF
    reading = Rights(
        allow=frozenset({"list", "read"}), sandboxed=True, network=False, level=Level.SELF, spawns=0
    )
    assert terms_from_json({}) == Terms(rights=reading)
