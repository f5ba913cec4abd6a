"""Leases, the ledger and denials in SQLite."""

from typing import Any

from roost.core.leases import Gateway, Lease
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.messages import Usage
from roost.core.queries import LedgerQuery
from roost.stores.codec import key_text, parse_key, parse_principal, sound
from roost.stores.sqlite.rows import SQL, Binding, Rows, filtered


class FactRows(Rows):
    async def database_now(self) -> int:
        return self._database_now()

    async def leases(self) -> tuple[Lease, ...]:
        return tuple(_read_lease(row) for row in self._execute(SQL["leases"]))

    async def lock_leases(self) -> tuple[Lease, ...]:
        return await self.leases()

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
        self._execute(SQL["put_lease"], values)

    async def put_usage(self, row: LedgerRow) -> None:
        usage = row.usage
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
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total,
            usage.cost_micros,
            int(row.estimated),
            self._tenant,
        )
        self._execute(SQL["put_usage"], values)

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        given: dict[str, tuple[str, Binding | None]] = {
            "key": ("where_key", key_text(query.key) if query.key else None),
            "tree_of": ("where_tree", key_text(query.tree_of) if query.tree_of else None),
            "agent": ("where_agent", query.agent),
            "owner": ("where_owner", str(query.principal) if query.principal else None),
            "since": ("where_since", query.since),
            "until": ("where_until", query.until),
        }
        asked = {name: pair for name, pair in given.items() if pair[1] is not None}
        bindings = {"tenant": self._tenant, **{name: value for name, (_, value) in asked.items()}}
        statement = filtered("usage", [condition for condition, _ in asked.values()])
        row: Any = self._execute(statement, bindings).fetchone()
        calls, *halves = [part or 0 for part in row]
        tokens_in, tokens_out, cache_read, cache_write, total, cost = [
            (high << 32) + low for high, low in zip(halves[:6], halves[6:], strict=True)
        ]
        return LedgerTotal(
            calls=calls,
            usage=Usage(
                input=tokens_in,
                output=tokens_out,
                cache_read=cache_read,
                cache_write=cache_write,
                total=total,
                cost_micros=cost,
            ),
        )

    async def insert_denial(self, denial: Denial) -> None:
        values = (
            str(denial.principal),
            denial.at,
            denial.operation,
            denial.rule,
            denial.reason,
            key_text(denial.caller) if denial.caller else None,
            denial.target,
            self._tenant,
        )
        self._execute(SQL["insert_denial"], values)

    async def denials(self, limit: int) -> tuple[Denial, ...]:
        return tuple(_read_denial(row) for row in self._execute(SQL["denials"], (limit,)))


def _read_lease(row: Any) -> Lease:
    name, holder, address, config_hash, epoch, expires_at = row
    gateway = Gateway(name=name, holder=holder, address=address, config_hash=config_hash)
    return Lease(gateway=gateway, epoch=epoch, expires_at=expires_at)


@sound
def _read_denial(row: Any) -> Denial:
    principal, at, operation, rule, reason, caller, target = row
    return Denial(
        at=at,
        operation=operation,
        principal=parse_principal(principal),
        rule=rule,
        reason=reason,
        caller=parse_key(caller) if caller else None,
        target=target,
    )
