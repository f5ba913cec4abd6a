"""What every test stands on: how a missing outside part is told, how laws are searched, and that nothing is reached
beyond this machine."""

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import grounds, network, parts, postgres
from tests.watch import Watch

settings.register_profile(
    "roost",
    deadline=None,
    print_blob=True,
    # It measures the machine, not the law.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("roost")

network.stay_here()

# Whoever is started in the background ignores interrupts, and so would every program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Watch())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: the collector of garbage looks through it neither now nor during tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def need_part() -> parts.NeedPart:
    """`need_part("PostgreSQL", present=…, remedy=…)`: skipped in one line, a failure with CI=true."""
    return parts.need_part


@pytest.fixture(scope="session")
def postgres_server(need_part: parts.NeedPart) -> Iterator[str]:
    """The address of a real PostgreSQL server that all tests share."""
    programs = postgres.binaries()
    need_part("PostgreSQL", present=programs is not None, remedy=postgres.REMEDY)
    assert programs is not None
    with postgres.running(programs) as server:
        yield server.address


@pytest.fixture
def ground_of(request: pytest.FixtureRequest, tmp_path: Path) -> grounds.GroundOf:
    """`ground_of("postgres")`: where a store of that kind may live, with whatever the last test left on a server."""

    def ground(kind: str) -> grounds.Ground:
        server = request.getfixturevalue("postgres_server") if kind == "postgres" else ""
        return grounds.Ground(kind, tmp_path, server)

    return ground


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    parts.refuse_skip(report, fatal=parts.NOTHING_MAY_BE_MISSING)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    parts.refuse_skip(report, fatal=parts.NOTHING_MAY_BE_MISSING)
    return report
