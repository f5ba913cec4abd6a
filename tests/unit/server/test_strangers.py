"""Who was turned away, as the log tells it."""

import anyio
import pytest

from roost.core.workload import Workload
from roost.protocol.handshake import NO_CREDENTIAL, Refusal, wrong_role, wrong_secret
from roost.protocol.turnedaway import FOREIGN_PAGE
from roost.server.metrics import Meters
from roost.server.strangers import MINUTE_MS, MOST, UNLISTED_PROXY, Strangers, code_of
from roost.testing.clock import FakeClock

WRONG = code_of(wrong_secret("token"))
HOME = "127.0.0.1"


@pytest.fixture
def meters() -> Meters:
    return Meters()


@pytest.fixture
def strangers(meters: Meters) -> Strangers:
    return Strangers(meters)


def test_every_refusal_has_a_code() -> None:
    told = (wrong_secret("token"), FOREIGN_PAGE, wrong_role("x"), Refusal(close=1008), NO_CREDENTIAL)
    assert [code_of(one) for one in told] == [
        "AUTH_TOKEN_MISMATCH",
        "CONTROL_UI_ORIGIN_NOT_ALLOWED",
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        "DEVICE_IDENTITY_REQUIRED",
    ]


@pytest.mark.requirement("P29")
async def test_of_one_address_there_is_a_line_at_once_and_one_a_minute_with_the_count(
    strangers: Strangers, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(strangers.watch, clock)
        await anyio.wait_all_tasks_blocked()
        for _ in range(25):
            strangers.turned_away(WRONG, HOME)
        strangers.turned_away("AUTH_RATE_LIMITED", HOME)
        assert caplog.messages == [f"turned away: {WRONG} from {HOME}"]
        for _ in range(2):
            clock.advance(MINUTE_MS)
            await anyio.wait_all_tasks_blocked()
        assert caplog.messages[1:] == [
            f"turned away: {WRONG} 24 times, AUTH_RATE_LIMITED 1 times more within a minute from {HOME}"
        ]
        strangers.turned_away(WRONG, HOME)
        assert len(caplog.messages) == 3
        group.cancel_scope.cancel()


async def test_however_many_addresses_there_are_only_so_many_lines_tell_of_them(
    strangers: Strangers, meters: Meters, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MOST + 50):
        strangers.turned_away(WRONG, f"10.0.{number // 250}.{number % 250}")
    assert len(caplog.messages) == MOST + 1
    assert caplog.messages[-1] == f"turned away: {WRONG} from other addresses"
    figures = await meters.text(Workload(), (), 0, 0)
    assert f'roost_turned_away_total{{code="{WRONG}"}} {MOST + 50}.0'.encode() in figures


def test_what_a_stranger_writes_ends_no_line(strangers: Strangers, caplog: pytest.LogCaptureFixture) -> None:
    strangers.turned_away(WRONG, "1.2.3.4\nturned away: nobody\x1b[2J" + "x" * 200)
    strangers.turned_away(WRONG, "")
    assert caplog.messages[0].startswith(f"turned away: {WRONG} from 1.2.3.4\\nturned away: nobody\\x1b[2J")
    assert len(caplog.messages[0]) < 120
    assert caplog.messages[1].endswith("from an unknown address")


def test_a_line_names_the_setting_that_would_let_in(
    strangers: Strangers, caplog: pytest.LogCaptureFixture
) -> None:
    strangers.turned_away(UNLISTED_PROXY, HOME)
    assert "see `gateway.trustedProxies`" in caplog.text
