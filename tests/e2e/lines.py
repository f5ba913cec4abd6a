"""A line between a page and its gateway that loses, holds back or refuses something."""

import json
from collections.abc import Callable
from typing import Any

import anyio
from playwright.async_api import WebSocketRoute

from tests.e2e.stage import LIMIT_MS, Visitor


class Line:
    """Between a page and its gateway."""

    def __init__(self) -> None:
        self.up = True
        self.loses: Callable[[dict[str, Any]], bool] = lambda frame: False
        self.holds: str | None = None
        self.refuses: str | None = None
        self.holding = anyio.Event()
        self.asked: list[str] = []
        """Every method, in order."""
        self._awaited: dict[str, anyio.Event] = {}
        self._held: list[str] = []
        self._asked: dict[str, str] = {}
        self._page: WebSocketRoute | None = None

    async def connect(self, page: WebSocketRoute) -> None:
        if not self.up:
            await page.close()
            return
        self._page = page
        gateway = page.connect_to_server()
        page.on_message(lambda text: self._ask(page, gateway, str(text)))
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
        with anyio.fail_after(LIMIT_MS / 1_000):
            while not (places := [place for place, text in enumerate(self._held) if tells in text]):
                await self.holding.wait()
                self.holding = anyio.Event()
        return places[0]

    def next_answer(self, method: str) -> anyio.Event:
        """Set when the page is told the next one."""
        told = self._awaited[method] = anyio.Event()
        return told

    def _ask(self, page: WebSocketRoute, gateway: WebSocketRoute, text: str) -> None:
        frame = json.loads(text)
        self.asked.append(frame["method"])
        if frame["method"] == self.refuses:
            refused = {"code": "INVALID_REQUEST", "message": "not today"}
            page.send(json.dumps({"type": "res", "id": frame["id"], "ok": False, "error": refused}))
            self._answered(frame["method"])
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
            self._answered(method or "")

    def _answered(self, method: str) -> None:
        if method in self._awaited:
            self._awaited.pop(method).set()


class Reader(Visitor):
    """One whose line is `line`."""

    line: Line

    async def reads_on(self, place: int = 0) -> None:
        """With a page that was held back, until what the reading asks for next was shown."""
        told = self.line.next_answer("chat.history")
        self.line.deliver(place)
        with anyio.fail_after(LIMIT_MS / 1_000):
            await told.wait()
        await self.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    async def shown(self) -> list[str]:
        return await self.page.locator(".said:not(.speaking):not(.pending) > :first-child").all_inner_texts()
