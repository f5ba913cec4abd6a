"""Sessions on the page: finding, changing, following and reading them back."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

import roost
from roost.core.messages import ToolCall
from roost.testing.scripts import Say, Step, calls, says
from tests.e2e.stage import Stage, Visitor, visit

pytestmark = pytest.mark.asyncio(loop_scope="session")
CHILDREN = 20


async def test_a_session_is_renamed_pinned_archived_and_brought_back(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("chores")
    await visitor.say("hello")
    row = page.locator(".session", has=page.locator(".title", has_text="hello"))
    await row.hover()
    await row.get_by_role("button").click()
    await page.get_by_role("menuitem", name="Rename…").click()
    await page.get_by_label("Name; leave it empty").fill("Household")
    await page.get_by_role("button", name="Rename").click()
    row = page.locator(".session", has_text="Household")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Household")
    for action, heading in (("Pin", "Pinned"), ("Archive", "Archived")):
        await row.hover()
        await row.get_by_role("button").click()
        await page.get_by_role("menuitem", name=action, exact=True).click()
        if action == "Archive":
            await page.get_by_role("button", name="Show 1 archived").click()
        section = page.locator("section", has=page.get_by_role("heading", name=heading))
        await expect(section).to_contain_text("Household")
    await row.first.hover()
    await row.first.get_by_role("button").click()
    await page.get_by_role("menuitem", name="Bring back").click()
    await expect(page.get_by_role("heading", name="Archived")).to_have_count(0)


async def test_what_others_say_is_unread_until_it_is_looked_at(
    browser: Browser, stage: Stage, visitor: Visitor
) -> None:
    page = visitor.page
    await visitor.open("quiet")
    context, other = await visit(browser, stage.address)
    await other.come_in(stage.token)
    await other.open("noisy")
    await other.say("somebody is here")
    row = page.locator(".session", has_text="somebody is here")
    await expect(row.locator(".title.unread")).to_have_count(1)
    await row.locator("a").click()
    await expect(row.locator(".title.unread")).to_have_count(0)
    await expect(page.locator(".said.user")).to_contain_text("somebody is here")
    await context.close()


async def test_words_are_found_and_opened_at_their_message(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("about the kingfisher", says("The kingfisher dives for fish."))
    page = visitor.page
    await visitor.open("birds")
    await visitor.say("something about the kingfisher")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("dives")
    await visitor.open("other")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("kingfisher dives")
    hit = page.locator(".session", has=page.locator(".hit"))
    await expect(hit.locator("mark").first).to_have_text("kingfisher")
    await hit.locator("a").click()
    await expect(page.locator(".found .said")).to_contain_text("dives for fish")
    await page.get_by_label("Search sessions").fill("no such word anywhere")
    await expect(page.locator(".sessions")).to_contain_text("Nothing that was said")


async def test_a_reset_is_a_mark_with_its_reason_and_what_was_before_stays(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("diary")
    await visitor.say("dear diary")
    await expect(page.locator(".said.agent")).to_have_count(1)
    await page.get_by_role("button", name="Actions for this session").click()
    await page.get_by_role("menuitem", name="Reset…").click()
    await page.get_by_role("button", name="Reset").click()
    await expect(page.locator(".mark")).to_contain_text("New conversation")
    await expect(page.locator(".mark .why")).to_have_text("reset: operator")
    await expect(page.locator(".said.user")).to_contain_text("dear diary")
    await visitor.say("a new day")
    await expect(page.locator(".said.agent")).to_have_count(2)
    await page.reload()
    await expect(page.locator(".list-item")).to_contain_text(
        ["dear diary", "I heard you.", "New conversation", "a new day", "I heard you."]
    )


async def test_a_run_is_stopped_where_all_runs_are_seen(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("dig a tunnel", [Say("digging "), until, Say("through")])
    page = visitor.page
    await visitor.open("tunnel")
    await visitor.say("dig a tunnel")
    await expect(page.locator(".speaking")).to_contain_text("digging")
    await visitor.go("#/operations/runs")
    row = page.locator("tbody tr", has_text="dig a tunnel")
    await expect(row).to_contain_text("running")
    await row.get_by_role("button", name="Stop").click()
    await expect(page.locator(".news")).to_contain_text("Stopped")
    await expect(row).to_contain_text("killed")
    await expect(row.get_by_role("button", name="Stop")).to_have_count(0)
    await visitor.open("tunnel")
    await expect(page.locator(".said.user:not(.pending)")).to_contain_text("dig a tunnel")
    await expect(page.locator(".speaking")).to_have_count(0)
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    release()


async def test_what_a_removed_session_cost_is_told_with_the_rest(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("costly")
    await visitor.say("this costs something")
    await expect(page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await page.get_by_role("button", name="Actions for this session").click()
    await page.get_by_role("menuitem", name="Delete…").click()
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator(".session", has_text="this costs something")).to_have_count(0)
    await visitor.go("#/operations/usage")
    sessions = page.locator("section", has=page.get_by_role("heading", name="By session"))
    await expect(sessions.locator("li").last).to_contain_text("more session")


async def test_a_session_is_exported_as_a_file(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    await visitor.open("letters")
    await visitor.say("put this into a file")
    await expect(page.locator(".said.agent")).to_have_count(1)
    await page.get_by_role("button", name="Actions for this session").click()
    async with page.expect_download() as coming:
        await page.get_by_role("menuitem", name="Export").click()
    file = tmp_path / "export.md"
    await (await coming.value).save_as(file)
    text = file.read_text()
    assert "put this into a file" in text
    assert "I heard you." in text


async def test_what_one_session_sends_another_is_a_line_between_them(stage: Stage, visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("library")
    await visitor.say("here are the books")
    await expect(page.locator(".said.agent")).to_have_count(1)
    until, release = stage.held()
    asks = ToolCall(
        id="a1",
        name="sessions_send",
        arguments={"sessionKey": "agent:main:library", "message": "which book?", "timeoutSeconds": 0},
    )
    stage.model.when("ask the library", calls(asks))
    stage.model.when("which book?", [until, Say("The red one.")])
    await visitor.open("reader")
    await visitor.say("ask the library")
    await visitor.go("#/tree/agent:main:reader")
    beyond = page.get_by_role("list", name="Spoken with")
    await expect(beyond.locator(".node")).to_contain_text("here are the books")
    await expect(page.locator(".edge.running")).to_have_count(1)
    release()
    await expect(page.locator(".edge.replied")).to_have_count(1)
    await expect(page.locator(".edges .badge")).to_have_text("replied")
    await expect(page.locator(".exchanges li")).to_contain_text("which book?")


async def test_the_tree_follows_twenty_children_at_once(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    spawns = [
        ToolCall(id=f"s{number}", name="sessions_spawn", arguments={"task": f"errand {number}"})
        for number in range(CHILDREN)
    ]
    stage.model.when("send them out", calls(*spawns))
    errand: Sequence[Step] = (Say("on it"), until)
    stage.model.when("errand", *([errand] * CHILDREN))
    page = visitor.page
    await visitor.open("errands")
    await visitor.say("send them out")
    await visitor.go("#/tree/agent:main:errands")
    await expect(page.locator(".node")).to_have_count(CHILDREN + 1)
    await expect(page.locator(".node .state.running").first).to_be_visible()
    await page.get_by_role("button", name="Steer errand 7", exact=False).first.click()
    await page.get_by_label("What it hears").fill("mind the weather")
    await page.get_by_role("button", name="Say it").click()
    await expect(page.locator(".news")).to_contain_text("Said")
    first = page.locator(".tree ul .node", has=page.get_by_role("button", name="Stop")).first
    await first.get_by_role("button", name="Stop").click()
    await expect(page.locator(".tree ul .node .state.killed")).to_have_count(1)
    release()
    await expect(page.locator(".tree ul .node .state.done")).to_have_count(CHILDREN - 1)
    await page.locator(".tree ul .node a").nth(1).click()
    await expect(page.locator(".key")).to_contain_text("subagent")


async def test_a_session_that_somebody_deletes_is_empty_where_it_is_open(
    stage: Stage, visitor: Visitor
) -> None:
    await visitor.open("doomed")
    await visitor.say("hello")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    # What ended is read once more, here before it is deleted.
    await visitor.page.reload()
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    async with roost.Client(stage.served.url, token=stage.token) as client:
        await client.call("sessions.delete", {"key": "agent:main:doomed"})
    await expect(visitor.page.locator(".said")).to_have_count(0)
    await expect(visitor.page.locator(".session.here")).to_have_count(0)


@pytest.mark.parametrize(
    ("spelt", "key"), [("main", "agent:main:main"), ("Agent:Main:Spelt", "agent:main:Spelt")]
)
async def test_a_session_is_found_however_its_address_is_spelt(
    stage: Stage, visitor: Visitor, spelt: str, key: str
) -> None:
    until, release = stage.held()
    stage.model.when(f"hello {key}", [Say("going on"), until, Say(" to the end")])
    await visitor.go(f"#/chat/{spelt}")
    await expect(visitor.page.locator(".key")).to_have_text(key)
    await visitor.say(f"hello {key}")
    await expect(visitor.page.locator(".speaking")).to_contain_text("going on")
    release()
    await expect(visitor.page.locator(".said.agent:not(.speaking)").last).to_contain_text("to the end")
    await expect(visitor.page.locator(".pending")).to_have_count(0)


async def test_an_address_that_is_no_text_is_one_of_a_session_like_any_other(visitor: Visitor) -> None:
    await visitor.go("#/chat/100%")
    await visitor.page.reload()
    await expect(visitor.page.locator(".sidebar")).to_be_attached()
