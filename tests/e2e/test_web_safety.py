"""What people, agents and tools say stays text."""

import pytest
from playwright.async_api import Route, expect

from roost.core.messages import ToolCall
from roost.testing.scripts import Say, calls, says
from tests.e2e.hostile import EVERY
from tests.e2e.stage import Stage, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

TRAPS = """() => {
  const inside = [...document.querySelectorAll("main *")];
  const named = inside.flatMap((one) => [...one.attributes].map((part) => [one.tagName, part.name, part.value]));
  return {
    hit: window.hit,
    tags: inside.map((one) => one.tagName.toLowerCase()).filter((name) =>
      ["script", "iframe", "object", "embed", "style", "base", "meta", "link", "form", "math", "video", "template"]
        .includes(name) && !inside.find((one) => one.tagName.toLowerCase() === name)?.closest(".composer")),
    handlers: named.filter(([, name]) => name.startsWith("on")),
    links: named.filter(([tag, name, value]) => tag === "A" && name === "href" && !/^(https?:|mailto:|#)/.test(value)),
    images: inside.filter((one) => one.tagName === "IMG").length,
  };
}"""
NOTHING: dict[str, object] = {"hit": None, "tags": [], "handlers": [], "links": [], "images": 0}


@pytest.mark.parametrize("role", ["agent", "user", "tool", "title"])
async def test_no_hostile_text_becomes_more_than_text(stage: Stage, visitor: Visitor, role: str) -> None:
    page = visitor.page
    beyond: list[str] = []

    async def refuse(route: Route) -> None:
        beyond.append(route.request.url)
        await route.abort()

    await page.route(lambda url: not url.startswith(stage.address), refuse)
    text = "\n\n".join(EVERY)
    await visitor.open(f"hostile-{role}")
    if role == "agent":
        stage.model.when("be hostile", [Say(part) for one in EVERY for part in (one[:7], one[7:], "\n\n")])
        await visitor.say("be hostile")
    elif role == "tool":
        call = ToolCall(id="h1", name="sessions_search", arguments={"query": text[:3_000]})
        stage.model.when("use hostile tools", calls(call))
        await visitor.say("use hostile tools")
        await page.locator("details.tool summary").click()
    else:
        await visitor.say(text)
    await expect(page.locator(".said.agent").last).to_be_visible()
    await expect(page.locator(".speaking")).to_have_count(0)
    if role == "title":
        await page.get_by_role("button", name="Actions for this session").click()
        await page.get_by_role("menuitem", name="Rename…").click()
        await page.get_by_label("Name; leave it empty").fill("<img src=x onerror=window.hit=1>")
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    assert await page.evaluate(TRAPS) == NOTHING
    assert beyond == []


async def test_links_open_apart_and_tell_nobody_where_they_were(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("a link please", says("[here](https://example.org/a) and https://example.org/b"))
    await visitor.open("links")
    await visitor.say("a link please")
    links = visitor.page.locator(".said.agent .markdown a")
    await expect(links).to_have_count(2)
    for index in range(2):
        await expect(links.nth(index)).to_have_attribute("rel", "noopener noreferrer nofollow")
        await expect(links.nth(index)).to_have_attribute("target", "_blank")
