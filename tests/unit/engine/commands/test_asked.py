from roost.core.channels import ChannelAbilities
from roost.core.deliveries import DeliveryState
from roost.core.sessions import Overrides
from roost.core.trees import Tree
from roost.engine.commands.asked import overrides_of, saying
from tests import samples
from tests.unit.engine.commands.rooms import Room


def test_a_session_that_is_not_there_has_no_settings() -> None:
    gone = Tree(session=samples.snapshot())
    assert overrides_of(gone) == Overrides()
    assert saying("well")(gone).text == "well"


async def test_the_part_of_a_session_is_what_its_next_turn_gets(room: Room) -> None:
    assert "scripted/one (the only model)" in await room.ask("/model")


async def test_an_answer_to_a_channel_that_is_not_there_is_not_cut() -> None:
    room = Room(abilities=ChannelAbilities(longest=50), serves="elsewhere")
    await room.ask("/commands")
    assert len(await room.store.deliveries(DeliveryState.INTENT, 10)) == 1
