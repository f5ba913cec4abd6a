"""A page whose line to the gateway loses, holds back or refuses something."""

import os
from pathlib import Path

import pytest
from anyio import to_thread
from playwright.async_api import expect

from roost.core.messages import ToolCall
from roost.testing.scripts import CallTool, Say, says
from tests.e2e.lines import Reader
from tests.e2e.stage import Stage, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


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


async def test_what_a_command_answered_unheard_is_shown_when_the_line_is_back(reader: Reader) -> None:
    await reader.open("unheard")
    await reader.say("hello")
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_have_count(1)
    reader.line.loses = lambda frame: True
    sent = reader.line.next_answer("chat.send")
    await reader.say("/status")
    await sent.wait()
    await reader.line.cut()
    reader.line.loses, reader.line.up = lambda frame: False, True
    await expect(reader.page.locator(".note")).to_contain_text("Session: agent:main:unheard")
    await expect(reader.page.locator(".pending")).to_have_count(0)


async def test_what_is_heard_of_a_session_while_the_list_is_read_counts_more_than_the_list(
    stage: Stage, reader: Reader
) -> None:
    until, release = stage.held()
    stage.model.when("a slow race", [Say("once"), until, Say(" more")])
    await reader.open("race of lists")
    await reader.say("a slow race")
    await expect(reader.page.locator(".speaking")).to_contain_text("once")
    await reader.line.cut()
    reader.line.holds, reader.line.up = "chat.metadata", True
    await reader.line.hold()
    release()
    state = reader.page.locator(".session", has_text="once more").locator(".state")
    await expect(state).to_have_class("state done")
    reader.line.deliver()
    # What is answered there comes after that.
    await reader.open("elsewhere")
    await expect(reader.page.get_by_role("region", name="Welcome")).to_be_visible()
    await expect(state).to_have_class("state done")


async def test_a_list_that_was_refused_once_is_asked_for_again(reader: Reader) -> None:
    await reader.open("refused list")
    reader.line.refuses = "sessions.subscribe"
    refused = reader.line.next_answer("sessions.subscribe")
    await reader.page.reload()
    await refused.wait()
    reader.line.refuses = None
    await expect(reader.page.locator(".sessions")).not_to_contain_text("Reading")


async def test_what_is_said_before_a_tool_runs_is_shown_once(
    stage: Stage, visitor: Visitor, tmp_path: Path
) -> None:
    gate, page = tmp_path / "gate", visitor.page
    os.mkfifo(gate)
    until, release = stage.held()
    call = ToolCall(id="look", name="exec", arguments={"command": f"cat {gate}"})
    stage.model.when("look at it", [until, Say("let me look"), CallTool(call)])
    await visitor.open("tool")
    await visitor.say("look at it")
    await expect(page.locator(".speaking")).to_be_visible()
    # As in a tab that nobody looks at: nothing is drawn for a while.
    await page.evaluate(
        "() => { window.frames_ = []; window.raf = window.requestAnimationFrame;"
        " window.requestAnimationFrame = (draw) => window.frames_.push(draw); }"
    )
    release()
    await expect(page.locator("details.tool")).to_have_count(1)
    await page.evaluate(
        "() => { window.requestAnimationFrame = window.raf; window.frames_.forEach((draw) => draw(0)); }"
    )
    await expect(page.locator(".list").get_by_text("let me look")).to_have_count(1)
    await page.reload()
    await expect(page.locator("details.tool")).to_have_count(1)
    await expect(page.locator(".speaking")).to_be_visible()
    await expect(page.locator(".list").get_by_text("let me look")).to_have_count(1)
    await to_thread.run_sync(gate.write_text, "seen\n")
    await expect(page.locator(".speaking")).to_have_count(0)


async def test_who_comes_back_at_once_is_heard_for_again_after_having_left(
    stage: Stage, reader: Reader
) -> None:
    until, release = stage.held()
    stage.model.when("to and fro", [Say("going on"), until, Say(" to the end")])
    await reader.open("to")
    reader.line.holds = "sessions.messages.unsubscribe"
    await reader.open("fro")
    await reader.line.hold()
    heard = reader.line.asked.count("sessions.messages.subscribe")
    await reader.open("to")
    assert reader.line.asked.count("sessions.messages.subscribe") == heard
    reader.line.holds = None
    reader.line.deliver()
    await reader.say("to and fro")
    await expect(reader.page.locator(".speaking")).to_contain_text("going on")
    release()
    await expect(reader.page.locator(".said.agent:not(.speaking)")).to_contain_text("to the end")
