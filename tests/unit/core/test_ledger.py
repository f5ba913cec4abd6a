from roost.core.ledger import LedgerRow, LedgerTotal
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.runs import RunKind
from tests import samples


def test_a_model_call_counts_as_exact_unless_it_is_marked() -> None:
    row = LedgerRow(
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
    assert row.estimated is False


def test_totals_are_added_up() -> None:
    one = LedgerTotal(calls=1, usage=Usage(input=3, cost_micros=5))
    assert LedgerTotal().plus(one).plus(one) == LedgerTotal(calls=2, usage=Usage(input=6, cost_micros=10))


def test_what_is_left_of_a_total_is_what_the_part_is_not() -> None:
    whole = LedgerTotal(calls=3, usage=Usage(input=6, cost_micros=10))
    part = LedgerTotal(calls=1, usage=Usage(input=2, cost_micros=10))
    assert whole.minus(part) == LedgerTotal(calls=2, usage=Usage(input=4))
    assert whole.minus(part).plus(part) == whole
