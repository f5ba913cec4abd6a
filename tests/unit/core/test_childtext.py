from dataclasses import replace

from roost.core.childtext import ANNOUNCE_PROMPT, finding, findings, kept_result
from roost.core.exchanges import Completion, CompletionStatus
from tests import samples


def ended(
    name: str, *, at: int, status: CompletionStatus = CompletionStatus.OK, said: str | None
) -> Completion:
    return replace(samples.completion(name), created_at=at, settled_at=at, status=status, result=said)


def test_findings_stand_in_the_order_of_their_spawns() -> None:
    text = findings([ended("b", at=2, said="second"), ended("a", at=1, said="first")])
    assert text.index("1. agent:main:subagent:c1\nStatus: ok\nfirst") < text.index("2. ")
    assert text.endswith("second")


def test_a_finding_shows_status_and_error_and_admits_that_nothing_was_said() -> None:
    failed = replace(ended("a", at=1, status=CompletionStatus.ERROR, said=None), error="boom")
    assert finding(failed).endswith("Status: error\n(no output)\nError: boom")


def test_long_findings_are_cut_one_by_one_and_as_a_whole() -> None:
    many = [ended(str(number), at=number, said="x" * 600) for number in range(20)]
    text = findings(many)
    assert len(text) == 4096
    assert "x" * 511 + "…" in text
    assert "x" * 512 not in text


def test_a_result_is_kept_up_to_its_limit_and_never_cut_inside_a_character() -> None:
    assert kept_result(None) is None
    assert kept_result("ok") == "ok"
    kept = kept_result("a" + "é" * 60_000)
    assert kept is not None
    assert kept == "a" + "é" * ((100 * 1024 - 1) // 2)


def test_the_question_before_an_announce_names_the_word_for_silence() -> None:
    assert "ANNOUNCE_SKIP" in ANNOUNCE_PROMPT
