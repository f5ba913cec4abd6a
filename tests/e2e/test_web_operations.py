"""Operations on the page: what is counted, why a run failed, and how it fits on a small phone."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from roost.clock import SystemClock
from roost.core.guests import knock
from roost.core.messages import ToolCall
from roost.core.models import FailureKind
from roost.testing.scripts import Fail, calls
from tests.e2e.seeds import MINUTE, seeding
from tests.e2e.stage import CHROMIUM, REMEDY, Stage, Visitor, staged, visit
from tests.parts import NeedPart
from tests.unit.core.test_guests import knocking

pytestmark = pytest.mark.asyncio(loop_scope="session")
ONE_LINE = "one => one.clientHeight < 2 * parseFloat(getComputedStyle(one).lineHeight)"


@pytest.fixture(scope="module")
def stage(need_part: NeedPart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Another gateway served this home, and died a minute ago."""
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    home = tmp_path_factory.mktemp("home")

    async def seed() -> None:
        now = SystemClock().now()
        async with seeding(home) as seeded:
            for who in ("7", "8"):
                await seeded.change_guests(partial(knock, wanted=knocking(who, at=now)))
        with closing(sqlite3.connect(home / "roost.db")) as store, store:
            died = SystemClock().now() - MINUTE
            store.execute("UPDATE gateways SET expires_at = ?", (died,))

    with staged(home, before=seed) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, stage: Stage) -> AsyncIterator[Visitor]:
    small = {"width": 360, "height": 740}
    context, found = await visit(browser, stage.address, viewport=small, is_mobile=True, has_touch=True)
    await found.come_in(stage.token)
    yield found
    await context.close()
    assert not found.problems


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


async def test_who_asks_on_a_channel_is_let_in_by_the_code_he_was_told(
    visitor: Visitor, tmp_path: Path
) -> None:
    page = visitor.page
    await visitor.go("#/operations/people")
    asking, let_in = (page.locator(".page-body section").nth(number) for number in (0, 1))
    await expect(asking.get_by_role("button", name="Reject")).to_have_count(2)
    await expect(asking).not_to_contain_text("CODE7")
    await page.get_by_label("Code that you were given").fill("wrong")
    await page.get_by_role("button", name="Let in").click()
    await expect(page.get_by_role("status")).to_contain_text("nobody who asks to be let in has this code")
    await page.get_by_label("Code that you were given").fill("code7")
    await page.get_by_role("button", name="Let in").click()
    await expect(let_in.locator(".card")).to_contain_text("Ann · 7")
    await page.screenshot(path=tmp_path / "people.png")
    await asking.get_by_role("button", name="Reject").click()
    await expect(asking).to_contain_text("Nobody asks")
    await let_in.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(let_in).to_contain_text("Nobody was let in")


async def test_on_a_phone_the_chosen_part_is_in_sight_and_a_button_is_one_line(phone: Visitor) -> None:
    page = phone.page
    for part, button in (("configuration", "Sign this browser out"), ("jobs", "New job")):
        await phone.go(f"#/operations/{part}")
        await expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=1)
        shown = page.get_by_role("button", name=button)
        await expect(shown).to_be_in_viewport(ratio=1)
        assert await shown.evaluate(ONE_LINE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"


async def test_on_a_phone_the_figures_of_a_session_keep_their_indent(stage: Stage, phone: Visitor) -> None:
    spawn = ToolCall(id="s1", name="sessions_spawn", arguments={"task": "look after every one of the birds"})
    stage.model.when("have somebody look", calls(spawn))
    page = phone.page
    await phone.open("flock")
    await phone.say("have somebody look after the birds")
    await phone.go("#/tree/agent:main:flock")
    figures = page.locator(".tree ul .figures")
    await page.set_viewport_size({"width": 260, "height": 740})
    await expect(figures).to_contain_text("$")
    lines = """one => {
      const words = document.createRange();
      words.selectNodeContents(one);
      return [...words.getClientRects()].filter((line) => line.width > 1).map((line) => [line.left, line.top]);
    }"""
    found = await figures.evaluate(lines)
    first = min(top for _, top in found)
    below = [left for left, top in found if top > first + 5]
    assert below, "it has more than one line"
    assert min(below) == min(left for left, _ in found)
    assert (
        min(below)
        >= await page.locator(".tree ul .title").evaluate("one => one.getBoundingClientRect().left") - 1
    )
