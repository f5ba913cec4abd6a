"""What was said to a run that ended without having heard it."""

import pytest
from playwright.async_api import expect

import roost
from roost.core.models import FailureKind
from roost.testing.scripts import Fail, Say, says
from tests.e2e.stage import Release, Stage, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEERS = "steering: the agent hears it next"


async def steered(stage: Stage, visitor: Visitor, name: str, words: str) -> Release:
    """A run that works until it is let go, and something that was said to it meanwhile."""
    until, release = stage.held()
    stage.model.when(f"work on {name}", [Say("working "), until, Say("done")])
    await visitor.open(name)
    await visitor.say(f"work on {name}")
    await expect(visitor.page.locator(".speaking")).to_contain_text("working")
    await visitor.say(words)
    await expect(visitor.page.locator(".pending .foot")).to_have_text(STEERS)
    return release


@pytest.mark.parametrize(("way", "why"), [("button", "by the operator"), ("command", "by command")])
async def test_what_joined_a_run_that_was_stopped_says_so_and_is_sent_again(
    stage: Stage, visitor: Visitor, way: str, why: str
) -> None:
    page = visitor.page
    release = await steered(stage, visitor, way, "and mind the gap")
    if way == "button":
        await page.get_by_role("button", name="Stop").click()
    else:
        await visitor.say("/stop")
    lost = page.locator(".pending.lost")
    await expect(lost.get_by_role("status")).to_have_text("not answered")
    await expect(lost).to_contain_text(f"stopped {why}")
    release()
    await page.reload()
    await expect(lost).to_contain_text("and mind the gap")
    await lost.get_by_role("button", name="Send again").click()
    await expect(page.locator(".said.agent:not(.speaking)").last).to_contain_text("I heard you.")
    await expect(page.locator(".said.user", has_text="and mind the gap")).to_have_count(1)
    await expect(page.locator(".pending")).to_have_count(0)


async def test_what_was_given_up_while_the_page_was_away_is_told_when_it_is_back(
    stage: Stage, visitor: Visitor
) -> None:
    page = visitor.page
    release = await steered(stage, visitor, "away", "work on away")
    await page.goto("about:blank")
    async with roost.Client(stage.address.replace("http", "ws"), token=stage.token) as client:
        await client.call("chat.abort", {"sessionKey": "agent:main:away"})
    release()
    await visitor.come_in(stage.token, "#/chat/agent:main:away")
    lost = page.locator(".pending.lost")
    await expect(lost).to_contain_text("stopped by the operator")
    await expect(page.locator(".said.user:not(.pending)")).to_have_count(1)
    await lost.get_by_role("button", name="Remove").click()
    await page.reload()
    await expect(page.locator(".said.user")).to_have_count(1)


async def test_what_waited_for_its_turn_when_all_was_stopped_is_not_answered(
    stage: Stage, visitor: Visitor
) -> None:
    until, release = stage.held()
    stage.model.when("the turn before", [Say("working "), until])
    page = visitor.page
    await visitor.open("waited")
    await visitor.say("/queue followup")
    await expect(page.locator(".note")).to_be_visible()
    await visitor.say("the turn before")
    await expect(page.locator(".speaking")).to_contain_text("working")
    await visitor.say("the turn after")
    await expect(page.locator(".pending .foot")).to_have_text("queued: waits for its turn")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".pending.lost")).to_contain_text("stopped by the operator")
    release()
    await page.get_by_role("button", name="Send again").click()
    await expect(page.locator(".said.agent:not(.speaking)").last).to_contain_text("I heard you.")
    await expect(page.locator(".pending")).to_have_count(0)


async def test_what_joined_a_run_that_failed_waits_for_the_next_and_is_answered(
    stage: Stage, visitor: Visitor
) -> None:
    until, release = stage.held()
    later, go_on = stage.held()
    stage.model.when("doomed", [until, Fail(FailureKind.AUTH)], [Fail(FailureKind.AUTH)])
    stage.model.when("and after that", [later, *says("after all")])
    page = visitor.page
    await visitor.open("doomed")
    await visitor.say("a doomed thing")
    await expect(page.locator(".speaking")).to_be_visible()
    await visitor.say("and after that?")
    await expect(page.locator(".pending .foot")).to_have_text(STEERS)
    release()
    await expect(page.locator(".note")).to_contain_text("This failed")
    await expect(page.locator(".pending.lost")).to_have_count(0)
    go_on()
    await expect(page.locator(".said.agent:not(.speaking)").last).to_contain_text("after all")
    await expect(page.locator(".pending")).to_have_count(0)


async def test_that_a_run_was_stopped_is_said_once(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("said once", [Say("and so "), until])
    page = visitor.page
    await visitor.open("once")
    await visitor.say("this is said once")
    await expect(page.locator(".speaking")).to_contain_text("and so")
    await page.get_by_role("button", name="Stop").click()
    told = page.get_by_text("stopped by the operator")
    await expect(page.locator(".note")).to_have_text("Stopped by the operator")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("and so")
    await expect(told).to_have_count(1)
    release()
    await page.reload()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("and so")
    await expect(told).to_have_count(1)
