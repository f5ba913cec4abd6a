"""The table of guards at the door of chat commands: level and sandbox bind tools, and people are bound by what is theirs."""

import pytest

from roost.core.commands import COMMANDS, Command
from roost.core.keys import SessionKey
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.visibility import Level
from tests.contract.scenes import known
from tests.flows.guards import CAROLS, INNER, NOWHERE, TOP, Asker, Box, Relation, Who, plant
from tests.unit.engine.commands.rooms import Room

CHATS: dict[Who, dict[str, str]] = {
    Who.OWNER: {"who": "ada"},
    Who.PERSON: {"who": "bob"},
    Who.GUEST: {"who": "bob", "group": "g1"},
}


@pytest.fixture
async def room() -> Room:
    room = Room()
    room.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
    await plant(room.store)
    return room


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
@pytest.mark.parametrize("who", Who, ids=lambda who: who.name)
async def test_a_command_moves_the_session_it_was_written_in_and_no_other(
    room: Room, command: Command, who: Who
) -> None:
    """Whoever writes in a chat takes part in its session. What is the owner's alone is refused to all others."""
    others = {TOP[one] for one in Who if one is not who} | {CAROLS}
    before = {key: await known(room.store, key) for key in others}
    accepted = await room.accepted(f"/{command.name}", **CHATS[who])
    assert accepted.record.inbound.key == TOP[who]
    refused = [(one.operation, one.caller) for one in await room.store.denials(10)]
    barred = command.owner and who is not Who.OWNER
    assert refused == ([(f"/{command.name}", TOP[who])] if barred else [])
    assert {key: await known(room.store, key) for key in others} == before


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("who", Who, ids=lambda who: who.name)
async def test_the_owner_alone_exports_and_what_he_writes_in_only(room: Room, who: Who) -> None:
    written: list[SessionKey] = []

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        written.append(key)
        return (f"{key}.jsonl",)

    room.command_rules(export=export)
    await room.ask("/export-session", **CHATS[who])
    assert written == ([TOP[who]] if who is Who.OWNER else [])
    await room.ask(f"/export-session {CAROLS}", **CHATS[who])
    assert CAROLS not in written


@pytest.mark.requirement("P8", "S16")
@pytest.mark.parametrize("action", ["info", "log", "kill"])
@pytest.mark.parametrize("who", Who, ids=lambda who: who.name)
async def test_subagents_reaches_the_speakers_own_children_of_this_session_only(
    room: Room, action: str, who: Who
) -> None:
    asker = Asker(who=who, inner=False, level=Level.ALL, box=Box.NONE)
    absent = await room.ask(f"/subagents {action} {NOWHERE}", **CHATS[who])
    for relation, key in (*asker.targets.items(), *((Relation.OTHER_PERSON, INNER[one]) for one in Who)):
        child = key == INNER[who]
        before = await known(room.store, key)
        answer = await room.ask(f"/subagents {action} {key}", **CHATS[who])
        if child and who is not Who.GUEST:
            assert "there is no sub-agent" not in answer.lower()
            continue
        assert answer == absent.replace(str(NOWHERE), str(key)), (who, relation)
        if relation is not Relation.SELF:
            assert await known(room.store, key) == before


@pytest.mark.parametrize(("who", "shown"), [(Who.OWNER, 2), (Who.PERSON, 2), (Who.GUEST, 0)])
async def test_subagents_lists_what_is_the_speakers_own(room: Room, who: Who, shown: int) -> None:
    answer = await room.ask("/subagents list", **CHATS[who])
    assert sum(line.startswith("#") for line in answer.splitlines()) == shown
