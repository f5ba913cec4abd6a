import pytest

from roost.core.errors import InvalidInput
from roost.core.queuewords import read_queue
from roost.core.sessions import Overrides


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
