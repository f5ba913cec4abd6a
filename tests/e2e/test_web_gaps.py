"""A page whose line to the gateway loses, holds back or refuses something."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocketRoute, expect

from roost.testing.scripts import Say, says
from tests.e2e.stage import Stage, Visitor, visit

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Line:
    """Between a page and its gateway."""

    def __init__(self) -> None:
        self.up = True
        self.loses: Callable[[dict[str, Any]], bool] = lambda frame: False
        self.holds: str | None = None
        self.refuses: str | None = None
        self.holding = anyio.Event()
        self.answered: dict[str, anyio.Event] = {}
        """Set when the page is told the next answer to a method."""
        self._held: list[str] = []
        self._asked: dict[str, str] = {}
        self._page: WebSocketRoute | None = None

    async def connect(self, page: WebSocketRoute) -> None:
        if not self.up:
            await page.close()
            return
        self._page = page
        gateway = page.connect_to_server()
        page.on_message(lambda text: self._ask(gateway, str(text)))
        gateway.on_message(lambda text: self._tell(page, str(text)))

    async def cut(self) -> None:
        self.up = False
        assert self._page is not None
        await self._page.close()

    def deliver(self, place: int = 0) -> None:
        """One of those that were held back arrives, as a rule the first."""
        assert self._page is not None
        self._page.send(self._held.pop(place))

    async def hold(self, tells: str = "") -> int:
        """The place of the first that is held back and tells of it, once there is one."""
        while not (places := [place for place, text in enumerate(self._held) if tells in text]):
            await self.holding.wait()
            self.holding = anyio.Event()
        return places[0]

    def _ask(self, gateway: WebSocketRoute, text: str) -> None:
        frame = json.loads(text)
        if frame.get("method") == self.refuses:
            assert self._page is not None
            refused = {"code": "INVALID_REQUEST", "message": "not today"}
            self._page.send(json.dumps({"type": "res", "id": frame["id"], "ok": False, "error": refused}))
            return
        self._asked[frame["id"]] = frame["method"]
        gateway.send(text)

    def _tell(self, page: WebSocketRoute, text: str) -> None:
        frame = json.loads(text)
        method = self._asked.get(frame.get("id", ""))
        if method is not None and method == self.holds:
            self._held.append(text)
            self.holding.set()
        elif not (frame["type"] == "event" and self.loses(frame)):
            page.send(text)
            if method in self.answered:
                self.answered[method].set()


class Reader(Visitor):
    """One whose line is `line`."""

    line: Line

    async def reads_on(self, place: int = 0) -> None:
        """With a page that was held back, until what the reading asks for next was shown."""
        told = self.line.answered["chat.history"] = anyio.Event()
        self.line.deliver(place)
        await told.wait()
        await self.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    async def shown(self) -> list[str]:
        return await self.page.locator(".said:not(.speaking):not(.pending) > :first-child").all_inner_texts()


@pytest_asyncio.fixture(loop_scope="session")
async def reader(browser: Browser, stage: Stage) -> AsyncIterator[Reader]:
    context, found = await visit(browser, stage.address)
    reader = Reader(found.page, stage.address)
    reader.line = Line()
    await reader.page.route_web_socket("**/gateway", reader.line.connect)
    await reader.come_in(stage.token)
    yield reader
    await context.close()
    assert not reader.problems


async def test_what_was_missed_is_read_and_stands_where_it_belongs(
    stage: Stage, reader: Reader, visitor: Visitor
) -> None:
    stage.model.when("a riddle", says("the first answer"))
    await reader.open("gap")
    await reader.say("hello")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await visitor.open("gap")
    reader.line.loses = lambda frame: True
    await reader.say("a riddle")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_contain_text(
        ["I heard you.", "the first answer"]
    )
    await expect(visitor.page.locator(".speaking")).to_have_count(0)
    reader.line.loses = lambda frame: False
    await visitor.say("and now?")
    for page in (visitor.page, reader.page):
        await expect(page.locator(".said:not(.speaking):not(.pending) > :first-child")).to_have_text(
            ["hello", "I heard you.", "a riddle", "the first answer", "and now?", "I heard you."]
        )
        await expect(page.locator(".pending")).to_have_count(0)
        await expect(page.locator(".speaking")).to_have_count(0)


async def test_what_was_said_while_the_line_was_cut_is_read_when_it_is_back(
    reader: Reader, visitor: Visitor
) -> None:
    await reader.open("cut")
    await reader.say("before")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await visitor.open("cut")
    await reader.line.cut()
    await expect(reader.page.get_by_role("status").first).to_contain_text("The gateway is away")
    await visitor.say("meanwhile")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(2)
    reader.line.up = True
    await expect(reader.page.locator(".said.user")).to_contain_text(["before", "meanwhile"])
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(2)


async def test_a_message_that_was_refused_is_kept_and_sent_again_once(reader: Reader) -> None:
    page = reader.page
    await reader.open("refused")
    reader.line.refuses = "chat.send"
    await reader.say("a delicate matter")
    failed = page.locator(".pending.failed")
    await expect(failed).to_contain_text("not sent")
    await expect(failed).to_contain_text("not today")
    await page.reload()
    await expect(failed).to_contain_text("a delicate matter")
    await expect(failed).to_contain_text("not today")
    reader.line.refuses = None
    await page.get_by_role("button", name="Send again").click()
    await expect(page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await expect(page.locator(".pending")).to_have_count(0)
    await expect(page.locator(".said.user")).to_have_count(1)
    await expect(page.locator(".problem")).to_have_count(0)


async def test_an_answer_that_ends_while_the_page_reads_is_shown_once(stage: Stage, reader: Reader) -> None:
    until, release = stage.held()
    stage.model.when("a slow tale", [Say("once upon a time"), until, Say(", the end")])
    page = reader.page
    await reader.open("race")
    await reader.say("a slow tale")
    await expect(page.locator(".speaking")).to_contain_text("once upon a time")
    reader.line.holds = "chat.history"
    await page.reload()
    # Everything that was read arrives but the last: how it stood when the answer was still being written.
    await reader.line.hold()
    release()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("the end")
    reader.line.deliver()
    await expect(page.locator(".said.user")).to_have_count(1)
    await expect(page.locator(".speaking")).to_have_count(0)
    await expect(page.locator(".said.agent")).to_have_count(1)


async def test_what_is_said_between_two_steps_of_a_reading_stands_where_it_belongs(
    stage: Stage, reader: Reader, visitor: Visitor
) -> None:
    stage.model.when("a second one", says("the second answer"))
    await reader.open("between")
    await reader.say("hello")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await reader.line.cut()
    reader.line.holds, reader.line.up = "sessions.timeline", True
    # What is read first, as soon as it is back: how it stood before the next turn.
    await reader.line.hold()
    await visitor.open("between")
    await visitor.say("a second one")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(2)
    await reader.reads_on()
    assert await reader.shown() == ["hello", "I heard you.", "a second one", "the second answer"]


async def test_a_reading_that_a_later_one_overtook_takes_nothing_away(
    stage: Stage, reader: Reader, visitor: Visitor
) -> None:
    stage.model.when("a second one", says("the second answer"))
    await reader.open("overtaken")
    await reader.say("hello")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await reader.line.cut()
    reader.line.holds, reader.line.up = "sessions.timeline", True
    await reader.line.hold()
    # Nothing of this turn is heard while the first reading goes on: it is what the second one is for.
    reader.line.loses = lambda frame: True
    await visitor.open("overtaken")
    await visitor.say("a second one")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(2)
    await expect(visitor.page.locator(".speaking")).to_have_count(0)
    reader.line.loses = lambda frame: False
    await visitor.say("and now?")
    # One that began before the second turn, by the clock of the first, may be held between the two.
    later = await reader.line.hold("the second answer")
    whole = ["hello", "I heard you.", "a second one", "the second answer", "and now?", "I heard you."]
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(3)
    await reader.reads_on(later)
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(3)
    await reader.reads_on()
    assert await reader.shown() == whole
