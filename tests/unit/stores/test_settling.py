"""Letting go of what calls hold. Whole verbs are proven by the contract suite."""

import pytest

from roost.core.budgets import Balance, Hold, Measure, Reservation
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.runs import RunKind
from roost.stores.memory.tables import MemoryTables
from roost.stores.settling import release, settle, settle_left
from roost.stores.tables import drive
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock


class OrderedTables(MemoryTables):
    """Knows in which order rows were locked."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.locked: list[tuple[str, ...]] = []

    async def lock_balances(self, names: object) -> dict[str, Balance]:
        self.locked.append(tuple(names))  # type: ignore[arg-type]
        return await super().lock_balances(self.locked[-1])


@pytest.fixture
def tables() -> OrderedTables:
    tables = OrderedTables()
    for number, names in enumerate(("ca", "b"), start=1):
        holds = tuple(Hold(name=name, measure=Measure.TOKENS, amount=10, since=0) for name in names)
        drive(tables.insert_reservation(Reservation(row=row(number), holds=holds)))
        for name in names:
            drive(tables.put_balance(name, Balance(held=10)))
    return tables


def row(number: int, usage: Usage = Usage(input=10, total=10)) -> LedgerRow:  # noqa: B008 — a frozen value
    return LedgerRow(
        id=f"c{number}",
        at=NOON,
        key=MAIN,
        session_id="s",
        principal=OWNER,
        run_id=f"r{number}",
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=usage,
        estimated=True,
    )


def stored(tables: OrderedTables) -> dict[str, Balance]:
    return drive(tables.lock_balances(["a", "b", "c"]))


def test_a_call_that_was_heard_of_is_spent(tables: OrderedTables) -> None:
    drive(settle(tables, row(1, Usage(input=4, total=4))))
    assert stored(tables) == {"a": Balance(spent=4), "b": Balance(held=10), "c": Balance(spent=4)}
    assert drive(tables.reservation("c1")) is None


def test_a_call_that_was_not_made_is_given_back(tables: OrderedTables) -> None:
    drive(release(tables, "c2"))
    assert stored(tables) == {"a": Balance(held=10), "b": Balance(), "c": Balance(held=10)}


def test_what_holds_nothing_is_let_go_in_silence(tables: OrderedTables) -> None:
    drive(settle(tables, row(9)))
    drive(release(tables, "c9"))
    assert tables.locked == []


def test_all_that_runs_leave_behind_is_locked_at_once_in_order_and_estimated(tables: OrderedTables) -> None:
    drive(settle_left(tables, {"r2", "r1", "r9"}))
    assert tables.locked == [("a", "b", "c")]
    assert stored(tables) == {name: Balance(spent=10) for name in "abc"}
    assert drive(tables.usage(LedgerQuery())).calls == 2
