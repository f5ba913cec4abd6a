import pytest

from roost.config.frozen import FrozenMap
from roost.core.queuesettings import DropPolicy, QueueMode
from tests.unit.config.given import refused, settings


def test_queueing_has_the_specified_defaults() -> None:
    messages = settings({}).messages
    queue = messages.queue
    assert (queue.mode, queue.debounce_ms, queue.cap, queue.drop) == (
        QueueMode.STEER,
        500,
        20,
        DropPolicy.SUMMARIZE,
    )
    assert messages.inbound.debounce_ms == 0


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("collect", QueueMode.COLLECT),
        ("abort", QueueMode.INTERRUPT),
        ("steering", QueueMode.STEER),
        ("coalesce", QueueMode.COLLECT),
        ("queue", QueueMode.STEER),
        ("steer-backlog", QueueMode.FOLLOWUP),
    ],
)
def test_older_names_of_modes_are_understood(written: str, mode: QueueMode) -> None:
    given = settings(
        {"messages": {"queue": {"mode": written, "byChannel": {"discord": written}}}}
    ).messages.queue
    assert (given.mode, given.by_channel["discord"]) == (mode, mode)


@pytest.mark.parametrize(
    ("queue", "path"),
    [
        ({"mode": "stear"}, "messages.queue.mode"),
        ({"mode": ["steer"]}, "messages.queue.mode"),
        ({"cap": 0}, "messages.queue.cap"),
        ({"drop": "newest"}, "messages.queue.drop"),
        ({"debounceMsByChannel": {"discord": -1}}, "messages.queue.debounceMsByChannel.discord"),
    ],
)
def test_what_a_queue_cannot_do_is_refused(queue: object, path: str) -> None:
    assert list(refused({"messages": {"queue": queue}})) == [path]


@pytest.mark.requirement("S21")
def test_commands_that_reach_the_host_are_off_and_an_empty_list_is_a_list() -> None:
    commands = settings({}).commands
    assert (commands.text, commands.restart) == (True, True)
    assert not any((commands.config, commands.debug, commands.bash, commands.plugins, commands.mcp))
    assert (commands.owner_allow_from, commands.allow_from) == (None, None)
    given = settings({"commands": {"ownerAllowFrom": [], "allowFrom": {}}}).commands
    assert given.owner_allow_from == ()
    assert given.allow_from == FrozenMap()
