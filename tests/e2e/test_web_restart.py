"""A gateway that is killed under an open page, and comes back."""

import subprocess
from pathlib import Path

import pytest
from anyio import to_thread
from playwright.async_api import Browser, expect

from tests.e2e.stage import Visitor, visit
from tests.e2e.test_cli import ROOST, Processes

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def again(processes: Processes) -> "subprocess.Popen[str]":
    """A gateway that listens, once the lease of the one that was killed has run out."""
    process = subprocess.Popen(
        [*ROOST, "gateway", "run"], env=processes.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while "listens on" not in process.stdout.readline():
        assert process.poll() is None
    return process


async def test_nothing_is_lost_when_the_gateway_is_killed_and_started_again(
    browser: Browser, processes: Processes
) -> None:
    process = processes.start()
    try:
        context, visitor = await visit(browser, f"http://127.0.0.1:{processes.port}/")
        page = visitor.page
        await visitor.come_in(processes.token)
        await expect(page.locator(".demo")).to_contain_text("The demo model answers")
        await visitor.say("what is a session?")
        await expect(page.locator(".said.agent")).to_contain_text("one conversation")
        other = Visitor(await context.new_page(), visitor.address)
        await other.come_in(processes.token)
        await other.open("other")
        process.kill()
        process.communicate()
        await expect(page.get_by_role("status").first).to_contain_text("The gateway is away")
        await visitor.say("said while nobody was there")
        await expect(page.locator(".pending")).to_contain_text("sending…")
        await other.say("said on a page that was closed")
        await expect(other.page.locator(".pending")).to_be_visible()
        await other.page.close()
        process = await to_thread.run_sync(again, processes)
        await expect(page.locator(".banner")).to_have_count(0)
        await expect(page.locator(".said.agent")).to_have_count(2)
        await expect(page.locator(".pending")).to_have_count(0)
        await expect(page.locator(".said.user")).to_contain_text(
            ["what is a session?", "said while nobody was there"]
        )
        back = Visitor(await context.new_page(), visitor.address)
        await back.come_in(processes.token)
        await back.open("other")
        await expect(back.page.locator(".said.agent")).to_have_count(1)
        await expect(back.page.locator(".said.user")).to_contain_text(["said on a page that was closed"])
        await expect(back.page.locator(".pending")).to_have_count(0)
        await context.close()
    finally:
        process.kill()
        if process.stdout is not None and not process.stdout.closed:
            process.communicate()
