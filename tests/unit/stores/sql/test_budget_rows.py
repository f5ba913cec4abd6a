import apsw

from roost.core.budgets import Balance, Hold, Measure, Reservation
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.runs import RunKind
from roost.stores.sqlite.checking import SQL
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN
from roost.testing.clock import NOON


def reservation(name: str, run_id: str = "r1") -> Reservation:
    row = LedgerRow(
        id=name,
        at=NOON,
        key=MAIN,
        session_id="s",
        principal=OWNER,
        run_id=run_id,
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(input=7),
        estimated=True,
    )
    hold = Hold(name="a", measure=Measure.COST, amount=7, since=NOON)
    return Reservation(row=row, holds=(hold,))


def test_a_balance_is_written_over_and_one_that_is_not_there_is_empty(tables: SqliteTables) -> None:
    for balance in (Balance(held=1), Balance(since=1, spent=2, held=3, warned=4)):
        drive(tables.put_balance("a", balance))
        assert drive(tables.lock_balances(["a", "b"])) == {"a": balance, "b": Balance()}


def test_reservations_are_found_by_call_and_by_run(tables: SqliteTables) -> None:
    first, second, other = reservation("c1"), reservation("c2"), reservation("c3", "r2")
    for one in (second, first, other):
        drive(tables.insert_reservation(one))
    assert drive(tables.reservation("c3")) == other
    assert drive(tables.reservations("r1")) == (first, second)
    drive(tables.delete_reservation("c1"))
    assert drive(tables.reservation("c1")) is None
    assert drive(tables.reservations("r1")) == (second,)


def test_a_balance_that_holds_what_no_call_holds_is_found(
    tables: SqliteTables, connection: apsw.Connection
) -> None:
    drive(tables.insert_reservation(reservation("c1")))
    drive(tables.put_balance("a", Balance(held=7)))
    assert connection.execute(SQL["miscounted_budgets"]).fetchall() == []
    drive(tables.put_balance("a", Balance(held=8)))
    drive(tables.put_balance("b", Balance(held=1)))
    assert connection.execute(SQL["miscounted_budgets"]).fetchall() == [("a",), ("b",)]
