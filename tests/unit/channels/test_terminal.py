import io
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.channels.terminal import Terminal, typed_lines
from roost.core.addresses import Address
from roost.core.channels import Knowledge
from roost.core.deliveries import Confirmed, Delivery, DeliveryKind
from roost.core.envelopes import Envelope
from roost.core.errors import StoreUnavailable
from roost.core.models import ModelRef
from roost.core.previews import ModelAsked, RunBegan, RunOver, SpokenText
from roost.core.runs import Request, RunState
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN

HERE = Address(channel="terminal", to="owner")
RUN = builders.run("r", request=Request(reply_to=HERE))
ASKED = ModelAsked(key=MAIN, run_id="r", answer=1, model=ModelRef("a", "b"))


def spoken(text: str, offset: int, run_id: str = "r") -> SpokenText:
    return SpokenText(key=MAIN, run_id=run_id, answer=1, offset=offset, text=text)


def delivery(text: str, kind: DeliveryKind = DeliveryKind.REPLY, run_id: str | None = "r") -> Delivery:
    return Delivery(id="d", key=MAIN, address=HERE, kind=kind, text=text, created_at=0, run_id=run_id)


async def typed(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


class Screen:
    def __init__(self, lines: AsyncIterator[str] | None = None) -> None:
        self._out = io.StringIO()
        self.terminal = Terminal(lines or typed(), self._out)

    @property
    def text(self) -> str:
        return self._out.getvalue()


async def test_an_answer_appears_as_it_is_written_and_once() -> None:
    screen = Screen()
    screen.terminal.preview(RunBegan(run=RUN))
    screen.terminal.preview(ASKED)
    screen.terminal.preview(spoken("\n He", 0))
    screen.terminal.preview(spoken("llo ", 4))
    assert screen.text == "Hello "
    assert await screen.terminal.send(delivery("Hello you")) == Confirmed()
    assert screen.text.split() == ["Hello", "you"]
    screen.terminal.preview(spoken("you", 8))
    assert screen.text.split() == ["Hello", "you"]


async def test_each_answer_of_a_run_begins_a_line_of_its_own() -> None:
    screen = Screen()
    for preview in (RunBegan(run=RUN), ASKED, spoken("Let me see.", 0), ASKED, spoken("Done.", 0)):
        screen.terminal.preview(preview)
    await screen.terminal.send(delivery("Done."))
    assert screen.text == "Let me see.\nDone.\n\n"


async def test_an_answer_that_reads_otherwise_in_the_end_is_written_whole() -> None:
    screen = Screen()
    for preview in (RunBegan(run=RUN), spoken("Hello", 0), spoken("later", 90)):
        screen.terminal.preview(preview)
    await screen.terminal.send(delivery("Hello and later"))
    assert screen.text == "Hello\nlater\nHello and later\n\n"


async def test_a_notice_does_not_run_into_the_answer_that_is_being_written() -> None:
    screen = Screen()
    for preview in (RunBegan(run=RUN), spoken("Half", 0)):
        screen.terminal.preview(preview)
    await screen.terminal.send(delivery("No answer: it broke.", DeliveryKind.NOTICE, None))
    assert screen.text == "Half\nNo answer: it broke.\n\n"


async def test_what_is_answered_elsewhere_is_not_shown_and_what_was_stopped_is_said_to_be() -> None:
    screen = Screen()
    elsewhere = builders.run("s", request=Request(reply_to=CHAT))
    for run, state in ((elsewhere, RunState.KILLED), (RUN, RunState.KILLED), (RUN, RunState.DONE)):
        screen.terminal.preview(RunBegan(run=run))
        screen.terminal.preview(spoken("Half", 0, run.id))
        screen.terminal.preview(RunOver(run=replace(run, state=state)))
    assert screen.text == "Half\n[stopped]\n\nHalf"


async def test_a_line_is_a_message_and_a_refused_one_is_told() -> None:
    heard: list[Envelope] = []

    async def receive(envelope: Envelope) -> None:
        heard.append(envelope)
        if envelope.text == "again":
            raise StoreUnavailable("the disk is full")

    screen = Screen(typed("hello ", "", "again"))
    async with anyio.create_task_group() as group:
        group.start_soon(screen.terminal.run, receive)
        await screen.terminal.ended.wait()
        group.cancel_scope.cancel()
    assert [envelope.text for envelope in heard] == ["hello", "again"]
    assert len({envelope.external_id for envelope in heard}) == 2
    assert screen.text == "roost: the disk is full\n\n"
    assert await screen.terminal.ask(delivery("x")) is Knowledge.UNKNOWN


async def test_an_interrupt_is_the_command_to_stop() -> None:
    heard: list[Envelope] = []

    async def receive(envelope: Envelope) -> None:
        heard.append(envelope)

    screen = Screen(typed())
    await screen.terminal.stop()
    async with anyio.create_task_group() as group:
        group.start_soon(screen.terminal.run, receive)
        await screen.terminal.ended.wait()
        await screen.terminal.stop()
        group.cancel_scope.cancel()
    assert [(envelope.text, envelope.native_command) for envelope in heard] == [("/stop", True)]


@pytest.mark.parametrize("through", ["pipe", "file"])
async def test_lines_are_read_from_whatever_is_typed_into(through: str, tmp_path: Path) -> None:
    words = "one\ntw\u00f6\n\nlast".encode()
    if through == "pipe":
        reading, writing = os.pipe()
        os.write(writing, words)
        os.close(writing)
    else:
        (tmp_path / "typed").write_bytes(words)
        reading = os.open(tmp_path / "typed", os.O_RDONLY)
    try:
        assert [line async for line in typed_lines(reading)] == ["one", "tw\u00f6", "", "last"]
    finally:
        os.close(reading)


async def test_waiting_for_a_line_can_be_left() -> None:
    reading, writing = os.pipe()
    try:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(typed_lines(reading))
        assert scope.cancelled_caught
    finally:
        os.close(reading)
        os.close(writing)
