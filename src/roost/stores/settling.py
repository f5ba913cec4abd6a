"""What model calls hold of budgets, let go: settled when the call was heard of, estimated when it never will be."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from roost.core.budgets import Balance, Hold, Reservation, locked, released, settled
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.stores.tables import Tables

UNHEARD_OF = Usage()

After: TypeAlias = Callable[[Balance, Hold], Balance]


async def settle(tables: Tables, row: LedgerRow) -> None:
    """The call was made and cost this much."""
    reservation = await tables.reservation(row.id)
    if reservation is not None:
        await _let_go(tables, [reservation], lambda balance, hold: settled(balance, hold, row.usage))


async def release(tables: Tables, call_id: str) -> None:
    """The call was not made."""
    reservation = await tables.reservation(call_id)
    if reservation is not None:
        await _let_go(tables, [reservation], released)


async def settle_left(tables: Tables, run_ids: Iterable[str]) -> None:
    """Calls that nobody will hear of count as what they held."""
    left = [one for run_id in sorted(run_ids) for one in await tables.reservations(run_id)]
    for reservation in left:
        await tables.put_usage(reservation.row)
    await _let_go(tables, left, lambda balance, hold: settled(balance, hold, UNHEARD_OF))


async def _let_go(tables: Tables, reservations: list[Reservation], after: After) -> None:
    holds = [hold for reservation in reservations for hold in reservation.holds]
    balances = await tables.lock_balances(locked(holds))
    for hold in holds:
        balances[hold.name] = after(balances[hold.name], hold)
    for name, balance in balances.items():
        await tables.put_balance(name, balance)
    for reservation in reservations:
        await tables.delete_reservation(reservation.row.id)
