"""`messages` and `commands`: what happens to a message before an agent sees it."""

from typing import Annotated, TypeAlias

from roost.config.frozen import FrozenMap
from roost.config.section import Section, about
from roost.config.spelling import ChannelName, Count, Flag, Positive, Text, Texts, word
from roost.core.queuesettings import DropPolicy, QueueMode

Mode: TypeAlias = Annotated[
    QueueMode, word(QueueMode.parse, tuple(QueueMode), also="older names such as `abort` and `coalesce`")
]


class Queue(Section):
    mode: Annotated[Mode, about("What a message does while a run is active.")] = QueueMode.STEER
    by_channel: Annotated[FrozenMap[ChannelName, Mode], about("The same, by channel.")] = FrozenMap()
    debounce_ms: Annotated[Count, about("Quiet time before queued messages are taken.")] = 500
    debounce_ms_by_channel: Annotated[FrozenMap[ChannelName, Count], about("The same, by channel.")] = (
        FrozenMap()
    )
    cap: Annotated[Positive, about("Messages that may wait in one session.")] = 20
    drop: Annotated[DropPolicy, about("What gives way beyond the cap.")] = DropPolicy.SUMMARIZE


class InboundDebounce(Section):
    debounce_ms: Annotated[Count, about("Quiet time in which messages of one sender are joined.")] = 0
    by_channel: Annotated[FrozenMap[ChannelName, Count], about("The same, by channel.")] = FrozenMap()


class Messages(Section):
    queue: Annotated[Queue, about("Messages that arrive during a run.")] = Queue()
    inbound: Annotated[InboundDebounce, about("Messages that arrive in a burst.")] = InboundDebounce()


class Commands(Section):
    """Chat commands. An empty list is a list: it admits nobody."""

    text: Annotated[Flag, about("Whether commands are read from message text.")] = True
    owner_allow_from: Annotated[
        Texts | None,
        about(
            "Senders who are the owner, each as `channel:id`; an id alone holds on every channel. Unset: gateway clients"
            " only."
        ),
    ] = None
    allow_from: Annotated[
        FrozenMap[Text, Texts] | None,
        about("Senders who may use commands, by channel or `*`. Unset: whoever the channel admits."),
    ] = None
    restart: Annotated[Flag, about("Changes nothing: there is no `/restart`.")] = True
    config: Annotated[Flag, about("Changes nothing: there is no `/config`.")] = False
    debug: Annotated[Flag, about("Changes nothing: there is no `/debug`.")] = False
    bash: Annotated[Flag, about("Changes nothing: there is no `/bash`.")] = False
    plugins: Annotated[Flag, about("Changes nothing: there is no `/plugins`.")] = False
    mcp: Annotated[Flag, about("Changes nothing: there is no `/mcp`.")] = False
