"""Jobs on the page: when they are due, what came of them, and how they are changed."""

import pytest
from playwright.async_api import expect

from roost.testing.scripts import Say, says
from tests.e2e.stage import Stage, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def write_down(visitor: Visitor, name: str, text: str) -> None:
    """A job that is due every 30 minutes."""
    page = visitor.page
    await visitor.go("#/operations/jobs")
    await page.get_by_role("button", name="New job").click()
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("When", exact=True).select_option("every")
    await page.get_by_label("What the agent is asked").fill(text)
    await page.get_by_role("button", name="Add").click()
    await expect(page.locator("dialog")).to_have_count(0)


async def test_a_job_is_written_down_run_paused_changed_and_deleted(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("count the swallows", says("Nine swallows."))
    page = visitor.page
    await visitor.go("#/operations/jobs")
    await expect(page.locator(".empty")).to_contain_text("No jobs yet")
    await write_down(visitor, "Swallows", "count the swallows")
    card = page.locator(".job")
    await expect(card).to_contain_text("every 30 minutes")
    await expect(card).to_contain_text("Not run yet")
    await expect(card.locator(".job-when")).to_contain_text("min")
    await card.get_by_role("button", name="Run now").click()
    await expect(card.locator("summary")).to_contain_text("went well")
    await card.locator("summary").click()
    await expect(card.locator(".firings li")).to_have_count(1)
    await expect(card.locator(".firings li")).to_contain_text("Nine swallows.")
    await card.get_by_role("button", name="Pause").click()
    await expect(card.locator(".badge").first).to_have_text("paused")
    await card.get_by_role("button", name="Resume").click()
    await expect(card.get_by_role("button", name="Pause")).to_be_visible()
    await card.get_by_role("button", name="Edit Swallows").click()
    await page.get_by_label("Name", exact=True).fill("Swifts")
    await page.get_by_label("When", exact=True).select_option("daily")
    await page.get_by_label("Days").select_option("1-5")
    await page.get_by_label("Time", exact=True).fill("07:05")
    await page.get_by_role("button", name="Save").click()
    card = page.locator(".job", has_text="Swifts")
    await expect(card).to_contain_text("on weekdays at 07:05 AM")
    await expect(card).to_contain_text("count the swallows")
    await card.get_by_role("button", name="Delete Swifts").click()
    await page.get_by_role("button", name="Cancel").click()
    await expect(card).to_have_count(1)
    await card.get_by_role("button", name="Delete Swifts").click()
    await page.locator("dialog").get_by_role("button", name="Delete").click()
    await expect(card).to_have_count(0)


async def test_what_a_job_said_is_opened_from_its_history(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("look for owls", [Say("An owl "), until, Say("looks back.")])
    page = visitor.page
    await write_down(visitor, "Owls", "look for owls")
    card = page.locator(".job", has_text="Owls")
    await card.get_by_role("button", name="Run now").click()
    await expect(card.locator(".badge").first).to_have_text("running")
    release()
    await expect(card.locator("summary")).to_contain_text("went well")
    await card.locator("summary").click()
    await card.get_by_role("link", name="Open").click()
    await expect(page.locator(".key")).to_contain_text("cron:")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("An owl looks back.")


async def test_a_schedule_that_cannot_be_read_is_refused_where_it_was_typed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.go("#/operations/jobs")
    await page.get_by_role("button", name="New job").click()
    await page.get_by_label("Name", exact=True).fill("Never")
    await page.get_by_label("When", exact=True).select_option("cron")
    await page.get_by_label("Expression").fill("every now and then")
    await page.get_by_label("What the agent is asked").fill("nothing")
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_role("alert")).to_contain_text("no cron expression")
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.locator(".job", has_text="Never")).to_have_count(0)
