"""What is said on a page and not seen by its agent yet: it is sent once, whatever becomes of the page."""

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.lines import Line, Reader
from tests.e2e.stage import Stage, Visitor, visit

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEPT = "() => Object.keys(localStorage).filter((name) => name.startsWith('roost.unsent.')).length"
FILLED = """() => {
    for (let text = "x".repeat(1 << 20), number = 0; text; ) {
        try { localStorage.setItem(`fill ${number++}`, text); } catch { text = text.slice(0, text.length >> 1); }
    }
}"""
FORBIDDEN = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("denied", "SecurityError"); },
});"""
# What a page has not that came over plain HTTP from another machine.
INSECURE = """Object.defineProperty(window, "isSecureContext", { value: false });
delete Crypto.prototype.randomUUID;"""
OLD = """localStorage.setItem("roost.unsent.old", JSON.stringify(
    { id: "old", key: "agent:main:stale", text: "pay the bill", at: Date.now() - 90_000_000 }))"""


@pytest.mark.requirement("P3")
async def test_who_leaves_before_a_message_is_taken_does_not_send_it_again(reader: Reader) -> None:
    await reader.open("left")
    reader.line.holds = "chat.send"
    await reader.say("pay the bill")
    await reader.line.hold()
    await reader.open("elsewhere")
    assert await reader.page.evaluate(KEPT) == 1
    reader.line.holds = None
    reader.line.deliver()
    await reader.page.wait_for_function(f"({KEPT})() === 0")
    await reader.open("left")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await expect(reader.page.locator(".said.user")).to_have_count(1)
    await expect(reader.page.locator(".pending")).to_have_count(0)


@pytest.mark.requirement("P3")
async def test_what_is_said_while_the_gateway_is_away_is_sent_when_it_is_back_whatever_is_open(
    reader: Reader, visitor: Visitor
) -> None:
    await visitor.open("away")
    await reader.open("away")
    await reader.line.cut()
    await reader.say("first")
    await reader.say("second")
    await reader.open("another")
    reader.line.up = True
    await expect(visitor.page.locator(".said.user").first).to_contain_text("first")
    await expect(visitor.page.locator(".said.user").last).to_contain_text("second")


async def test_what_could_not_be_sent_for_a_day_is_shown_and_not_sent(visitor: Visitor) -> None:
    await visitor.page.evaluate(OLD)
    await visitor.page.reload()
    await visitor.open("stale")
    await expect(visitor.page.locator(".pending.failed")).to_contain_text("could not be sent in time")
    await visitor.page.get_by_role("button", name="Remove").click()
    await expect(visitor.page.locator(".pending")).to_have_count(0)
    await expect(visitor.page.locator(".said")).to_have_count(0)


async def test_two_pages_of_a_browser_keep_what_the_other_could_not_send(
    browser: Browser, stage: Stage
) -> None:
    context, one = await visit(browser, stage.address)
    line = Line()
    await context.route_web_socket("**/gateway", line.connect)
    await one.come_in(stage.token)
    await one.open("two")
    other = Visitor(await context.new_page(), stage.address)
    await other.come_in(stage.token)
    await other.open("two")
    line.refuses = "chat.send"
    await one.say("a delicate matter")
    failed = one.page.locator(".pending.failed")
    await expect(failed).to_contain_text("a delicate matter")
    line.refuses = None
    await other.say("hello")
    await expect(other.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await one.page.reload()
    await expect(failed).to_contain_text("a delicate matter")
    await other.page.reload()
    await other.page.get_by_role("button", name="Remove").click()
    await expect(failed).to_have_count(0)
    await context.close()


async def test_where_the_browser_has_no_room_a_message_is_sent_even_so(
    browser: Browser, stage: Stage
) -> None:
    context, visitor = await visit(browser, stage.address)
    await visitor.come_in(stage.token)
    await visitor.open("full")
    await visitor.page.evaluate(FILLED)
    await visitor.say("long words " * 20)
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await context.close()
    assert not visitor.problems


@pytest.mark.parametrize(
    ("name", "without"), [("storage", FORBIDDEN), ("security", INSECURE)], ids=["storage", "security"]
)
async def test_a_browser_that_gives_less_is_enough_to_talk(
    browser: Browser, stage: Stage, name: str, without: str
) -> None:
    context, visitor = await visit(browser, stage.address)
    await context.add_init_script(without)
    await visitor.come_in(stage.token)
    await visitor.open(f"less-{name}")
    await visitor.say("hello")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await context.close()
    assert not visitor.problems


async def test_who_signs_out_leaves_no_words_behind(reader: Reader) -> None:
    await reader.open("out")
    reader.line.refuses = "chat.send"
    await reader.say("a delicate matter")
    await expect(reader.page.locator(".pending.failed")).to_have_count(1)
    await reader.page.get_by_label("Message", exact=True).fill("half a thou")
    await reader.go("#/operations/configuration")
    await reader.page.get_by_role("button", name="Sign this browser out").click()
    await expect(reader.page.get_by_label("The gateway's token")).to_be_visible()
    left = await reader.page.evaluate("() => Object.values(localStorage).join()")
    assert "delicate" not in left
    assert "thou" not in left
