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
