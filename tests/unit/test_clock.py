import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

import anyio
import pytest

from roost.clock import SystemClock, host_zone
from roost.ports import Clock


def test_it_tells_the_machines_time_in_utc_milliseconds() -> None:
    clock: Clock = SystemClock()
    before = time.time_ns() // 1_000_000
    now = clock.now()
    after = time.time_ns() // 1_000_000
    assert before <= now <= after


async def test_it_sleeps_at_least_as_long_as_asked_and_not_a_thousand_times_longer() -> None:
    clock = SystemClock()
    before = time.monotonic_ns()
    with anyio.fail_after(60):
        await clock.sleep(20)
    assert time.monotonic_ns() - before >= 19_000_000


async def test_something_is_done_later_unless_it_is_called_off() -> None:
    clock, done, over = SystemClock(), list[str](), anyio.Event()
    clock.later(1, lambda: done.append("never"))()
    clock.later(20, over.set)
    with anyio.fail_after(60):
        await over.wait()
    assert done == []


async def test_a_sleeper_can_be_cancelled() -> None:
    with anyio.move_on_after(0) as scope:
        await SystemClock().sleep(60_000)
    assert scope.cancelled_caught


def test_the_zone_of_the_host_is_read_with_its_daylight_saving() -> None:
    berlin = next(file for root in TZPATH if (file := Path(root) / "Europe" / "Berlin").exists())
    zone = host_zone(berlin)
    offsets = [datetime(2025, month, 15, tzinfo=zone).utcoffset() for month in (1, 6)]
    assert offsets == [timedelta(hours=1), timedelta(hours=2)]
    assert host_zone().utcoffset(datetime(2025, 6, 15, tzinfo=UTC)) is not None


def test_a_host_without_a_zone_keeps_utc(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no zone")
    assert host_zone(tmp_path / "missing") is UTC
    assert host_zone(tmp_path / "broken") is UTC


@pytest.mark.parametrize("named", ["Asia/Tokyo", ":Asia/Tokyo"])
def test_a_zone_that_the_environment_names_goes_before_that_of_the_host(tmp_path: Path, named: str) -> None:
    assert host_zone(tmp_path / "missing", named=named) == ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize("named", ["", ":", "UTC+3", "<+03>-3", "Europe", "/etc/localtime", "../Tokyo", "\0"])
def test_what_names_no_zone_leaves_that_of_the_host(tmp_path: Path, named: str) -> None:
    assert host_zone(tmp_path / "missing", named=named) is UTC
