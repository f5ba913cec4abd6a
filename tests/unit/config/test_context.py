import pytest

from roost.config.amounts import ByteSize, Duration
from tests.unit.config.given import refused, settings


@pytest.mark.requirement("D39")
def test_pruning_is_on_with_the_specified_figures() -> None:
    pruning = settings({}).agents.defaults.context_pruning
    assert (pruning.mode, pruning.ttl) == ("cache-ttl", Duration.parse("5m"))
    assert (pruning.hard_clear.enabled, pruning.hard_clear.placeholder) == (
        True,
        "[Old tool result content cleared]",
    )


def test_compaction_and_memory_flush_have_the_specified_figures() -> None:
    compaction = settings({}).agents.defaults.compaction
    assert (compaction.enabled, compaction.reserve_tokens, compaction.reserve_tokens_floor) == (
        True,
        16384,
        20000,
    )
    assert (compaction.keep_recent_tokens, compaction.recent_turns_preserve) == (20000, 3)
    assert (compaction.timeout_seconds, compaction.thinking_level, compaction.notify_user) == (
        180,
        "low",
        False,
    )
    flush = compaction.memory_flush
    assert (flush.enabled, flush.soft_threshold_tokens) == (True, 4000)
    assert flush.force_flush_transcript_bytes == ByteSize.parse("2mb")


def test_pruning_can_be_switched_off_but_not_set_to_something_unknown() -> None:
    document = {"agents": {"defaults": {"contextPruning": {"mode": "off"}}}}
    assert settings(document).agents.defaults.context_pruning.mode == "off"
    document["agents"]["defaults"]["contextPruning"]["mode"] = "adaptive"
    assert refused(document)["agents.defaults.contextPruning.mode"].allowed == "`off` or `cache-ttl`"


def test_a_summary_thinks_at_a_level_there_is() -> None:
    defaults = {"compaction": {"thinkingLevel": "hihg"}}
    assert list(refused({"agents": {"defaults": defaults}})) == ["agents.defaults.compaction.thinkingLevel"]
