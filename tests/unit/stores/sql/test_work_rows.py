from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import apsw
import pytest

from roost.core.deliveries import DeliveryState
from roost.core.errors import Conflict, StoreCorrupt
from roost.core.exchanges import Completion, Exchange
from roost.core.inbound import InboundRecord, InboundState, Source
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.runs import RunState
from roost.core.threads import ThreadBinding
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import CHAT, MAIN, delivery, inbound, run
from roost.testing.clock import NOON

OTHER = SessionKey.named("main", "other")
SOURCE = Source(channel="web", external_id="m-1", idempotency_key="once")
RECORD = InboundRecord(inbound=inbound("in-1", source=SOURCE), state=InboundState.PENDING, run_id="run-1")
COMPLETION = Completion(child_run="run-1", child=OTHER, requester=MAIN, batch="b", created_at=NOON)

Insert = Callable[[SqliteTables], Coroutine[Any, Any, None]]


@pytest.mark.parametrize(
    "insert",
    [
        pytest.param(lambda tables: tables.insert_inbound(RECORD), id="message"),
        pytest.param(lambda tables: tables.insert_run(run("run-1")), id="run"),
        pytest.param(lambda tables: tables.insert_completion(COMPLETION), id="completion"),
        pytest.param(lambda tables: tables.insert_delivery(delivery("d-1"), OWNER), id="delivery"),
    ],
)
def test_an_id_can_be_used_once(tables: SqliteTables, insert: Insert) -> None:
    drive(insert(tables))
    with pytest.raises(Conflict, match="is taken"):
        drive(insert(tables))


@pytest.mark.requirement("P14")
@pytest.mark.parametrize(
    ("source", "known"),
    [
        (SOURCE, True),
        (replace(SOURCE, idempotency_key=None), True),
        (replace(SOURCE, external_id=None), True),
        (replace(SOURCE, external_id="m-2"), True),
        (replace(SOURCE, external_id="m-2", idempotency_key="twice"), False),
        (replace(SOURCE, account="second", idempotency_key=None), False),
        (replace(SOURCE, channel="mail", idempotency_key=None), False),
        (Source(channel="web"), False),
    ],
)
def test_a_message_is_known_by_either_of_its_identities(
    tables: SqliteTables, source: Source, known: bool
) -> None:
    drive(tables.insert_inbound(RECORD))
    found = drive(tables.same_inbound(inbound("in-2", source=source)))
    assert found == (RECORD if known else None)


def test_only_pending_messages_of_a_session_wait_in_the_order_they_came(tables: SqliteTables) -> None:
    records = [
        InboundRecord(inbound=inbound(f"in-{n}", key), state=InboundState.PENDING)
        for n, key in enumerate((MAIN, OTHER, MAIN, MAIN))
    ]
    for record in records:
        drive(tables.insert_inbound(record))
    drive(tables.update_inbound(replace(records[2], state=InboundState.TAKEN)))
    assert drive(tables.pending_inputs(MAIN)) == (records[0], records[3])


def test_a_run_is_ready_when_it_is_the_oldest_of_an_idle_session_and_its_time_has_come(
    tables: SqliteTables,
) -> None:
    late = SessionKey.named("main", "late")
    runs = [run("a", MAIN), run("b", MAIN), run("c", OTHER), run("d", late, ready_at=NOON + 1)]
    for row in runs:
        drive(tables.insert_run(row))
    assert [row.id for row in drive(tables.ready_runs(NOON, 16, 10))] == ["a", "c"]
    drive(tables.update_run(replace(runs[0], state=RunState.RUNNING)))
    assert [row.id for row in drive(tables.ready_runs(NOON + 1, 16, 10))] == ["c", "d"]
    assert [row.id for row in drive(tables.running_runs())] == ["a"]
    assert [row.id for row in drive(tables.active_runs(MAIN))] == ["a", "b"]


def test_one_delivery_an_address_is_due_and_none_while_one_is_being_sent(tables: SqliteTables) -> None:
    elsewhere = replace(CHAT, to="bob")
    rows = [delivery("a"), delivery("b"), delivery("c", address=elsewhere)]
    for row in rows:
        drive(tables.insert_delivery(row, OWNER))
    assert [row.id for row in drive(tables.due_deliveries(NOON, 10, frozenset()))] == ["a", "c"]
    drive(tables.update_delivery(replace(rows[0], state=DeliveryState.SENDING)))
    assert [row.id for row in drive(tables.due_deliveries(NOON, 10, frozenset()))] == ["c"]
    drive(tables.update_delivery(replace(rows[0], state=DeliveryState.CONFIRMED)))
    assert [row.id for row in drive(tables.due_deliveries(NOON, 10, frozenset()))] == ["b", "c"]


def test_a_completion_is_owed_until_it_is_acknowledged(tables: SqliteTables) -> None:
    drive(tables.insert_completion(COMPLETION))
    assert drive(tables.owed(MAIN)) == drive(tables.batch(MAIN, "b")) == (COMPLETION,)
    settled = replace(COMPLETION, acknowledged_at=NOON)
    drive(tables.update_completion(settled))
    assert drive(tables.owed(MAIN)) == ()
    assert drive(tables.completion("run-1")) == settled


def test_an_exchange_is_kept_as_it_was_last_written(tables: SqliteTables) -> None:
    exchange = Exchange(id="x-1", requester=MAIN, target=OTHER, request="ask", created_at=NOON, max_turns=3)
    for row in (exchange, replace(exchange, turn=2)):
        drive(tables.put_exchange(row))
    assert drive(tables.exchange("x-1")) == replace(exchange, turn=2)
    assert drive(tables.exchange("x-2")) is None


def test_a_thread_is_bound_to_one_session_at_a_time(tables: SqliteTables) -> None:
    for key in (MAIN, OTHER):
        drive(
            tables.put_binding(
                ThreadBinding(address=CHAT, key=key, bound_by=OWNER, bound_at=NOON, used_at=NOON)
            )
        )
    binding = drive(tables.binding(CHAT))
    assert binding is not None
    assert binding.key == OTHER
    drive(tables.delete_binding(CHAT))
    assert drive(tables.binding(CHAT)) is None


def test_a_row_with_a_field_of_a_newer_version_is_read_without_it(
    tables: SqliteTables, connection: apsw.Connection
) -> None:
    drive(tables.insert_run(run("run-1")))
    drive(tables.insert_inbound(RECORD))
    drive(tables.insert_delivery(delivery("d-1"), OWNER))
    for table in ("runs", "inbound", "deliveries"):
        connection.execute(f"UPDATE {table} SET body = json_set(body, '$.priority', json('[5]'))")
    assert drive(tables.run("run-1")) == run("run-1")
    assert drive(tables.inbound("in-1")) == RECORD
    assert drive(tables.delivery("d-1")) == delivery("d-1")


def test_a_row_that_lacks_what_this_version_needs_is_told_as_damaged(
    tables: SqliteTables, connection: apsw.Connection
) -> None:
    drive(tables.insert_run(run("run-1")))
    connection.execute("UPDATE runs SET body = json_remove(body, '$.cause')")
    with pytest.raises(StoreCorrupt):
        drive(tables.run("run-1"))
