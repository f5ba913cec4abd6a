"""`sessions_yield`: end the turn and go on when the children of this turn have ended."""

from dataclasses import replace

import pytest

from roost.core.effects import OweCompletion
from roost.tools.sessions_yield import NOTHING, STOCK, SessionsYield
from tests import samples
from tests.contract.scenes import change
from tests.unit.tools.calls import error_of
from tests.unit.tools.houses import CHILD, House


@pytest.mark.requirement("D63")
async def test_a_turn_names_the_children_it_waits_for() -> None:
    house = House()
    await house.family()
    for name, batch in (("a", "r1"), ("b", "earlier")):
        owed = replace(samples.completion(name, batch=batch), child=CHILD)
        await change(house.store, OweCompletion(completion=owed))
    told = await house.ask(SessionsYield(house.access), message="sum up")
    assert told == {"status": "yielded", "message": "sum up", "pendingChildren": [str(CHILD)]}


async def test_a_turn_with_nothing_to_wait_for_is_over_and_warned() -> None:
    house = House()
    await house.family()
    told = await house.ask(SessionsYield(house.access))
    assert told == {"status": "yielded", "message": STOCK, "pendingChildren": [], "warning": NOTHING}
    assert SessionsYield.traits.ends_turn
    assert "takes no `until`" in error_of(await house.call(SessionsYield(house.access), until="noon"))
