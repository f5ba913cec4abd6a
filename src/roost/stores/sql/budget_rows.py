"""Budgets and the calls that hold something of them, in SQL; a database with more than one writer locks them."""

from collections.abc import Sequence
from typing import Any

from roost.core.budgets import Balance, Reservation
from roost.stores.codec import encode
from roost.stores.sql.rows import Rows


class BudgetRows(Rows):
    async def lock_balances(self, names: Sequence[str]) -> dict[str, Balance]:
        return {name: await self._balance(name) for name in names}

    async def _balance(self, name: str) -> Balance:
        row = await self._one("balance", (name,))
        return Balance() if row is None else read_balance(row)

    async def put_balance(self, name: str, balance: Balance) -> None:
        values = (name, balance.since, balance.spent, balance.held, balance.warned, self._tenant)
        await self._do("put_balance", values)

    async def reservation(self, call_id: str) -> Reservation | None:
        return await self._body("reservation", (call_id,), Reservation)  # type: ignore[no-any-return]

    async def reservations(self, run_id: str) -> tuple[Reservation, ...]:
        return await self._bodies("reservations", (run_id,), Reservation)

    async def insert_reservation(self, reservation: Reservation) -> None:
        row = reservation.row
        await self._do("insert_reservation", (row.id, row.run_id, encode(reservation), self._tenant))

    async def delete_reservation(self, call_id: str) -> None:
        await self._do("delete_reservation", (call_id,))


def read_balance(row: Any) -> Balance:
    since, spent, held, warned = row
    return Balance(since=since, spent=spent, held=held, warned=warned)
