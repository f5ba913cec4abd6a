import anyio

from roost.engine.stops import Stops


async def test_a_run_that_is_ended_is_cancelled_and_knows_the_first_reason() -> None:
    stops = Stops()
    with stops.around("r1") as stop:
        assert stops.end("r1", "first")
        assert stops.end("r1", "second")
        await anyio.sleep_forever()
    assert stop.reason == "first"


async def test_a_run_that_is_not_under_way_cannot_be_ended() -> None:
    stops = Stops()
    with stops.around("r1") as stop:
        assert not stops.end("r2", "another")
    assert stop.reason is None
    assert not stops.end("r1", "too late")
