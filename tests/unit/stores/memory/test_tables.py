"""That the reference can be put back as it was, whatever a verb did. Its answers are the contract's."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.effects import OpenSession
from roost.core.entries import Entry
from roost.core.errors import Conflict
from roost.core.events import Event, EventKind
from roost.core.exchanges import Completion, Exchange
from roost.core.inbound import InboundRecord, InboundState
from roost.core.leases import Gateway, Lease
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Notice, Usage
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.runs import RunKind
from roost.core.threads import ThreadBinding
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import Tables, drive
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON, FakeClock

OPENING: OpenSession = builders.opening(builders.session()._replace(session_id="s-1"), "s-1")
ENTRY = Entry(session_id="s-1", seq=1, id="e-1", body=Notice(kind="n", at=NOON, data={"list": [1]}))
RECORD = InboundRecord(inbound=builders.inbound("m-1"), state=InboundState.TAKEN)


async def fill(tables: Tables) -> None:
    """One row of each kind."""
    await tables.put_lease(Lease(gateway=Gateway(name="g", holder="p"), epoch=1, expires_at=NOON))
    await tables.insert_session(OPENING.session)
    await tables.insert_generation(OPENING.generation)
    await tables.insert_entries(MAIN, [ENTRY])
    await tables.insert_inbound(RECORD)
    await tables.insert_run(builders.run("r-1"))
    await tables.put_exchange(
        Exchange(id="x-1", requester=MAIN, target=MAIN, request="q", created_at=NOON, max_turns=1)
    )
    await tables.insert_completion(
        Completion(child_run="c-1", child=MAIN, requester=MAIN, batch="r-1", created_at=NOON)
    )
    await tables.put_binding(
        ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    )
    await tables.insert_delivery(builders.delivery("d-1"), OWNER)
    await tables.put_usage(
        LedgerRow(
            id="u-1",
            at=NOON,
            key=MAIN,
            session_id="s-1",
            principal=OWNER,
            run_id="r-1",
            run_kind=RunKind.TURN,
            provider="demo",
            model="demo-1",
            usage=Usage(input=1),
        )
    )
    await tables.insert_denial(Denial(at=NOON, operation="send", principal=OWNER, rule="a", reason="b"))
    await tables.insert_events([Event(key=MAIN, number=1, at=NOON, kind=EventKind.ENTRY, ref="e-1")])


async def everything(tables: Tables) -> tuple[object, ...]:
    return (
        await tables.leases(),
        await tables.session(MAIN),
        await tables.generations(MAIN),
        await tables.entries("s-1", 0, None),
        await tables.inbound("m-1"),
        await tables.run("r-1"),
        await tables.exchange("x-1"),
        await tables.owed(MAIN),
        await tables.binding(CHAT),
        await tables.delivery("d-1"),
        await tables.usage(LedgerQuery()),
        await tables.denials(10),
        await tables.events(MAIN, 0, 10),
    )


async def upset(tables: Tables) -> None:
    """Change or remove each of them."""
    await tables.put_lease(Lease(gateway=Gateway(name="g", holder="q"), epoch=2, expires_at=0))
    await tables.update_session(OPENING.session, OPENING.session._replace(version=9))
    await tables.update_run(replace(builders.run("r-1"), fence=9))
    await tables.update_delivery(replace(builders.delivery("d-1"), attempts=9))
    await tables.delete_session(MAIN)
    await tables.delete_binding(CHAT)
    await tables.delete_stale_events(MAIN, NOON + 1)
    await tables.delete_stale_inbound(NOON + 1, 10)


def test_what_was_not_committed_is_undone_to_the_last_row() -> None:
    tables = MemoryTables(FakeClock())
    empty = drive(everything(tables))
    drive(fill(tables))
    tables.rollback()
    assert drive(everything(tables)) == empty
    drive(fill(tables))
    tables.commit()
    before = drive(everything(tables))
    drive(upset(tables))
    assert drive(everything(tables)) != before
    tables.rollback()
    assert drive(everything(tables)) == before


def test_what_was_committed_stays() -> None:
    tables = MemoryTables(FakeClock())
    drive(fill(tables))
    tables.commit()
    before = drive(everything(tables))
    tables.rollback()
    assert drive(everything(tables)) == before


def test_an_entry_shares_nothing_with_what_was_handed_in_or_out() -> None:
    tables = MemoryTables(FakeClock())
    drive(fill(tables))
    (first,) = drive(tables.entries("s-1", 0, None))
    (second,) = drive(tables.entries("s-1", 0, None))
    assert first == second == ENTRY
    assert isinstance(first.body, Notice)
    assert isinstance(second.body, Notice)
    assert first.body.data is not second.body.data


def test_the_time_of_the_database_is_that_of_its_own_clock() -> None:
    clock = FakeClock(7)
    assert drive(MemoryTables(clock).database_now()) == 7


def test_ids_that_are_taken_are_refused() -> None:
    tables = MemoryTables(FakeClock())
    drive(fill(tables))
    taken = (
        tables.insert_generation(OPENING.generation),
        tables.insert_inbound(RECORD),
        tables.insert_run(builders.run("r-1")),
        tables.insert_completion(
            Completion(child_run="c-1", child=MAIN, requester=MAIN, batch="b", created_at=NOON)
        ),
        tables.insert_delivery(builders.delivery("d-1"), OWNER),
    )
    for insertion in taken:
        with pytest.raises(Conflict):
            drive(insertion)


def test_unbinding_what_is_not_bound_is_nothing() -> None:
    tables = MemoryTables(FakeClock())
    drive(tables.delete_binding(Address(channel="web", to="nobody")))
    assert drive(tables.binding(CHAT)) is None
