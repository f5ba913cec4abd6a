"""Talk to the agent on this terminal, through the same engine as every channel."""

import os
import sys
from uuid import uuid4

import anyio
import anyio.lowlevel
import anyio.to_thread

from roost import __version__
from roost.app import open_engine
from roost.channels.loopback import LoopbackChannel
from roost.config import Loaded
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy
from roost.core.channels import ChannelAbilities
from roost.core.envelopes import Conversation, Sender
from roost.core.leases import Gateway

CHANNEL = "terminal"
OWNER = Sender(id="owner")
CHAT = Conversation(chat_type=ChatType.DIRECT, peer="owner")
PLACE = Address(channel=CHANNEL, to="owner")
DOOR = ChannelPolicy(owner_ids=(f"{CHANNEL}:{OWNER.id}",))


async def talk(loaded: Loaded) -> None:
    """Read lines until the input ends; what was said by then is still answered."""
    channel = LoopbackChannel(name=CHANNEL, abilities=ChannelAbilities(longest=100_000, dedupes=True))
    async with (
        open_engine(loaded, [channel], {CHANNEL: DOOR}, version=__version__) as engine,
        engine.serving(_gateway()),
        anyio.create_task_group() as group,
    ):
        group.start_soon(_show, channel)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            if line.strip():
                # Lines are told apart by an id of their own: the same words again are another message.
                await channel.say(line.strip(), sender=OWNER, chat=CHAT, external_id=str(uuid4()))
        await channel.wait_acknowledged()
        await engine.settled()
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


def _gateway() -> Gateway:
    """A name of its own: a second terminal on the same store is refused, instead of taking it from the first."""
    return Gateway(name=f"{CHANNEL}-{os.getpid()}", holder=f"process {os.getpid()}")


async def _show(channel: LoopbackChannel) -> None:
    shown = 0
    while True:
        replies = await channel.wait_replies(PLACE, shown + 1)
        sys.stdout.write("".join(f"{text}\n\n" for text in replies[shown:]))
        sys.stdout.flush()
        shown = len(replies)
