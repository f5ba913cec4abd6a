"""What can be wrong with a store in PostgreSQL, and what of it can be made anew. The server keeps its own files sound,
and that every row has the row it belongs to."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from importlib.resources import files

from roost.core.budgets import Reservation
from roost.core.errors import StoreCorrupt
from roost.stores.bodies import load_body
from roost.stores.postgres.dialect import in_postgresql
from roost.stores.postgres.search_rows import SearchRow, search_row
from roost.stores.postgres.tables import PostgresTables
from roost.stores.statements import load

CHECKS = (
    "headless_sessions",
    "miscounted_sessions",
    "gapped_generations",
    "gapped_events",
    "unlinked_children",
)
SQL: Mapping[str, str] = {
    name: in_postgresql(sql) for name, sql in load(files("roost.stores.sql") / "checks.sql").items()
}


class CheckedTables(PostgresTables):
    async def faults(self) -> tuple[str, ...]:
        """What is wrong, one line each."""
        found = [f"{check}: {row[0]}" for check in CHECKS for row in await self._rows(SQL[check], ())]
        found += [f"unsearchable_entries: {row[3]} of {row[2]}" async for row in self._unsearchable()]
        found += [f"miscounted_budgets: {name}" for name in await self._miscounted()]
        return tuple(found)

    async def mend(self) -> None:
        """Kinship, the search index and what budgets hold, from the rows they follow from."""
        for row in await self._rows(SQL["unlinked_children"], ()):
            await self._changed(SQL["link_child"], tuple(row))
            await self._changed(SQL["link_above"], tuple(row))
        missing = [row async for row in self._unsearchable()]
        if missing:
            await self._write_all("insert_search", missing)
        for name, held in (await self._miscounted()).items():
            await self._do("restate_budget", (held, name))

    async def _unsearchable(self) -> AsyncIterator[SearchRow]:
        for number, seq, text in await self._all("unindexed_entries"):
            # A body in which there is no sense can only be mended by a backup.
            with suppress(StoreCorrupt):
                row = search_row(number, seq, load_body(text))
                if row is not None:
                    yield row

    async def _miscounted(self) -> dict[str, int]:
        """Budgets that do not hold what the calls under way hold of them, and what that is."""
        calls: tuple[Reservation, ...] = await self._bodies("all_reservations", (), Reservation)
        held: Counter[str] = Counter()
        for call in calls:
            for hold in call.holds:
                held[hold.name] += hold.amount
        return {name: held[name] for name, said in await self._all("budgets") if said != held[name]}
