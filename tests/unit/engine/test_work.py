from tests.unit.engine.scenes import Scene


async def test_a_run_has_moved_when_it_begins_and_whenever_it_says_so() -> None:
    scene = Scene()
    work = await scene.work(await scene.claimed())
    began = work.moved_at
    scene.clock.advance(5)
    assert work.moved_at == began
    assert work.idle_ms == 5
    work.move()
    assert work.idle_ms == 0
