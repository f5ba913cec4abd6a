"""Turns with children, played by hand."""

from roost.core.exchanges import Completion, CompletionStatus
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, UserMessage, text_of
from roost.core.recovery import MAX_AGE_MS
from roost.core.runs import Run, RunState
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import spawn
from tests.flows.driver import Driver, Said, dm


async def asked(driver: Driver, text: str = "look into it") -> Run:
    """A turn of the owner's session that is under way."""
    await driver.hear(dm(text))
    run = await driver.started()
    await driver.take(run)
    return run


async def taken(driver: Driver) -> Run:
    """The next run, once it has read what it is to answer."""
    run = await driver.started()
    await driver.take(run)
    return run


async def end(driver: Driver, clock: FakeClock, run: Run, state: RunState, text: str = "found it") -> None:
    """End a child in a given way; one that is interrupted was left too long by a gateway that died."""
    if state is RunState.INTERRUPTED:
        clock.advance(MAX_AGE_MS + 1)
        await driver.recover()
    else:
        await driver.finish(run, Said(text=text, state=state))


async def told_in(driver: Driver, key: SessionKey) -> list[str]:
    """What a session's transcript was told of children."""
    entries = await driver.store.entries((await driver.session(key)).session_id)
    return [
        text_of(entry.body)
        for entry in entries
        if isinstance(entry.body, UserMessage) and entry.body.provenance.kind is ProvenanceKind.SUBAGENT
    ]


async def owed(driver: Driver, key: SessionKey = MAIN) -> list[tuple[str, CompletionStatus]]:
    return [(one.child_run, one.status) for one in await driver.store.completions(key)]


async def batch(driver: Driver, size: int) -> tuple[Run, list[Completion]]:
    """A turn that spawned some children."""
    turn = await asked(driver)
    return turn, [await spawn(driver, turn, f"part {number}") for number in range(size)]
