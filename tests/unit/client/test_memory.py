"""A connection within one process."""

from roost.client.memory import ends


async def test_what_is_sent_at_one_end_is_received_at_the_other() -> None:
    near, far = ends()
    await near.send(b"question")
    assert await far.receive() == b"question"
    await far.send(b"answer")
    await far.close(1000, "")
    assert await near.receive() == b"answer"
    assert await near.receive() is None
    near.drop()
    assert await far.receive() is None
    await far.send(b"too late")
    far.drop()


async def test_what_can_no_longer_be_sent_is_dropped() -> None:
    near, far = ends()
    near.hang_up()
    await near.send(b"too late")
    assert await far.receive() is None
    near.drop()
    far.drop()
