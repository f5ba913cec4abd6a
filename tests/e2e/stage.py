"""A gateway with a page, the model it asks, and a real browser to open it in."""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pyjson5
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.async_api import Browser, BrowserContext, Page, expect

from roost.app.serving import Served, open_gateway
from roost.config import load
from roost.core.errors import RoostError
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Step, Until, says

CHROMIUM = shutil.which("chromium-headless-shell")
REMEDY = "apt-get install chromium-headless-shell"
LIMIT_MS = 120_000
expect.set_options(timeout=LIMIT_MS)


class Told:
    """What the model answers: the first script whose word is in what was said last, else that it heard it."""

    def __init__(self) -> None:
        self.scripts: list[tuple[str, list[Sequence[Step]]]] = []

    def when(self, word: str, *scripts: Sequence[Step]) -> None:
        """Each script once, in order, for requests that end with a message that holds the word."""
        self.scripts.append((word, list(scripts)))

    def __call__(self, asked: Asked) -> Reply:
        messages = asked.body["messages"]
        assert isinstance(messages, list)
        last = str(messages[-1])
        for word, scripts in self.scripts:
            if word in last and scripts:
                return reply_of(scripts.pop(0))
        return reply_of(says("I heard you."))


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A gateway that runs in a thread of its own, so that a test and its browser can talk to it."""

    served: Served
    home: Path
    model: Told
    portal: BlockingPortal

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.served.port}/"

    @property
    def token(self) -> str:
        return (self.home / "gateway.token").read_text().strip()

    def held(self) -> tuple[Until, "Release"]:
        """A step that the model stays at, and what lets it go on."""
        event = self.portal.call(_event)
        return Until(event), Release(self.portal, event)


@dataclass(frozen=True)
class Release:
    portal: BlockingPortal
    event: anyio.Event

    def __call__(self) -> None:
        self.portal.call(self.event.set)


async def _event() -> anyio.Event:
    return anyio.Event()


def configured(home: Path, base_url: str, **more: object) -> None:
    """One agent with a scripted model that thinks, another to fall back on, and sessions that reach each other."""
    model = {"id": "small", "contextWindow": 32_000, "reasoning": True, "cost": {"input": 3, "output": 15}}
    spare = {"id": "spare", "contextWindow": 32_000}
    answers = {"primary": "scripted/small", "fallbacks": ["scripted/spare"]}
    settings = {
        "models": {"providers": {"scripted": {"baseUrl": base_url, "models": [model, spare]}}},
        "tools": {"sessions": {"visibility": "agent"}},
        "agents": {"defaults": {"model": answers, "subagents": {"maxChildrenPerAgent": 20}}},
        **more,
    }
    (home / "roost.json").write_text(pyjson5.encode(settings))


async def _nothing() -> None:
    pass


@contextmanager
def staged(
    home: Path, *, before: Callable[[], Awaitable[None]] = _nothing, **more: object
) -> Iterator[Stage]:
    """`before` is done once the home is configured, and before its gateway serves."""
    model = Told()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(FakeOpenAI(otherwise=model)) as fake,
    ):
        configured(home, fake.base_url, **more)
        portal.call(before)
        opening = open_gateway(
            load({"ROOST_HOME": str(home)}), version="1", tell=list[RoostError]().append, port=0
        )
        with portal.wrap_async_context_manager(opening) as served:
            yield Stage(served=served, home=home, model=model, portal=portal)


class Visitor:
    """A page in a browser of its own, and what went wrong in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.set_default_timeout(LIMIT_MS)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)

    async def come_in(self, token: str, place: str = "") -> None:
        await self.page.goto(f"{self.address}#token={token}")
        await expect(self.page.locator(".sidebar")).to_be_attached()
        if place:
            await self.go(place)

    async def go(self, place: str) -> None:
        await self.page.evaluate("to => { location.hash = to }", place)

    async def open(self, name: str) -> None:
        """A session of this name, new to every test."""
        await self.go(f"#/chat/agent:main:{name}")
        await expect(self.page.locator(".key")).to_have_text(f"agent:main:{name}")

    async def say(self, text: str) -> None:
        await self.page.get_by_label("Message", exact=True).fill(text)
        await self.page.keyboard.press("Enter")


async def visit(browser: Browser, address: str, **options: object) -> tuple[BrowserContext, Visitor]:
    context = await browser.new_context(**{"reduced_motion": "reduce", **options})  # type: ignore[arg-type]
    return context, Visitor(await context.new_page(), address)
