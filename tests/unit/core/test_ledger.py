from dataclasses import replace

from roost.core.ledger import Counted, LedgerRow, LedgerTotal, taken_by
from roost.core.messages import AssistantMessage, Text, Usage
from roost.core.principals import OWNER
from roost.core.runs import RunKind
from tests import samples

ROW = LedgerRow(
    id="l1",
    at=1,
    key=samples.MAIN,
    session_id="s1",
    principal=OWNER,
    run_id="r1",
    run_kind=RunKind.COMPACTION,
    provider="p",
    model="m",
    usage=Usage(input=3),
)


def test_a_model_call_counts_as_exact_unless_it_is_marked() -> None:
    assert ROW.estimated is False


def test_what_words_took_is_what_their_provider_counted_or_else_the_estimate_of_their_own_call() -> None:
    about = replace(ROW, usage=Usage(input=8, output=2), estimated=True)
    others = replace(about, at=2), replace(about, provider="q"), replace(about, model="n")
    words = AssistantMessage(content=(Text("a"),), at=1, provider="p", model="m")
    assert taken_by(words, (*others, about)) == Counted(about.usage, estimated=True)
    assert taken_by(words, others) == Counted()
    counted = replace(words, usage=Usage(input=9))
    assert taken_by(counted, (about,)) == Counted(Usage(input=9))


def test_totals_are_added_up() -> None:
    one = LedgerTotal(calls=1, usage=Usage(input=3, cost_micros=5))
    assert LedgerTotal().plus(one).plus(one) == LedgerTotal(calls=2, usage=Usage(input=6, cost_micros=10))


def test_what_is_left_of_a_total_is_what_the_part_is_not() -> None:
    whole = LedgerTotal(calls=3, usage=Usage(input=6, cost_micros=10))
    part = LedgerTotal(calls=1, usage=Usage(input=2, cost_micros=10))
    assert whole.minus(part) == LedgerTotal(calls=2, usage=Usage(input=4))
    assert whole.minus(part).plus(part) == whole
