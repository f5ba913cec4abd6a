"""Talk to the agent on this terminal, through the same engine as every channel."""

import sys
from contextlib import suppress

import anyio
import anyio.to_thread

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
PATIENCE_S = 30.0


async def talk(loaded: Loaded) -> None:
    """Read lines until the input ends; what was said by then is still answered."""
    channel = LoopbackChannel(name=CHANNEL, abilities=ChannelAbilities(longest=100_000, dedupes=True))
    async with open_engine(loaded, [channel], {CHANNEL: DOOR}) as (engine, _):
        async with engine.serving(Gateway(name="roost", holder=CHANNEL)), anyio.create_task_group() as group:
            group.start_soon(_show, channel)
            said = 0
            while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
                if line.strip():
                    await channel.say(line.strip(), sender=OWNER, chat=CHAT)
                    said += 1
            with suppress(TimeoutError), anyio.fail_after(PATIENCE_S):
                await channel.wait_replies(PLACE, said)
            group.cancel_scope.cancel()


async def _show(channel: LoopbackChannel) -> None:
    shown = 0
    while True:
        replies = await channel.wait_replies(PLACE, shown + 1)
        sys.stdout.write("".join(f"{text}\n\n" for text in replies[shown:]))
        sys.stdout.flush()
        shown = len(replies)
