import anyio

from roost.core.principals import OWNER
from roost.protocol.scopes import Scope
from roost.server.auth import Admitted
from roost.server.callers import UNCHECKED, Callers

ADMITTED = Admitted(principal=OWNER, method="token", scopes=(Scope.WRITE,))


async def test_a_caller_is_there_as_long_as_its_request_and_is_sent_away_from_outside() -> None:
    callers = Callers()
    with anyio.fail_after(60):
        with callers.staying(ADMITTED) as stay:
            (found,) = callers
            assert found.admitted is ADMITTED
            found.dismiss(UNCHECKED)
            await anyio.sleep_forever()
    assert stay.scope.cancelled_caught
    assert stay.why is UNCHECKED
    assert list(callers) == []


async def test_it_is_known_when_the_last_has_gone() -> None:
    callers = Callers()
    with anyio.fail_after(60):
        await callers.all_gone()
        async with anyio.create_task_group() as group:
            with callers.staying(ADMITTED), callers.staying(ADMITTED) as other:
                group.start_soon(callers.all_gone)
                await anyio.wait_all_tasks_blocked()
                other.dismiss(UNCHECKED)
                await anyio.sleep_forever()
            assert list(callers) == []
