"""What the model of a run may be shown: the entries of a generation after those of its bases."""

from dataclasses import replace

from roost.core.effects import Archive, OpenSession, OweCompletion
from roost.core.exchanges import Completion
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.sessions import Base
from roost.core.sources import child_key
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import change, known, opened, reset

SIDE = SessionKey.named("main", "side")
CHILD = child_key("main", "c")


async def test_a_context_begins_with_what_its_base_had_said_also_in_another_session(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await store.append(MAIN, tuple(builders.said(name, name) for name in ("a", "b", "c")))
    first = (await known(store)).session_id
    side = replace(builders.generation(SIDE, "side-1", 1), base=Base(session_id=first, seq=2))
    await change(store, OpenSession(session=builders.session(SIDE), generation=side), key=SIDE)
    await store.append(SIDE, (builders.said("d", "d"),))
    assert await ids(store, "side-1") == ["a", "b", "d"]
    assert await ids(store, first) == ["a", "b", "c"]


async def test_a_context_without_a_base_is_empty_at_first(store: Store, lease: Lease) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("a", "a"),))
    assert await ids(store, await reset(store, 2)) == []
    assert await store.conversation("nowhere") is None


async def test_a_conversation_comes_with_its_session_as_it_is_now(store: Store, lease: Lease) -> None:
    await opened(store)
    first = (await known(store)).session_id
    await reset(store, 2)
    found = await store.conversation(first)
    assert found is not None
    assert found.session == await known(store)


async def test_a_conversation_tells_whether_it_has_sub_agents_or_will_hear_of_one(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    first = (await known(store)).session_id
    assert not await delegates(store, first)
    owed = Completion(child_run="r-c", child=CHILD, requester=MAIN, batch="r1", created_at=1)
    await change(store, OweCompletion(completion=owed))
    assert await delegates(store, first)
    side = (await opened(store, SIDE)).session_id
    assert not await delegates(store, side)
    await opened(store, CHILD, row=builders.session(CHILD, parent=SIDE))
    await change(store, Archive(key=CHILD, at=5), key=CHILD)
    assert await delegates(store, side)


async def delegates(store: Store, session_id: str) -> bool:
    found = await store.conversation(session_id)
    return found is not None and found.delegates


async def ids(store: Store, session_id: str) -> list[str]:
    found = await store.conversation(session_id)
    return [entry.id for entry in found.entries] if found else []
