"""What the model of a run may be shown: the entries of a generation after those of its bases."""

from dataclasses import replace

from roost.core.effects import OpenSession
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.sessions import Base
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import change, known, opened, reset

SIDE = SessionKey.named("main", "side")


async def test_a_context_begins_with_what_its_base_had_said_also_in_another_session(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await store.append(MAIN, tuple(builders.said(name, name) for name in ("a", "b", "c")))
    first = (await known(store)).session_id
    side = replace(builders.generation(SIDE, "side-1", 1), base=Base(session_id=first, seq=2))
    await change(store, OpenSession(session=builders.session(SIDE), generation=side), key=SIDE)
    await store.append(SIDE, (builders.said("d", "d"),))
    assert [entry.id for entry in await store.context("side-1")] == ["a", "b", "d"]
    assert [entry.id for entry in await store.context(first)] == ["a", "b", "c"]


async def test_a_context_without_a_base_is_empty_at_first(store: Store, lease: Lease) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("a", "a"),))
    assert await store.context(await reset(store, 2)) == ()
    assert await store.context("nowhere") == ()
