import pytest

from tests.unit.engine.commands.rooms import Room
from tests.unit.engine.commands.test_status import row


async def test_usage_goes_round_or_where_it_is_told(room: Room) -> None:
    assert [await room.ask("/usage") for _ in range(3)] == [
        f"Figures below answers: {level}." for level in ("tokens", "full", "off")
    ]
    assert await room.ask("/usage full") == "Figures below answers: full."
    assert (await room.session()).overrides.usage == "full"
    await room.ask("/usage reset")
    assert (await room.session()).overrides.usage is None


@pytest.mark.requirement("P19")
async def test_cost_sums_up_what_was_spent(room: Room) -> None:
    await room.accepted("hello")
    child = await room.spawn("kid")
    await room.store.record_usage(row("a"))
    await room.store.record_usage(row("b", child))
    lines = (await room.ask("/usage cost")).splitlines()
    assert lines[0] == "This session: $0.0020, 1.2k in, 30 out, 1 model call"
    assert lines[1].startswith("With sub-agents: $0.0040")
    assert lines[3].startswith("Whole gateway: $0.0040")
    assert len((await room.ask("/usage cost", "bob")).splitlines()) == 3


async def test_a_level_there_is_not(room: Room) -> None:
    assert await room.ask("/usage much") == "/usage knows no 'much'. Say off, tokens, full, reset or cost."
