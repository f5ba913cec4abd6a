"""The one guard on the way from a key to its session."""

from functools import partial

import pytest

from roost.core.addresses import ChatType
from roost.core.effects import Effects, OpenSession
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import NotFound
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.snapshots import Snapshot
from roost.core.visibility import Operation, PersonCaller
from roost.engine.reaching import existing, reach, routed
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock

ALICE = person("telegram", "7")
SIDE = SessionKey.parse("agent:main:side")


def _only(effect: OpenSession, snapshot: Snapshot) -> Effects:
    return (effect,)


async def filled() -> MemoryStore:
    store = MemoryStore(FakeClock())
    for key, owner in ((MAIN, OWNER), (SIDE, ALICE)):
        opened = builders.opening(builders.session(key, owner=owner), f"id-{key}")
        await store.change_session(key, partial(_only, opened))
    return store


async def test_the_owner_reaches_everything_and_is_told_of_nothing() -> None:
    store, owner = await filled(), PersonCaller(principal=OWNER)
    found = await reach(store, Operation.HISTORY, owner, SIDE, NOON)
    assert found is not None
    absent = SessionKey.parse("agent:main:absent")
    assert await reach(store, Operation.HISTORY, owner, absent, NOON) is None
    with pytest.raises(NotFound, match="No session found"):
        await existing(store, Operation.HISTORY, owner, absent, NOON)


async def test_a_person_reaches_what_is_theirs_and_the_rest_does_not_exist() -> None:
    store, alice = await filled(), PersonCaller(principal=ALICE)
    assert (await existing(store, Operation.HISTORY, alice, SIDE, NOON)).key == SIDE
    told = set()
    for key in (MAIN, SessionKey.parse("agent:main:absent")):
        with pytest.raises(NotFound) as refused:
            await reach(store, Operation.HISTORY, alice, key, NOON)
        told.add(str(refused.value))
    assert len(told) == 1


@pytest.mark.requirement("P2")
async def test_a_name_that_is_anothers_leads_elsewhere_unless_a_thread_was_bound_to_it() -> None:
    store, named = await filled(), SessionKey.parse("agent:main:direct:7")
    opened = builders.opening(builders.session(named, owner=ALICE), "id-named")
    await store.change_session(named, partial(_only, opened))
    envelope = Envelope(
        channel="discord",
        sender=Sender(id="7"),
        conversation=Conversation(chat_type=ChatType.DIRECT, peer="7"),
        text="hi",
    )
    bob, rules = person("discord", "7"), RoutingRules(dm_scope=DmScope.PER_PEER)
    assert str((await routed(store, envelope, bob, rules)).key) == "agent:main:discord:direct:7"
    assert (await routed(store, envelope, bob, rules, named)).key == named
