"""A browser and a gateway for the tests that look at the page."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.e2e.lines import Line, Reader
from tests.e2e.stage import CHROMIUM, REMEDY, Stage, Visitor, staged, visit
from tests.parts import NeedPart

# A net and no measure: a browser on a busy machine takes its time, and each wait has its own limit.
BROWSING_S = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(BROWSING_S))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(need_part: NeedPart) -> AsyncIterator[Browser]:
    """One for all that a process tests; who visits shares nothing in it with others."""
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        await found.close()


@pytest.fixture(scope="module")
def stage(need_part: NeedPart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    home: Path = tmp_path_factory.mktemp("home")
    with staged(home) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser, stage: Stage) -> AsyncIterator[Visitor]:
    """Somebody who is in. Whatever the page complains of fails the test."""
    context, found = await visit(browser, stage.address)
    await found.come_in(stage.token)
    yield found
    await context.close()
    assert not found.problems


@pytest_asyncio.fixture(loop_scope="session")
async def reader(browser: Browser, stage: Stage) -> AsyncIterator[Reader]:
    """The same, on a line that does what it is told."""
    context, found = await visit(browser, stage.address)
    reader = Reader(found.page, stage.address)
    reader.line = Line()
    await reader.page.route_web_socket("**/gateway", reader.line.connect)
    await reader.come_in(stage.token)
    yield reader
    await context.close()
    assert not reader.problems
