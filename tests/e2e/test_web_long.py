"""Sessions of thousands of messages, and of messages that are taller than a page."""

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from roost.testing.scripts import says
from tests.e2e.seeds import TALL, long_session, tall_sessions
from tests.e2e.stage import CHROMIUM, REMEDY, Stage, Visitor, staged
from tests.parts import NeedPart
from tests.scale import count

pytestmark = pytest.mark.asyncio(loop_scope="session")
LENGTH = count(2_000, 10_000)
DEEP = LENGTH // 4


@pytest.fixture(scope="module")
def stage(need_part: NeedPart, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    need_part("Chromium", present=CHROMIUM is not None, remedy=REMEDY)
    home = tmp_path_factory.mktemp("home")

    async def before() -> None:
        await long_session(home, LENGTH)
        await tall_sessions(home)

    with staged(home, before=before) as found:
        yield found


UP = """async () => {
  const list = document.querySelector(".list");
  let most = 0, before = performance.now(), frames = 0;
  while (!list.innerText.includes("question 0\\n") && frames < 4000) {
    list.scrollTop = 0;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, document.querySelectorAll(".list-item").length);
    frames += 1;
  }
  return { most, frames, first: list.innerText.includes("question 0\\n"), took: performance.now() - before };
}"""

# The newest row is in sight, and rows fill the view above it.
FILLED = """() => {
  const list = document.querySelector(".list");
  const box = list.getBoundingClientRect();
  const rows = [...list.querySelectorAll(".list-item")].map((row) => row.getBoundingClientRect());
  return rows.length > 0 && rows[0].top <= box.top && Math.abs(rows.at(-1).bottom - box.bottom) < 2;
}"""

# How far the row at the top moved while another page was read in above it.
MOVED = """async () => {
  const list = document.querySelector(".list");
  const frame = () => new Promise(requestAnimationFrame);
  const top = (item) => item.getBoundingClientRect().top - list.getBoundingClientRect().top;
  const height = list.scrollHeight;
  list.scrollTop = 700;
  await frame(); await frame();
  const first = [...list.querySelectorAll(".list-item")].find((one) => top(one) >= 0);
  const before = top(first);
  while (list.scrollHeight < height + 5000) await frame();
  await frame(); await frame(); await frame();
  return top(list.querySelector(`[data-id="${first.dataset.id}"]`)) - before;
}"""


async def test_it_opens_at_its_end_and_is_read_to_its_beginning(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("long")
    await expect(page.locator(".list-item").last).to_contain_text(f"answer {LENGTH - 1}")
    found = await page.evaluate(UP)
    assert found["first"], found
    assert found["most"] < 200, "only what can be seen is on the page"
    await page.get_by_role("button", name="Newest").click()
    await expect(page.locator(".list-item").last).to_contain_text(f"answer {LENGTH - 1}")


async def test_what_is_looked_at_stays_where_it_is_while_more_is_read(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("long")
    await expect(page.locator(".list-item").last).to_contain_text(f"answer {LENGTH - 1}")
    moved = await page.evaluate(MOVED)
    assert moved == pytest.approx(0, abs=2)


async def test_a_message_deep_in_it_is_found_and_opened(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("elsewhere")
    await page.get_by_label("Search sessions").fill(f'"question {DEEP}"')
    await page.locator(".session", has=page.locator(".hit")).first.locator("a").click()
    await expect(page.locator(".found .said")).to_contain_text(f"question {DEEP}")
    await expect(page.locator(".found .said")).to_be_in_viewport()


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("name", TALL)
async def test_a_tall_message_near_the_end_is_drawn_as_far_as_it_fills_the_view(
    visitor: Visitor, name: str, after: int
) -> None:
    page = visitor.page
    await visitor.open(f"{name}-{after}")
    await expect(page.locator(".list-item").last).to_contain_text("That was all.")
    await page.wait_for_function(FILLED)
    await expect(page.get_by_role("button", name="Newest")).to_have_count(0)
    await page.reload()
    await expect(page.locator(".list-item").last).to_contain_text("That was all.")
    await page.wait_for_function(FILLED)
    await page.locator(".list").hover()
    await page.mouse.wheel(0, -20_000)
    await expect(page.locator(".list-item").first).to_contain_text("Begin.")
    await expect(page.locator(".list-item").first).to_be_in_viewport()


async def test_tall_messages_that_come_leave_the_view_at_the_end(stage: Stage, visitor: Visitor) -> None:
    page = visitor.page
    until, release = stage.held()
    stage.model.when("line 299", [until, *says("\n".join(f"- item {number}" for number in range(120)))])
    await visitor.open("tall-live")
    await visitor.say(TALL["tall-lines"])
    await expect(page.locator(".list-item").last.locator(".speaking")).to_have_count(1)
    await expect(page.locator(".pending")).to_have_count(0)
    await page.wait_for_function(FILLED)
    release()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("item 119")
    await expect(page.locator(".speaking")).to_have_count(0)
    await page.wait_for_function(FILLED)
    await expect(page.get_by_role("button", name="Newest")).to_have_count(0)
