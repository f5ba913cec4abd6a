"""Leases, the ledger and denials in SQL."""

from abc import abstractmethod
from typing import Any

from roost.core.addresses import Account
from roost.core.fleet import Hosting
from roost.core.leases import Gateway, Lease
from roost.core.ledger import Dearest, Denial, LedgerRow, LedgerTotal, Spent, SpentBy
from roost.core.messages import Usage
from roost.core.queries import EVERY_DENIAL, Calendar, DenialQuery, LedgerQuery
from roost.core.runs import RunKind
from roost.stores.codec import key_text, parse_key, parse_principal, sound
from roost.stores.sql.rows import Binding, Rows, filtered, listed, spells


class FactRows(Rows):
    @abstractmethod
    async def database_now(self) -> int:
        """UTC milliseconds by the one clock that judges leases."""

    async def keep_name(self, name: str) -> None:
        """Where there is one writer, nobody has to wait."""

    async def leases(self) -> tuple[Lease, ...]:
        return tuple(read_lease(row) for row in await self._all("leases"))

    async def lock_leases(self) -> tuple[Lease, ...]:
        return await self.leases()

    async def keep_lease(self, name: str) -> Lease | None:
        row = await self._one("lease", (name,))
        return None if row is None else read_lease(row)

    async def lock_lease(self, name: str) -> Lease | None:
        return await self.keep_lease(name)

    async def put_lease(self, lease: Lease) -> None:
        gateway = lease.gateway
        values = (
            gateway.name,
            gateway.holder,
            gateway.address,
            gateway.config_hash,
            lease.epoch,
            lease.expires_at,
        )
        await self._do("put_lease", values)

    async def delete_lease(self, name: str) -> None:
        await self._do("delete_lease", (name,))

    async def hostings(self) -> tuple[Hosting, ...]:
        return tuple(_read_hosting(row) for row in await self._all("hostings"))

    async def lock_hostings(self) -> tuple[Hosting, ...]:
        return await self.hostings()

    async def put_hosting(self, hosting: Hosting) -> None:
        values = (*hosting.account, hosting.gateway, hosting.epoch, hosting.at)
        await self._do("put_hosting", values)

    async def put_usage(self, row: LedgerRow) -> None:
        values = (
            row.id,
            str(row.principal),
            row.at,
            key_text(row.key),
            row.key.agent,
            row.session_id,
            row.run_id,
            row.run_kind,
            row.provider,
            row.model,
            *row.usage,
            int(row.estimated),
            self._tenant,
        )
        await self._do("put_usage", values)

    async def is_known_call(self, call_id: str) -> bool:
        return bool(await self._figure("is_known_call", (call_id,)))

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return _read_total(await self._row(*self._asked("usage", query)))

    async def spending(self, query: LedgerQuery, calendar: Calendar) -> tuple[Spent, ...]:
        statement, bindings = self._asked("spending", query)
        rows = await self._rows(statement, {**bindings, "spells": spells(calendar)})
        return tuple(
            Spent(day=day, agent=agent, provider=provider, model=model, total=_read_total(figures))
            for day, agent, provider, model, *figures in rows
        )

    async def dearest(self, query: LedgerQuery, limit: int) -> Dearest:
        statement, bindings = self._asked("dearest", query)
        rows = await self._rows(statement, {**bindings, "limit": limit})
        return Dearest(
            sessions=tuple(
                SpentBy(key=parse_key(key), total=_read_total(figures)) for _, key, *figures in rows
            ),
            count=rows[0][0] if rows else 0,
        )

    async def ledger(self, query: LedgerQuery, offset: int, limit: int) -> tuple[LedgerRow, ...]:
        statement, bindings = self._asked("ledger", query)
        rows = await self._rows(statement, {**bindings, "offset": offset, "limit": limit})
        return tuple(_read_call(row) for row in rows)

    def _asked(self, statement: str, query: LedgerQuery) -> tuple[str, dict[str, Binding]]:
        """A statement over the calls that are meant, and what it binds."""
        given: dict[str, tuple[str, Binding | None]] = {
            "key": ("where_key", key_text(query.key) if query.key else None),
            "keys": ("where_keys", listed(map(key_text, query.keys)) if query.keys is not None else None),
            "tree_of": ("where_tree", key_text(query.tree_of) if query.tree_of else None),
            "agent": ("where_agent", query.agent),
            "owner": ("where_owner", str(query.principal) if query.principal else None),
            "since": ("where_since", query.since),
            "until": ("where_until", query.until),
        }
        asked = {name: (where, value) for name, (where, value) in given.items() if value is not None}
        bindings: dict[str, Binding] = {"tenant": self._tenant}
        bindings |= {name: value for name, (_, value) in asked.items()}
        return filtered(self.sql, statement, [where for where, _ in asked.values()]), bindings

    async def insert_denial(self, denial: Denial) -> None:
        values = (
            str(denial.principal),
            denial.at,
            denial.operation,
            denial.rule,
            denial.reason,
            key_text(denial.caller) if denial.caller else None,
            denial.target,
            int(denial.hidden),
            self._tenant,
        )
        await self._do("insert_denial", values)

    async def denials(self, limit: int, query: DenialQuery = EVERY_DENIAL) -> tuple[Denial, ...]:
        given: dict[str, Binding | None] = {
            "told": str(query.told) if query.told else None,
            "caller": key_text(query.caller) if query.caller else None,
            "operation": query.operation,
            "target": query.target,
        }
        asked = {name: value for name, value in given.items() if value is not None}
        wheres = [f"where_{name}" for name in (*asked, *(("at_door",) if query.at_door else ()))]
        bindings: dict[str, Binding] = {"tenant": self._tenant, "limit": limit, **asked}
        rows = await self._rows(filtered(self.sql, "denials", wheres), bindings)
        return tuple(_read_denial(row) for row in rows)


def read_lease(row: Any) -> Lease:
    name, holder, address, config_hash, epoch, expires_at = row
    gateway = Gateway(name=name, holder=holder, address=address, config_hash=config_hash)
    return Lease(gateway=gateway, epoch=epoch, expires_at=expires_at)


def _read_total(row: Any) -> LedgerTotal:
    calls, *halves = [int(part or 0) for part in row]
    figures = ((high << 32) + low for high, low in zip(halves[:6], halves[6:], strict=True))
    return LedgerTotal(calls=calls, usage=Usage(*figures))


@sound
def _read_call(row: Any) -> LedgerRow:
    call_id, principal, at, key, session_id, run_id, run_kind, provider, model, *figures, estimated = row
    return LedgerRow(
        id=call_id,
        at=at,
        key=parse_key(key),
        session_id=session_id,
        principal=parse_principal(principal),
        run_id=run_id,
        run_kind=RunKind(run_kind),
        provider=provider,
        model=model,
        usage=Usage(*figures),
        estimated=bool(estimated),
    )


@sound
def _read_hosting(row: Any) -> Hosting:
    channel, account, gateway, epoch, at = row
    return Hosting(account=Account(channel, account), gateway=gateway, epoch=epoch, at=at)


@sound
def _read_denial(row: Any) -> Denial:
    principal, at, operation, rule, reason, caller, target, hidden = row
    return Denial(
        at=at,
        operation=operation,
        principal=parse_principal(principal),
        rule=rule,
        reason=reason,
        caller=parse_key(caller) if caller else None,
        target=target,
        hidden=bool(hidden),
    )
