"""The terminal as a channel: lines typed are messages, and an answer appears as it is written."""

import os
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TextIO
from uuid import uuid4

import anyio
import anyio.lowlevel

from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.channels import ChannelAbilities, Knowledge
from roost.core.deliveries import Confirmed, Delivery, DeliveryKind, SendResult
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import RoostError
from roost.core.previews import ModelAsked, Preview, RunBegan, RunOver, SpokenText
from roost.core.runs import RunState
from roost.ports import Receive

NAME = "terminal"
PERSON = Sender(id="owner")
CHAT = Conversation(chat_type=ChatType.DIRECT, peer="owner")
AT_ONCE = 65_536
STOP = "/stop"


async def typed_lines(file: int) -> AsyncIterator[str]:
    """The lines of a file that may never end, read without a thread: one that waits could not be left."""
    decoder = getincrementaldecoder("utf-8")("replace")
    rest = ""
    while data := await _read(file):
        *lines, rest = (rest + decoder.decode(data)).split("\n")
        for line in lines:
            yield line
    if rest:
        yield rest


async def _read(file: int) -> bytes:
    try:
        await anyio.wait_readable(file)
    except PermissionError:
        # A file on disk is always ready, and cannot be waited for.
        await anyio.lowlevel.checkpoint()
    return os.read(file, AT_ONCE)


class Terminal:
    """A `Channel` for one person. What was shown of an answer before it is sent is not written again."""

    name = NAME
    account = DEFAULT_ACCOUNT
    abilities = ChannelAbilities(longest=100_000)

    def __init__(self, lines: AsyncIterator[str], out: TextIO) -> None:
        self._lines = lines
        self._out = out
        self._run_id: str | None = None
        self._length = 0
        self._shown = ""
        self._receive: Receive | None = None
        self.ended = anyio.Event()

    async def run(self, receive: Receive) -> None:
        """`ended` is set when the input is."""
        self._receive = receive
        async for line in self._lines:
            if line.strip():
                await self._say(_message(line.strip()), receive)
        self.ended.set()
        await anyio.sleep_forever()

    async def stop(self) -> None:
        """What the key that interrupts means: the command, as if it had been typed."""
        if self._receive is not None:
            await self._say(replace(_message(STOP), native_command=True), self._receive)

    async def send(self, delivery: Delivery) -> SendResult:
        text, shown = delivery.text, self._shown.rstrip()
        answered = delivery.kind is DeliveryKind.REPLY and delivery.run_id == self._run_id
        if answered and text.startswith(shown):
            self._write(f"{text[len(shown) :]}\n\n")
        else:
            self._break()
            self._write(f"{text}\n\n")
        if answered:
            self._forget(None)
        return Confirmed()

    async def ask(self, delivery: Delivery) -> Knowledge:
        return Knowledge.UNKNOWN

    def preview(self, preview: Preview) -> None:
        """What a run says while it goes on, if it answers here."""
        match preview:
            case RunBegan() if preview.run.request.reply_to and preview.run.request.reply_to.channel == NAME:
                self._forget(preview.run_id)
            case ModelAsked() if preview.run_id == self._run_id:
                self._break()
            case SpokenText() if preview.run_id == self._run_id:
                self._show(preview)
            case RunOver() if preview.run_id == self._run_id and preview.run.state is RunState.KILLED:
                self._break()
                self._write("[stopped]\n\n")
                self._forget(None)
            case _:
                pass

    def _show(self, piece: SpokenText) -> None:
        if piece.offset != self._length:
            self._break()
        self._length = piece.offset + len(piece.text)
        text = piece.text if self._shown else piece.text.lstrip()
        self._shown += text
        self._write(text)

    async def _say(self, envelope: Envelope, receive: Receive) -> None:
        try:
            await receive(envelope)
        except RoostError as error:
            self._write(f"roost: {error}\n\n")

    def _break(self) -> None:
        """End the line that was begun."""
        if self._shown:
            self._write("\n")
        self._shown, self._length = "", 0

    def _forget(self, run_id: str | None) -> None:
        self._run_id, self._shown, self._length = run_id, "", 0

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _message(text: str) -> Envelope:
    # Lines are told apart by an id of their own: the same words again are another message.
    return Envelope(channel=NAME, sender=PERSON, conversation=CHAT, text=text, external_id=str(uuid4()))
