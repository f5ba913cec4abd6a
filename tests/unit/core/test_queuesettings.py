import pytest

from roost.core.errors import InvalidInput
from roost.core.queuesettings import (
    DropPolicy,
    QueueMode,
    QueuePolicy,
    QueueSettings,
    read_queue,
    resolve,
)
from roost.core.sessions import Overrides

POLICY = QueuePolicy(
    base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=700, cap=9, drop=DropPolicy.OLD),
    mode_by_channel={"discord": QueueMode.FOLLOWUP},
    debounce_by_channel={"discord": 50},
    settle_by_channel={"discord": 30},
)


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("steer", QueueMode.STEER),
        (" Collect ", QueueMode.COLLECT),
        ("abort", QueueMode.INTERRUPT),
        ("steering", QueueMode.STEER),
        ("queue", QueueMode.STEER),
        ("steer-backlog", QueueMode.FOLLOWUP),
        ("coalesce", QueueMode.COLLECT),
        ("later", None),
        ("", None),
    ],
)
def test_a_mode_has_older_names_too(word: str, mode: QueueMode | None) -> None:
    assert QueueMode.parse(word) is mode


def test_by_default_messages_steer_and_twenty_may_wait() -> None:
    assert resolve(QueuePolicy(), Overrides(), "telegram") == QueueSettings(
        mode=QueueMode.STEER, debounce_ms=500, settle_ms=0, cap=20, drop=DropPolicy.SUMMARIZE
    )


def test_a_channel_has_its_own_mode_and_pauses() -> None:
    assert resolve(POLICY, Overrides(), "discord") == QueueSettings(
        mode=QueueMode.FOLLOWUP, debounce_ms=50, settle_ms=30, cap=9, drop=DropPolicy.OLD
    )


def test_what_a_person_set_on_the_session_wins() -> None:
    own = Overrides(queue_mode="interrupt", queue_debounce_ms=0, queue_cap=3, queue_drop="new")
    assert resolve(POLICY, own, "discord") == QueueSettings(
        mode=QueueMode.INTERRUPT, debounce_ms=0, settle_ms=30, cap=3, drop=DropPolicy.NEW
    )


def test_words_nobody_knows_and_empty_queues_fall_back() -> None:
    odd = Overrides(queue_mode="??", queue_cap=0, queue_drop="??")
    found = resolve(POLICY, odd, "telegram")
    assert (found.mode, found.cap, found.drop) == (QueueMode.COLLECT, 1, DropPolicy.OLD)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", Overrides()),
        ("collect", Overrides(queue_mode="collect")),
        ("ABORT", Overrides(queue_mode="interrupt")),
        ("debounce:2s", Overrides(queue_debounce_ms=2_000)),
        ("debounce:250", Overrides(queue_debounce_ms=250)),
        (
            "steer cap:5 drop:old",
            Overrides(queue_mode="steer", queue_cap=5, queue_drop="old"),
        ),
        ("collect cap:5 default", Overrides()),
    ],
)
def test_a_queue_is_set_word_by_word(text: str, changed: Overrides) -> None:
    assert read_queue(text)(Overrides()) == changed


def test_other_settings_stay() -> None:
    assert read_queue("default")(Overrides(model="m", queue_cap=3)) == Overrides(model="m")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("often", "steer, followup, collect, interrupt"),
        ("cap:0", "1 to 1000"),
        ("cap:x", "1 to 1000"),
        ("cap:²", "1 to 1000"),
        ("debounce:soon", "500ms"),
        ("drop:all", "summarize, old, new"),
        ("size:3", "debounce"),
    ],
)
def test_what_a_queue_does_not_know_is_refused_with_what_it_does(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_queue(text)
    assert hint in refused.value.hint
