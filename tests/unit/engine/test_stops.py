import anyio
import anyio.lowlevel

from roost.engine.stops import REMEMBERED, Stops


async def test_a_run_that_is_ended_is_cancelled_and_knows_the_first_reason() -> None:
    stops = Stops()
    with stops.around("r1") as stop:
        assert stops.end("r1", "first")
        assert stops.end("r1", "second")
        await anyio.sleep_forever()
    assert stop.reason == "first"


async def test_ending_one_run_leaves_the_others_alone() -> None:
    stops = Stops()
    with stops.around("r1") as stop:
        assert not stops.end("r2", "another")
        await anyio.lowlevel.checkpoint()
    assert stop.reason is None


async def test_a_run_that_was_ended_before_it_began_does_not_begin() -> None:
    stops = Stops()
    assert not stops.end("r1", "early")
    assert not stops.end("r1", "later")
    with stops.around("r1") as stop:
        await anyio.sleep_forever()
    assert stop.reason == "early"
    with stops.around("r1") as again:
        await anyio.lowlevel.checkpoint()
    assert again.reason is None


async def test_words_for_runs_that_never_come_are_forgotten_in_time() -> None:
    stops = Stops()
    for number in range(REMEMBERED + 1):
        stops.end(f"r{number}", "never")
    with stops.around("r0") as first:
        await anyio.lowlevel.checkpoint()
    with stops.around("r1") as second:
        await anyio.sleep_forever()
    assert (first.reason, second.reason) == (None, "never")
