"""Budgets and the calls that hold something of them, in SQLite. There is one writer: its rows are locked already."""

from collections.abc import Sequence
from typing import Any

from roost.core.budgets import Balance, Reservation
from roost.stores.codec import encode
from roost.stores.sqlite.rows import SQL, Rows


class BudgetRows(Rows):
    async def lock_balances(self, names: Sequence[str]) -> dict[str, Balance]:
        return {name: self._balance(name) for name in names}

    def _balance(self, name: str) -> Balance:
        row: Any = self._execute(SQL["balance"], (name,)).fetchone()
        if row is None:
            return Balance()
        since, spent, held, warned = row
        return Balance(since=since, spent=spent, held=held, warned=warned)

    async def put_balance(self, name: str, balance: Balance) -> None:
        values = (name, balance.since, balance.spent, balance.held, balance.warned, self._tenant)
        self._execute(SQL["put_balance"], values)

    async def reservation(self, call_id: str) -> Reservation | None:
        return self._body("reservation", (call_id,), Reservation)  # type: ignore[no-any-return]

    async def reservations(self, run_id: str) -> tuple[Reservation, ...]:
        return self._bodies("reservations", (run_id,), Reservation)

    async def insert_reservation(self, reservation: Reservation) -> None:
        row = reservation.row
        self._execute(SQL["insert_reservation"], (row.id, row.run_id, encode(reservation), self._tenant))

    async def delete_reservation(self, call_id: str) -> None:
        self._execute(SQL["delete_reservation"], (call_id,))
