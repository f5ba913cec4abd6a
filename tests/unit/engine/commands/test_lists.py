import pytest

from roost.core.addresses import Address
from roost.core.commands import COMMANDS
from roost.core.principals import OWNER
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.threads import BindThread, ThreadBinding
from roost.core.toolpolicy import Removed, Stage
from roost.engine.inbox import TurnedAway
from roost.engine.rules import Part
from roost.testing.builders import MAIN
from tests.unit.engine.commands.rooms import Room
from tests.unit.engine.scenes import Doing


async def test_help_names_every_command_and_tells_of_one(room: Room) -> None:
    text = await room.ask("/help")
    assert all(f"/{command.name}" in text for command in COMMANDS)
    assert await room.ask("/help steer") == (
        "/steer <message>\nSay something to the run under way; without one, an ordinary message.\nAlso: /tell"
    )
    assert (await room.ask("/help send")).endswith("For the owner only.")


async def test_commands_lists_every_usage_with_its_purpose(room: Room) -> None:
    text = await room.ask("/commands")
    assert all(f"{command.usage} — {command.summary}" in text for command in COMMANDS)


async def test_whoami_says_who_and_why(room: Room) -> None:
    assert await room.ask("/whoami") == (
        "You are the owner of this gateway.\n"
        "Channel: loopback, your id there: ada\n"
        "Let in by: commands.ownerAllowFrom\n"
        "Session: agent:main:main"
    )
    assert "You are person:loopback:bob." in await room.ask("/whoami", "bob")


async def test_agents_shows_the_owner_all_and_others_their_own(room: Room) -> None:
    assert await room.ask("/agents") == "Agents:\nmain (answers here)\nops"
    assert await room.ask("/agents", "bob") == "Agents:\nmain (answers here)"


async def test_agents_tells_of_a_bound_thread(room: Room) -> None:
    address = Address(channel="loopback", to="ada", thread="t1")
    await room.accepted("hello")
    binding = ThreadBinding(address=address, key=MAIN, bound_by=OWNER, bound_at=1, used_at=1)
    await room.snapshot(MAIN, BindThread(binding=binding))
    accepted = await room.inbox.receive(room.envelope("/agents", thread="t1"))
    assert not isinstance(accepted, TurnedAway)
    assert "bound to agent:main:main" in (accepted.record.answer or "")


@pytest.mark.requirement("D54")
async def test_tools_shows_what_there_is_and_which_stage_removed_the_rest(room: Room) -> None:
    async def act() -> str:
        return ""

    scene = room.scene
    scene.tools = (Doing("write", act), Doing("read", act))

    def cast(session: Session, run: Run) -> Part:
        part = scene.cast(session, run)
        return Part(
            model=part.model,
            spec=part.spec,
            reason=part.reason,
            system=part.system,
            place=part.place,
            tools=part.tools,
            removed=(Removed("exec", Stage.SANDBOX),),
        )

    room.change(cast=cast)
    assert await room.ask("/tools") == ("Tools of this session (2): read, write\nRemoved: exec (by sandbox)")
    assert (await room.ask("/tools verbose")).splitlines()[1] == "read: Does it."
    assert "Say compact or verbose." in await room.ask("/tools all")
    scene.tools = ()
    room.change(cast=scene.cast)
    assert await room.ask("/tools compact") == "Tools of this session (0): none"
