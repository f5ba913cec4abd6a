"""Configurations, and what an engine over one answers."""

import json
import sys
from pathlib import Path

from roost.app.opening import open_engine
from roost.channels.loopback import LoopbackChannel
from roost.config import Loaded, load
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.leases import Gateway


def provider(tmp_path: Path, **changes: object) -> Loaded:
    """A configuration with one provider, `local`, whose model is the agent's."""
    known = {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "small", "input": ["text", "image"]}]}
    document = {
        "models": {"providers": {"local": {**known, **changes}}},
        "agents": {"defaults": {"model": "local/small"}},
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    return load({"ROOST_HOME": str(tmp_path), "ROOST_PROGRAMS": f"{sys.executable}:/no/such"})


async def answers(loaded: Loaded, *texts: str) -> tuple[str, ...]:
    """What an engine over this configuration answers on a channel of its own."""
    channel = LoopbackChannel()
    doors = {"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))}
    ada = Sender(id="ada")
    chat = Conversation(chat_type=ChatType.DIRECT, peer="ada")
    found: tuple[str, ...] = ()
    async with open_engine(loaded, [channel], doors) as engine, engine.serving(Gateway(name="t", holder="t")):
        for number, text in enumerate(texts, 1):
            await channel.say(text, sender=ada, chat=chat)
            found = await channel.wait_replies(Address(channel="loopback", to="ada"), number)
    return found
