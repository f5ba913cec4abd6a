"""Talking on the page, in a real browser."""

import os
import re
from pathlib import Path

import pytest
from anyio import to_thread
from playwright.async_api import expect

import roost
from roost.core.messages import ToolCall
from roost.core.models import FailureKind
from roost.testing.scripts import Fail, Say, calls, says
from tests.e2e.stage import Stage, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_answer_is_streamed_as_markdown_and_kept(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    text = "# Birds\n\nA **wren** is small:\n\n```python\ndef wren():\n    return 9  # grams\n```\n"
    stage.model.when("about wrens", [Say(text), until, Say("\nThat is all.")])
    page = visitor.page
    await visitor.open("wrens")
    await visitor.say("tell me about wrens")
    speaking = page.locator(".speaking")
    await expect(speaking.locator("h1")).to_have_text("Birds")
    await expect(speaking.locator("strong")).to_have_text("wren")
    await expect(speaking.locator("pre .hljs-keyword").first).to_have_text("def")
    await expect(speaking).not_to_contain_text("That is all.")
    release()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("That is all.")
    await expect(speaking).to_have_count(0)
    await expect(page.locator(".pending")).to_have_count(0)
    await page.reload()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("That is all.")
    await expect(page.locator(".said.user")).to_contain_text("tell me about wrens")


async def test_boxes_numbers_and_columns_are_as_they_were_written(stage: Stage, visitor: Visitor) -> None:
    rows = f"| name | worth |\n|---|---:|\n| alphabet | 1 |\n| {'word ' * 60} | 2 |\n"
    stage.model.when("a list", says(f"- [x] done\n- [ ] open\n\n5. five\n6. six\n\n{rows}"))
    await visitor.open("boxes")
    await visitor.say("a list")
    answer = visitor.page.locator(".said.agent:not(.speaking)")
    boxes = answer.get_by_role("checkbox")
    await expect(boxes).to_have_count(2)
    assert [await boxes.nth(place).is_checked() for place in (0, 1)] == [True, False]
    await expect(boxes.first).to_be_disabled()
    await expect(answer.locator("ol")).to_have_attribute("start", "5")
    worth = answer.locator("th").nth(1)
    await expect(worth).to_have_css("text-align", re.compile("right$"))
    # A word of a narrow column stays on its line.
    one_line = "head => head.getClientRects()[0].height < 2 * parseFloat(getComputedStyle(head).lineHeight)"
    assert await worth.evaluate(one_line)


SHIFTS = """() => {
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.moved.push(entry.value);
  }).observe({ type: "layout-shift" });
}"""


async def test_nothing_jumps_while_an_answer_grows(stage: Stage, visitor: Visitor) -> None:
    page = visitor.page
    until, release = stage.held()
    part = "A line of an answer.\n\n- one\n- two\n\n```python\nx = 1\n```\n\n"
    stage.model.when("a long answer", [Say(part), until, *(Say(part) for _ in range(40))])
    await visitor.open("growing")
    await visitor.say("a long answer")
    await expect(page.locator(".speaking pre .hljs-number").first).to_be_visible()
    await page.evaluate(SHIFTS)
    release()
    await expect(page.locator(".said.agent:not(.speaking) pre")).to_have_count(41)
    await expect(page.locator(".speaking")).to_have_count(0)
    assert await page.evaluate("window.moved.reduce((sum, one) => sum + one, 0)") < 0.1


async def test_a_run_is_stopped_and_what_was_said_stays(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("count for ever", [Say("one, two, "), until])
    page = visitor.page
    await visitor.open("counting")
    await visitor.say("count for ever")
    await expect(page.locator(".speaking")).to_contain_text("one, two")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".note")).to_contain_text("Stopped")
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    release()


async def test_a_call_of_a_tool_is_a_card_with_its_result(stage: Stage, visitor: Visitor) -> None:
    call = ToolCall(id="c1", name="sessions_list", arguments={"limit": 3})
    stage.model.when("use a tool", calls(call))
    page = visitor.page
    await visitor.open("tools")
    await visitor.say("use a tool")
    card = page.locator("details.tool")
    await expect(card.locator(".badge")).to_have_text("done")
    await card.locator("summary").click()
    await expect(card).to_contain_text('"limit": 3')
    await expect(card).to_contain_text("sessions")
    await expect(page.locator(".said.agent").last).to_contain_text("I heard you.")


async def test_what_a_program_prints_is_shown_while_it_runs(
    stage: Stage, visitor: Visitor, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    call = ToolCall(id="x1", name="exec", arguments={"command": f"echo the first line; cat {gate}"})
    stage.model.when("run a program", calls(call))
    page = visitor.page
    await visitor.open("programs")
    await visitor.say("run a program")
    card = page.locator("details.tool")
    await expect(card.locator("pre").last).to_contain_text("the first line")
    await expect(card.locator(".badge")).to_have_text("running")
    await to_thread.run_sync(gate.write_text, "the last line\n")
    await expect(card.locator(".badge")).to_have_text("done")
    await expect(card.locator("pre").last).to_contain_text("the last line")


async def test_a_message_during_a_run_shows_that_it_waits(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("the first", [Say("working "), until, Say("done")])
    page = visitor.page
    await visitor.open("queue")
    await visitor.say("the first")
    await expect(page.locator(".speaking")).to_contain_text("working")
    await visitor.say("the second")
    await expect(page.locator(".pending")).to_contain_text("the second")
    await expect(page.locator(".pending .foot")).to_have_text("steering: the agent hears it next")
    release()
    await expect(page.locator(".said.user:not(.pending)")).to_have_count(2)
    await expect(page.locator(".pending")).to_have_count(0)


async def test_a_message_for_the_next_turn_shows_that_it_is_queued(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("turn one", [Say("working "), until, Say("done")])
    page = visitor.page
    await visitor.open("turns")
    await visitor.say("/queue followup")
    await expect(page.locator(".note")).to_be_visible()
    await visitor.say("turn one")
    await expect(page.locator(".speaking")).to_contain_text("working")
    await visitor.say("turn two")
    waits = page.locator(".pending", has_text="turn two")
    await expect(waits.locator(".foot")).to_have_text("queued: waits for its turn")
    release()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text(["working done", "I heard you."])
    await expect(page.locator(".pending")).to_have_count(0)


async def test_what_waits_for_its_turn_is_there_after_the_page_was_loaded_again(
    stage: Stage, visitor: Visitor
) -> None:
    until, release = stage.held()
    stage.model.when("turn one", [Say("working "), until, Say("done")])
    page = visitor.page
    await visitor.open("reloaded")
    await visitor.say("/queue followup")
    await expect(page.locator(".note")).to_be_visible()
    await visitor.say("turn one")
    await expect(page.locator(".speaking")).to_contain_text("working")
    await visitor.say("turn two")
    await expect(page.locator(".pending .foot")).to_have_text("queued: waits for its turn")
    await page.reload()
    await expect(page.locator(".pending", has_text="turn two")).to_have_count(1)
    release()
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text(["working done", "I heard you."])
    await expect(page.locator(".said.user", has_text="turn two")).to_have_count(1)
    await expect(page.locator(".pending")).to_have_count(0)


async def test_what_no_person_said_shows_where_it_comes_from_while_it_waits(
    stage: Stage, visitor: Visitor
) -> None:
    page = visitor.page
    await visitor.open("events")
    await visitor.say("hello")
    await expect(page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    line = {"mode": "next-heartbeat", "text": "**the door** rings", "sessionKey": "agent:main:events"}
    async with roost.Client(f"ws://127.0.0.1:{stage.served.port}", token=stage.token) as client:
        await client.call("wake", line)
    await page.reload()
    waits = page.locator(".pending")
    await expect(waits).to_contain_text("the door rings")
    await expect(waits.locator(".from")).to_have_text("From the gateway")
    await expect(waits.locator(".foot")).to_have_text("waits for the next turn")
    await expect(page.locator(".said.user")).to_have_count(1)
    await visitor.say("and now?")
    await expect(page.locator(".said.other:not(.pending)")).to_contain_text("the door rings")
    await expect(page.locator(".pending")).to_have_count(0)
    await expect(page.locator(".said.user")).to_contain_text(["hello", "and now?"])


async def test_a_draft_stays_where_it_was_typed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("drafts")
    field = page.get_by_label("Message", exact=True)
    await field.fill("half a thou")
    await visitor.open("elsewhere")
    await expect(field).to_have_value("")
    await visitor.open("drafts")
    await expect(field).to_have_value("half a thou")
    await page.reload()
    await expect(field).to_have_value("half a thou")


async def test_a_slash_offers_commands_and_the_answer_is_no_part_of_the_talk(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("commands")
    field = page.get_by_label("Message", exact=True)
    await field.fill("/st")
    await expect(page.locator("#palette [role=option]")).to_have_count(3)
    await page.keyboard.press("Enter")
    await expect(field).to_have_value("/status")
    await page.keyboard.press("Enter")
    await expect(page.locator(".note")).to_contain_text("scripted/small")
    await expect(page.locator(".said")).to_have_count(0)


async def test_a_line_that_is_put_into_a_conversation_is_shown_once(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("about larks", says("They sing."))
    page = visitor.page
    await visitor.open("larks")
    await visitor.say("tell me about larks")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("They sing.")
    line = {"sessionKey": "agent:main:larks", "message": "Also at dawn."}
    async with roost.Client(stage.address.replace("http", "ws"), token=stage.token) as client:
        await client.call("chat.inject", line)
        await client.call("chat.inject", {**line, "message": "And at dusk."})
    await expect(page.locator(".said").last).to_contain_text("And at dusk.")
    await expect(page.get_by_text("Also at dawn.")).to_have_count(1)
    await expect(page.locator(".note")).to_have_count(0)


async def test_an_answer_is_copied(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("to be copied", says("**copied** words"))
    page = visitor.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visitor.open("copies")
    await visitor.say("to be copied")
    answer = page.locator(".said.agent:not(.speaking)")
    await expect(answer).to_contain_text("copied words")
    await answer.hover()
    await answer.get_by_role("button", name="Copy").click()
    await expect(page.locator(".news")).to_contain_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "**copied** words"


async def test_escape_stops_a_run(stage: Stage, visitor: Visitor) -> None:
    until, release = stage.held()
    stage.model.when("without an end", [Say("and so on "), until])
    page = visitor.page
    await visitor.open("keys")
    await visitor.say("without an end")
    await expect(page.locator(".speaking")).to_contain_text("and so on")
    await page.get_by_label("Message", exact=True).press("Escape")
    await expect(page.locator(".note")).to_contain_text("Stopped")
    release()


async def test_what_was_asked_is_asked_again_and_forked(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("ask twice", says("first answer"), says("second answer"))
    page = visitor.page
    await visitor.open("again")
    await visitor.say("ask twice")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("first answer")
    await page.get_by_role("button", name="Ask again").click()
    await expect(page.locator(".said.agent").nth(1)).to_contain_text("second answer")
    await page.locator(".said.agent").first.hover()
    await page.get_by_role("button", name="Fork from here").nth(1).click()
    await expect(page.locator(".mark")).to_contain_text("fork")
    await expect(page.locator(".key")).to_contain_text("dashboard")


async def test_another_model_that_goes_on_is_marked_with_the_reason(stage: Stage, visitor: Visitor) -> None:
    stage.model.when("who answers", says("the small one"), [Fail(FailureKind.AUTH)], says("spare"))
    page = visitor.page
    await visitor.open("fallback")
    await visitor.say("who answers now?")
    await expect(page.locator(".said.agent:not(.speaking)")).to_contain_text("the small one")
    await visitor.say("who answers then?")
    await expect(page.locator(".said.agent").nth(1)).to_contain_text("spare")
    mark = page.locator(".mark")
    await expect(mark).to_contain_text("scripted/spare goes on")
    await expect(mark.locator(".why")).to_contain_text("model: fallback because scripted/small")
    await expect(mark.locator(".why")).to_contain_text("failed: auth")


async def test_model_and_thinking_are_picked(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open("pickers")
    await visitor.say("hello")
    await expect(page.locator(".said.agent")).to_have_count(1)
    await page.get_by_label("Thinking").select_option("high")
    await expect(page.locator(".news")).to_contain_text("from the next answer on")
    await page.reload()
    await expect(page.get_by_label("Thinking")).to_have_value("high")
    await expect(page.get_by_label("Model")).to_have_value("scripted/small")
    await page.get_by_label("Model", exact=True).select_option("scripted/spare")
    await visitor.say("and now?")
    await expect(page.locator(".mark")).to_contain_text("scripted/spare goes on")
    await expect(page.locator(".mark .why")).to_have_text("model: set on this session")
    await expect(page.locator(".meter")).to_contain_text("%")
    await expect(page.locator(".meter .cost")).to_contain_text("$")


@pytest.mark.parametrize("said", ["/status what is it", "what about /status now"])
async def test_a_command_within_a_message_is_answered_beside_it(visitor: Visitor, said: str) -> None:
    await visitor.open(f"within {len(said)}")
    await visitor.say("hello")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    await visitor.say(said)
    await expect(visitor.page.locator(".note")).to_contain_text("Session: agent:main:within")
    await expect(visitor.page.locator(".said.agent:not(.speaking)")).to_have_count(2)
