"""What retention removes when somebody asks for it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.retention import Swept
from roost.core.visibility import Operation
from roost.server.calls import Call

Mode: TypeAlias = Literal["enforce", "warn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """`store` is its count, in the words of clients."""

    swept: Swept
    mode: Mode
    store: JsonObject


async def clean(call: Call, active: str | None, *, enforce: bool = False, dry_run: bool = False) -> Cleanup:
    house = call.house
    kept = await _kept(call, active)
    sweeper, before = house.engine.sweeper, (await house.store.fullness()).kept
    if dry_run:
        swept = await sweeper.preview(kept)
        after = before - len(swept.sessions)
    else:
        swept = await sweeper.sweep(enforce=enforce, kept=kept)
        after = (await house.store.fullness()).kept
    mode: Mode = "enforce" if enforce or house.engine.rules.house.retention.enforce else "warn"
    store: JsonObject = {
        "agentId": house.engine.rules.routing.default_agent,
        "storePath": house.about.store_path,
        "mode": mode,
        "dryRun": dry_run,
        "beforeCount": before,
        "afterCount": after,
        "missing": 0,
        "dmScopeRetired": 0,
        "modelRunPruned": 0,
        "archived": len(swept.archived),
        "pruned": len(swept.sessions),
        "capped": 0,
        "unreferencedArtifacts": {"removedFiles": 0},
        "diskBudget": None,
        "wouldMutate": swept.anything,
        "applied": not dry_run,
        "appliedCount": after,
    }
    return Cleanup(swept=swept, mode=mode, store=store)


async def _kept(call: Call, active: str | None) -> frozenset[SessionKey]:
    if active is None:
        return frozenset()
    return frozenset({(await call.house.found(Operation.STATUS, call.caller, active)).key})
