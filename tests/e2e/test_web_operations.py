"""Operations on the page: what is counted, and why a run failed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.async_api import expect

from roost.clock import SystemClock
from roost.core.models import FailureKind
from roost.testing.scripts import Fail
from tests.e2e.seeds import MINUTE, seeding
from tests.e2e.stage import CHROMIUM, REMEDY, Stage, Visitor, staged
from tests.parts import NeedPart

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def stage(need_part: NeedPart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Another gateway served this home, and died a minute ago."""
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    home = tmp_path_factory.mktemp("home")

    async def seed() -> None:
        async with seeding(home):
            pass
        with closing(sqlite3.connect(home / "roost.db")) as store, store:
            died = SystemClock().now() - MINUTE
            store.execute("UPDATE gateways SET expires_at = ?", (died,))

    with staged(home, before=seed) as found:
        yield found


async def test_only_gateways_that_live_are_counted_and_those_that_are_gone_beside_them(
    visitor: Visitor,
) -> None:
    page = visitor.page
    await visitor.go("#/operations/gateways")
    await expect(page.locator("tbody tr")).to_have_count(2)
    await expect(page.locator("tbody tr", has_text="expired")).to_have_count(1)
    figures = page.locator(".figure")
    await expect(figures.nth(0)).to_have_text("1gateways")
    await expect(figures.nth(1)).to_have_text("1gone")


async def test_why_a_run_failed_stands_in_operations_and_in_its_conversation(
    stage: Stage, visitor: Visitor
) -> None:
    stage.model.when("to no avail", [Fail(FailureKind.AUTH, "the key is bad")], [Fail(FailureKind.AUTH)])
    page = visitor.page
    await visitor.open("avail")
    await visitor.say("to no avail")
    await expect(page.locator(".note")).to_contain_text("This failed")
    await expect(page.locator(".note")).to_have_count(1)
    await page.reload()
    why = "The last run failed"
    await expect(page.locator(".note")).to_contain_text(why)
    await visitor.go("#/operations/runs")
    row = page.locator("tbody tr", has_text="to no avail")
    await expect(row.locator(".why")).to_contain_text(why)
    await visitor.open("avail")
    await visitor.say("once more")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("I heard you.")
    await expect(page.locator(".note")).to_have_count(0)
