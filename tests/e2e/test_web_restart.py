"""A gateway that is killed under an open page, and comes back."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import to_thread
from playwright.async_api import Browser, expect

from tests.e2e.stage import Visitor, visit
from tests.e2e.test_cli import ROOST, Processes

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Lives:
    """One gateway after another in the same home."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self._now: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Over when it listens; after a kill that is when the lease of the one before has run out."""
        self._now = subprocess.Popen(
            [*ROOST, "gateway", "run"], env=self.processes.environ, stdout=subprocess.PIPE, text=True
        )
        assert self._now.stdout is not None
        while "listens on" not in self._now.stdout.readline():
            assert self._now.poll() is None

    def kill(self) -> None:
        if self._now is not None:
            self._now.kill()
            self._now.communicate()
            self._now = None


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    found = Lives(Processes(tmp_path))
    yield found
    found.kill()


async def test_nothing_is_lost_when_the_gateway_is_killed_and_started_again(
    browser: Browser, lives: Lives
) -> None:
    lives.begin()
    token = lives.processes.token
    context, visitor = await visit(browser, f"http://127.0.0.1:{lives.processes.port}/")
    page = visitor.page
    await visitor.come_in(token)
    await expect(page.locator(".demo")).to_contain_text("The demo model answers")
    await visitor.say("what is a session?")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("one conversation")
    other = Visitor(await context.new_page(), visitor.address)
    await other.come_in(token)
    await other.open("other")
    lives.kill()
    await expect(page.get_by_role("status").first).to_contain_text("The gateway is away")
    await visitor.say("said while nobody was there")
    await expect(page.locator(".pending")).to_contain_text("sending…")
    await other.say("said on a page that was closed")
    await expect(other.page.locator(".pending")).to_be_visible()
    await other.page.close()
    await to_thread.run_sync(lives.begin)
    await expect(page.locator(".banner")).to_have_count(0)
    await expect(page.locator(".said.agent")).to_have_count(2)
    await expect(page.locator(".pending")).to_have_count(0)
    await expect(page.locator(".said.user")).to_contain_text(
        ["what is a session?", "said while nobody was there"]
    )
    back = Visitor(await context.new_page(), visitor.address)
    await back.come_in(token)
    await back.open("other")
    await expect(back.page.locator(".said.agent")).to_have_count(1)
    await expect(back.page.locator(".said.user")).to_contain_text(["said on a page that was closed"])
    await expect(back.page.locator(".pending")).to_have_count(0)
    await context.close()
