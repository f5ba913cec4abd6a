import pytest

from roost.core.commands import COMMANDS, Command, Name
from roost.engine.commands.handlers import HANDLERS
from tests.unit.engine.commands.rooms import Room


def test_every_command_has_a_handler() -> None:
    assert set(HANDLERS) == set(Name)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
async def test_every_command_is_answered_or_goes_on_as_a_message(room: Room, command: Command) -> None:
    record = (await room.accepted(f"/{command.name}")).record
    assert (record.answer is None) == (command.name in (Name.NEW, Name.RESET))
    assert record.answer is None or record.answer[0].isupper()
