"""One thing done to several sessions: what came of each, and whether of all."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from roost.cli.rows import unknown
from roost.cli.show import as_json, say, say_wrong
from roost.cli.where import Where
from roost.client import Client, Refused
from roost.core.errors import Conflict, InvalidInput, NotFound, RoostError
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.sessions import DESCRIBE


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of one: `words` for people, and for programs its key, its status and `more`."""

    key: str
    status: str
    words: str
    more: JsonObject = field(default_factory=dict)


Step: TypeAlias = Callable[[str], Awaitable[Came]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """Each is tried, whatever becomes of the others; a gateway that is not heard ends it."""

    operation: str
    where: Where
    dry_run: bool = False
    results: list[JsonValue] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    async def each(self, keys: Sequence[str], step: Step) -> tuple[Came, ...]:
        came = []
        for key in dict.fromkeys(keys):
            try:
                came.append(await step(key))
            except (Refused, NotFound, InvalidInput, Conflict) as error:
                self._fail(key, error)
        return tuple(came)

    def keep(self, one: Came) -> Came:
        self.results.append({"key": one.key, "ok": True, "status": one.status, **one.more})
        if not self.where.json:
            say(one.words)
        return one

    def code(self) -> int:
        """All is told; 1 if one failed."""
        if self.where.json:
            as_json(
                {
                    "ok": not self.failed,
                    "operation": self.operation,
                    "dryRun": self.dry_run,
                    "results": self.results,
                }
            )
        return 1 if self.failed else 0

    def _fail(self, key: str, error: RoostError) -> None:
        told = {"code": error.finest, "message": error.message, "hint": error.hint}
        self.failed.append(key)
        self.results.append({"key": key, "ok": False, "status": "failed", "error": told})
        if not self.where.json:
            say_wrong(str(error))


async def key_of(client: Client, named: str) -> str:
    """The key of a session that is there: what is not would be opened by a change."""
    row = (await client.call(DESCRIBE, {"key": named}))["session"]
    if row is None:
        raise unknown(named)
    return str(row["key"])
