"""Who gets into the page, and what it does with a credential."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, expect
from websockets.asyncio.server import ServerConnection, serve

from tests.e2e.stage import Stage, Visitor, visit

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_token_in_the_fragment_is_taken_and_erased(visitor: Visitor, stage: Stage) -> None:
    page = visitor.page
    assert stage.token not in page.url
    await page.go_back()
    assert stage.token not in page.url


async def test_an_address_with_a_token_signs_in_where_the_page_is_open_already(
    browser: Browser, stage: Stage
) -> None:
    context, visitor = await visit(browser, stage.address)
    page = visitor.page
    await page.goto(stage.address)
    await expect(page.get_by_label("The gateway's token")).to_be_visible()
    await page.goto(f"{stage.address}#token={stage.token}")
    await expect(page.locator(".sidebar")).to_be_visible()
    assert stage.token not in page.url
    await context.close()


async def test_a_typed_token_lets_in_and_a_wrong_one_is_said_to_be_wrong(
    browser: Browser, stage: Stage
) -> None:
    context, visitor = await visit(browser, stage.address)
    page = visitor.page
    await page.goto(stage.address)
    field = page.get_by_label("The gateway's token")
    await field.fill("guessed")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("not the gateway's")
    await field.fill(stage.token)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator(".sidebar")).to_be_visible()
    await page.reload()
    await expect(page.locator(".sidebar")).to_be_visible()
    await context.close()


@asynccontextmanager
async def foreign() -> AsyncIterator[tuple[str, list[str]]]:
    """Somebody else's server, and every frame that came in."""
    heard: list[str] = []

    async def listen(socket: ServerConnection) -> None:
        await socket.send(
            json.dumps({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": 1}})
        )
        heard.extend([str(frame) async for frame in socket])

    async with serve(listen, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}", heard


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("name", ["gatewayUrl", "gateway", "url", "session"])
async def test_an_address_given_to_the_page_gets_nothing(browser: Browser, stage: Stage, name: str) -> None:
    async with foreign() as (address, heard):
        context, visitor = await visit(browser, stage.address)
        page = visitor.page
        sockets: list[str] = []
        page.on("websocket", lambda socket: sockets.append(socket.url))
        await page.goto(f"{stage.address}?{name}={address}&token=x#token={stage.token}&{name}={address}")
        await expect(page.locator(".sidebar")).to_be_visible()
        await page.evaluate("([name, url]) => localStorage.setItem(`roost.${name}`, url)", [name, address])
        await page.evaluate("([name, url]) => window.postMessage({ [name]: url }, '*')", [name, address])
        await page.reload()
        await expect(page.locator(".sidebar")).to_be_visible()
        assert "?" not in page.url
        assert {url.split("/")[2] for url in sockets} == {stage.address.split("/")[2]}
        assert heard == []
        await context.close()


async def asks_to_pair(page: Page, address: str) -> None:
    await page.goto(address)
    await page.get_by_role("button", name="Pair this browser").click()
    await expect(page.get_by_role("status")).to_contain_text("asks to be let in")


async def test_another_browser_is_approved_and_removed(
    browser: Browser, stage: Stage, visitor: Visitor
) -> None:
    page = visitor.page
    await visitor.go("#/operations/devices")
    await expect(page.locator(".page-body")).to_contain_text("Nobody asks")
    context, other = await visit(browser, stage.address)
    await asks_to_pair(other.page, stage.address)
    await page.get_by_role("button", name="Approve").click()
    await expect(other.page.locator(".sidebar")).to_be_visible()
    await other.page.reload()
    await expect(other.page.locator(".sidebar")).to_be_visible()
    await page.get_by_role("button", name="Remove").click()
    await page.locator("dialog").get_by_role("button", name="Remove").click()
    await expect(other.page.get_by_label("The gateway's token")).to_be_visible()
    await context.close()


async def test_the_code_that_is_shown_lets_a_browser_in(
    browser: Browser, stage: Stage, visitor: Visitor
) -> None:
    context, other = await visit(browser, stage.address)
    await asks_to_pair(other.page, stage.address)
    await visitor.go("#/operations/devices")
    code = await visitor.page.locator(".code-word").first.inner_text()
    await other.page.get_by_label("Or type the code").fill(code)
    await other.page.get_by_role("button", name="Use the code").click()
    await expect(other.page.locator(".sidebar")).to_be_visible()
    await context.close()


async def test_a_browser_that_cannot_be_paired_says_why(browser: Browser, stage: Stage) -> None:
    context, visitor = await visit(browser, stage.address)
    await context.add_init_script(
        "SubtleCrypto.prototype.generateKey = () => Promise.reject(new DOMException('no Ed25519 here', 'NotSupportedError'));"
    )
    await visitor.page.goto(stage.address)
    await visitor.page.get_by_role("button", name="Pair this browser").click()
    await expect(visitor.page.get_by_role("alert")).to_contain_text("no Ed25519 here")
    await context.close()
