from dataclasses import replace

import apsw
import pytest

from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.queries import DenialQuery, LedgerQuery
from roost.core.runs import RunKind
from roost.stores.sql.rows import filtered
from roost.stores.sqlite.rows import SQL
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.unit.stores.conftest import open_session

CHILD = SessionKey.named("helper", "child")
CALL = LedgerRow(
    id="call-1",
    at=NOON,
    key=MAIN,
    session_id="s-1",
    principal=OWNER,
    run_id="run-1",
    run_kind=RunKind.TURN,
    provider="demo",
    model="demo-1",
    usage=Usage(input=1, output=2, cache_read=3, cache_write=4, total=10, cost_micros=5),
)


def test_a_lease_replaces_the_one_of_its_name(tables: SqliteTables) -> None:
    leases = [
        Lease(
            gateway=Gateway(name=name, holder=holder, address="a", config_hash="h"),
            epoch=epoch,
            expires_at=epoch,
        )
        for name, holder, epoch in (("b", "one", 1), ("a", "two", 2), ("b", "three", 3))
    ]
    for lease in leases:
        drive(tables.put_lease(lease))
    assert drive(tables.leases()) == (leases[1], leases[2])
    assert drive(tables.database_now()) == NOON


@pytest.mark.requirement("P19")
def test_a_call_is_counted_once_and_an_estimate_gives_way(tables: SqliteTables) -> None:
    guess = replace(CALL, estimated=True, usage=Usage(input=100))
    for row in (guess, CALL, replace(CALL, usage=Usage(input=99))):
        drive(tables.put_usage(row))
    total = drive(tables.usage(LedgerQuery()))
    assert (total.calls, total.usage) == (1, CALL.usage)


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        (LedgerQuery(key=MAIN), 1),
        (LedgerQuery(tree_of=MAIN), 2),
        (LedgerQuery(tree_of=CHILD), 1),
        (LedgerQuery(agent="helper"), 1),
        (LedgerQuery(principal=OWNER), 2),
        (LedgerQuery(since=NOON + 1), 1),
        (LedgerQuery(until=NOON + 1), 1),
        (LedgerQuery(since=NOON + 1, agent="main"), 0),
    ],
)
def test_calls_are_added_up_by_what_is_asked(tables: SqliteTables, query: LedgerQuery, calls: int) -> None:
    open_session(tables, CHILD, parent=MAIN)
    drive(tables.put_usage(CALL))
    drive(tables.put_usage(replace(CALL, id="call-2", key=CHILD, at=NOON + 1)))
    assert drive(tables.usage(query)).calls == calls


def test_denials_read_back_newest_first(tables: SqliteTables) -> None:
    bare = Denial(at=NOON, operation="send", principal=OWNER, rule="r", reason="why")
    full = replace(bare, caller=MAIN, target="agent:main:other", hidden=True)
    for denial in (bare, full):
        drive(tables.insert_denial(denial))
    assert drive(tables.denials(10)) == (full, bare)
    assert drive(tables.denials(1)) == (full,)


def test_denials_are_read_as_far_as_they_are_asked_for(tables: SqliteTables) -> None:
    bare = Denial(at=NOON, operation="send", principal=OWNER, rule="r", reason="why")
    full = replace(bare, caller=MAIN, target="run-1")
    for denial in (full, bare):
        drive(tables.insert_denial(denial))
    asked = DenialQuery(told=OWNER, caller=MAIN, operation="send", target="run-1")
    assert drive(tables.denials(10, asked)) == (full,)
    assert drive(tables.denials(10, DenialQuery(at_door=True))) == (bare,)


@pytest.mark.requirement("P17")
@pytest.mark.parametrize(
    ("conditions", "index"),
    [
        (["where_caller"], "denials_by_caller (caller=?)"),
        (["where_caller", "where_operation", "where_target"], "denials_by_caller (caller=?)"),
        (["where_at_door"], "denials_by_caller (caller=?)"),
        (["where_told"], "denials_by_principal (principal=?)"),
    ],
)
def test_denials_that_concern_somebody_are_found_without_walking_the_others(
    connection: apsw.Connection, conditions: list[str], index: str
) -> None:
    bindings = dict.fromkeys(("tenant", "caller", "operation", "target", "told"), "x") | {"limit": 5}
    sql = f"EXPLAIN QUERY PLAN {filtered(SQL, 'denials', conditions)}"
    assert [row[3] for row in connection.execute(sql, bindings)] == [f"SEARCH s USING INDEX {index}"]
