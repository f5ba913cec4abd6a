"""When the owner of the main conversation is told that somebody else writes into it."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.effects import AddDelivery
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.sessions import Facts, Session, SessionKind
from roost.core.sharing import SHARED_LINE, second_person
from roost.core.snapshots import Snapshot
from roost.core.whereabouts import met_at
from roost.testing import builders
from roost.testing.builders import MAIN

HERE = Address(channel="telegram", to="1")
THERE = Address(channel="telegram", to="7")
THEIRS = replace(builders.inbound("m-1"), principal=person("telegram", "7"))
SEEN = Snapshot(key=MAIN, session=builders.session()._replace(route=HERE))


def met(session: Session) -> Address | None:
    return met_at(session, lambda at: ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("telegram:1",)))


@pytest.mark.requirement("P2")
def test_the_owner_is_told_where_he_wrote_last_and_always_by_the_same_notice() -> None:
    (effect,) = second_person(SEEN, THEIRS, met)
    assert isinstance(effect, AddDelivery)
    assert (effect.delivery.address, effect.delivery.text) == (HERE, SHARED_LINE)
    (again,) = second_person(SEEN, replace(THEIRS, received_at=THEIRS.received_at + 5), met)
    assert isinstance(again, AddDelivery)
    assert again.delivery.id == effect.delivery.id


@pytest.mark.requirement("P2")
def test_a_thread_of_the_main_conversation_is_one_too() -> None:
    key = SessionKey.parse("agent:main:main:thread:7")
    session = builders.session(key)._replace(route=HERE, facts=Facts(kind=SessionKind.OTHER))
    assert second_person(Snapshot(key=key, session=session), THEIRS, met)


@pytest.mark.parametrize(
    ("snapshot", "inbound"),
    [
        (Snapshot(key=MAIN), THEIRS),
        (SEEN, replace(THEIRS, principal=OWNER)),
        (Snapshot(key=MAIN, session=builders.session()), THEIRS),
        (Snapshot(key=MAIN, session=builders.session()._replace(route=THERE)), THEIRS),
        (replace(SEEN, session=builders.session(owner=THEIRS.principal)._replace(route=THERE)), THEIRS),
        (replace(SEEN, session=builders.session(parent=MAIN)._replace(route=HERE)), THEIRS),
    ],
    ids=[
        "nothing was said before",
        "the owner himself",
        "no chat",
        "not the owner's chat",
        "his own session",
        "a child in its thread",
    ],
)
def test_otherwise_nobody_is_told(snapshot: Snapshot, inbound: object) -> None:
    assert second_person(snapshot, inbound, met) == ()  # type: ignore[arg-type]
