"""How the page looks: every view in light and dark, wide and narrow, for eyes, keyboards and screen readers.

With `SHOTS` the pictures are kept in that folder.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from roost.clock import SystemClock
from roost.core.jsonvalue import JsonObject
from roost.core.messages import ToolCall
from roost.testing.builders import answered, said
from roost.testing.scripts import Say, calls
from tests.e2e.seeds import MINUTE, chat_elsewhere, dead_letter, jobs, journal, plan, seeding, talk
from tests.e2e.stage import CHROMIUM, REMEDY, Stage, Visitor, staged, visit
from tests.parts import NeedPart

pytestmark = pytest.mark.asyncio(loop_scope="session")
KEPT = os.environ.get("SHOTS")  # noqa: TID251 — the suite's own switch
# What a look changes is its colours.
RULES: dict[str, dict[str, object]] = {
    "light": {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "dark": {"runOnly": {"type": "rule", "values": ["color-contrast"]}},
}
SHOWN = frozenset({"chat", "search", "timeline", "tree", "deliveries", "jobs", "usage", "phone", "door"})
HELPERS = 4


async def _seed(home: Path) -> None:
    now = SystemClock().now()
    async with seeding(home) as store:
        await talk(store, "migration", plan(now))
        for name, text in (("groceries", "What is left to buy?"), ("trip", "Find a train to Lviv on Friday")):
            lines = (
                said(f"{name}1", text, at=now - 30 * MINUTE),
                answered(f"{name}2", "Done.", at=now - 29 * MINUTE),
            )
            await talk(store, name, lines)
        await dead_letter(store, "trip", "Your train leaves at 06:14 from platform 3.")
        await dead_letter(store, "groceries", "Milk, bread and apples.")
        await journal(store, now)
        await chat_elsewhere(store, now)
        await jobs(store, now)


@pytest.fixture(scope="module")
def stage(need_part: NeedPart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    home = tmp_path_factory.mktemp("home")
    with staged(home, before=lambda: _seed(home)) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["light", "dark"])
async def looker(request: pytest.FixtureRequest, browser: Browser, stage: Stage) -> AsyncIterator[Visitor]:
    context, found = await visit(
        browser, stage.address, viewport={"width": 1280, "height": 800}, color_scheme=request.param
    )
    await found.come_in(stage.token)
    yield found
    await context.close()
    assert not found.problems


async def looked_at(page: Page, name: str, folder: Path) -> None:
    """Nothing that keeps somebody from reading or using it; and a picture."""
    look = "dark" if await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    results = await Axe().run(page, options={**RULES[look], "resultTypes": ["violations"]})
    assert results.violations_count == 0, results.generate_report()
    where = Path(KEPT) if KEPT and name in SHOWN else folder
    await page.screenshot(path=where / f"{name}-{look}.png", animations="disabled")


async def test_a_conversation(looker: Visitor, tmp_path: Path) -> None:
    await looker.open("migration")
    page = looker.page
    await expect(page.locator(".said")).to_have_count(5)
    await expect(page.locator(".hljs-keyword").first).to_be_visible()
    await page.locator("details.tool summary").click()
    await page.locator(".list").evaluate("list => { list.scrollTop = 0 }")
    await looked_at(page, "chat", tmp_path)


@pytest.mark.requirement("F4")
async def test_one_timeline_goes_through_compactions_and_resets(looker: Visitor, tmp_path: Path) -> None:
    await looker.open("journal")
    await expect(looker.page.locator(".list-item")).to_contain_text(
        [
            "Keep a journal",
            "What did you see",
            "Earlier messages were condensed",
            "Two wrens in the hedge",
            "noted",
            "New conversation reset: daily at 04:00",
            "The wrens are back",
            "I write it down",
        ]
    )
    await looked_at(looker.page, "timeline", tmp_path)


async def test_sessions_stand_by_agent_and_channel(looker: Visitor) -> None:
    groups = looker.page.locator(".sessions section")
    own = groups.filter(has=looker.page.get_by_role("heading", name="main", exact=True))
    await expect(own).to_contain_text("What is left to buy?")
    chats = groups.filter(has=looker.page.get_by_role("heading", name="main · telegram"))
    await expect(chats).to_contain_text("Is the shop open tomorrow?")
    await expect(chats).not_to_contain_text("What is left to buy?")


async def test_an_empty_conversation(looker: Visitor, tmp_path: Path) -> None:
    await looker.open("empty")
    await expect(looker.page.locator(".welcome")).to_be_visible()
    await looker.page.get_by_label("Message", exact=True).fill("/")
    await expect(looker.page.locator("#palette")).to_be_visible()
    await looked_at(looker.page, "commands", tmp_path)
    await looker.page.get_by_label("Message", exact=True).fill("")


async def test_a_search(looker: Visitor, tmp_path: Path) -> None:
    await looker.open("migration")
    field = looker.page.get_by_label("Search sessions")
    await field.fill("batches")
    await expect(looker.page.locator(".hit mark").first).to_be_visible()
    await looked_at(looker.page, "search", tmp_path)
    await field.fill("")


async def test_a_tree(looker: Visitor, stage: Stage, tmp_path: Path) -> None:
    until, release = stage.held()
    tasks = ("Review the migration", "Measure the backfill", "Write the notes", "Check the rollback")
    spawns = [
        ToolCall(id=f"s{number}", name="sessions_spawn", arguments={"task": task})
        for number, task in enumerate(tasks)
    ]
    asks: JsonObject = {
        "sessionKey": "agent:main:groceries",
        "message": "Are there candles?",
        "timeoutSeconds": 0,
    }
    stage.model.when("four helpers", calls(*spawns, ToolCall(id="a1", name="sessions_send", arguments=asks)))
    stage.model.when("candles", [Say("Twelve"), until])
    for task in tasks:
        stage.model.when(task, [Say("reading"), until])
    name = f"review-{tmp_path.name}"
    await looker.open(name)
    await looker.say("four helpers please")
    await looker.go(f"#/tree/agent:main:{name}")
    page = looker.page
    await expect(page.locator(".tree ul .state.running")).to_have_count(HELPERS)
    await expect(page.locator(".edge.running")).to_have_count(1)
    await looked_at(page, "tree", tmp_path)
    await looker.go("#/operations/runs")
    await expect(page.locator("tbody tr")).to_have_count(HELPERS + 1)
    await looked_at(page, "runs", tmp_path)
    release()
    await expect(page.locator(".empty")).to_be_visible()


PARTS = {
    "deliveries": "Your train leaves",
    "jobs": "Weather",
    "usage": "By session",
    "gateways": "valid for",
    "audit": "critical",
    "refusals": "Nothing was refused",
    "devices": "No device is paired",
    "people": "Nobody was let in by a code",
    "configuration": "agents.defaults.model",
}


async def test_operations(looker: Visitor, tmp_path: Path) -> None:
    page = looker.page
    await looker.open("spending")
    await looker.say("this costs something")
    await expect(page.locator(".said.agent:not(.speaking)").first).to_be_visible()
    for part, text in PARTS.items():
        await looker.go(f"#/operations/{part}")
        await expect(page.locator(".page-body")).to_contain_text(text)
        if part == "usage":
            await expect(page.locator(".page-body h2")).to_have_text(
                ["By day", "By model", "By agent", "By session"]
            )
        if part == "audit":
            await expect(page.locator(".card").first.locator("code")).not_to_have_text("")
        if part == "jobs":
            await page.locator(".job", has_text="Weather").locator("summary").click()
            await expect(page.locator(".firings li")).to_have_count(3)
            await page.get_by_role("button", name="New job").click()
            await looked_at(page, "job-form", tmp_path)
            await page.get_by_role("button", name="Cancel").click()
        if part == "configuration":
            await page.get_by_label("Filter settings").fill("agents.defaults.model")
            await expect(page.locator("tbody tr").first).to_contain_text("agents.defaults.model")
        await looked_at(page, part, tmp_path)


@pytest.mark.parametrize("look", ["light", "dark"])
async def test_a_phone(browser: Browser, stage: Stage, tmp_path: Path, look: str) -> None:
    context, found = await visit(
        browser,
        stage.address,
        viewport={"width": 390, "height": 780},
        color_scheme=look,
        is_mobile=True,
        has_touch=True,
    )
    page = found.page
    await found.come_in(stage.token, "#/chat/agent:main:migration")
    await expect(page.locator(".said").first).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
    await looked_at(page, "phone", tmp_path)
    await page.get_by_role("button", name="Show the sessions").click()
    await expect(page.locator(".sidebar")).to_be_in_viewport()
    await looked_at(page, "phone-sessions", tmp_path)
    await (
        page.locator(".session a", has_text="groceries").or_(page.locator(".session a").nth(1)).first.click()
    )
    await expect(page.locator(".sidebar")).not_to_be_in_viewport()
    await context.close()
    assert not found.problems


@pytest.mark.parametrize("look", ["light", "dark"])
async def test_the_door(browser: Browser, stage: Stage, tmp_path: Path, look: str) -> None:
    context, found = await visit(
        browser, stage.address, viewport={"width": 1280, "height": 800}, color_scheme=look
    )
    await found.page.goto(stage.address)
    await expect(found.page.get_by_label("The gateway's token")).to_be_visible()
    await looked_at(found.page, "door", tmp_path)
    await context.close()


async def test_a_dead_letter_is_sent_again(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("#/operations/deliveries")
    letter = page.locator(".card", has_text="Your train leaves")
    await expect(letter).to_contain_text("5 attempts: 403")
    await letter.get_by_role("button", name="Retry").click()
    await expect(page.locator(".news")).to_contain_text("It is sent again")
    await expect(letter).not_to_contain_text("403")


async def test_a_dead_letter_is_dismissed(stage: Stage, visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("#/operations/deliveries")
    letter = page.locator(".card", has_text="Milk, bread")
    await letter.get_by_role("button", name="Dismiss").click()
    await expect(letter).to_have_count(0)
    await page.locator(".page-body select").select_option("dismissed")
    await expect(letter).to_have_count(1)
