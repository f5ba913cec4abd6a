from dataclasses import replace

import pytest

from roost.core.ledger import LedgerTotal
from roost.core.messages import Usage
from roost.core.runs import RunState
from roost.core.sessions import Overrides, SendOverride, SessionStatus
from roost.core.statuscard import AnsweringModel, StatusCard, status_text
from tests.samples import HOUR, NOON, queued, run, session

USAGE = LedgerTotal(calls=3, usage=Usage(input=1_200, output=34, cache_read=900, cost_micros=12_345))
CARD = StatusCard(
    session=session(),
    key="main",
    now=NOON + HOUR,
    model=AnsweringModel(name="demo/demo", reason="the model of agent main", window=8_000),
    context=400,
    usage=USAGE,
)


@pytest.mark.requirement("D62")
def test_a_card_tells_status_model_context_usage_and_time() -> None:
    assert status_text(CARD).splitlines() == [
        "Session: main (main, id s1)",
        "Status: idle",
        "Model: demo/demo (the model of agent main)",
        "Context: 400 of 8,000 tokens (5%)",
        "Usage: 3 model calls, 1,200 tokens in, 34 out, 900 from cache, $0.0123",
        "Time: 2025-06-16 13:00 UTC; began 1970-01-01 00:00 UTC, last used 2025-06-16 12:00 UTC",
    ]


@pytest.mark.requirement("D62")
def test_a_card_tells_what_is_set_and_what_work_is_linked() -> None:
    set_here = Overrides(thinking="high", send_policy=SendOverride.DENY)
    text = status_text(
        replace(CARD, session=session()._replace(overrides=set_here), linked=("child a", "cron job b"))
    )
    assert "Set on this session: thinking high, sending deny" in text
    assert "Linked work: child a; cron job b" in text


def test_a_card_tells_what_runs_and_what_waits() -> None:
    def status(*states: RunState) -> str:
        active = tuple(run(state=state) for state in states)
        card = replace(CARD, session=session()._replace(status=SessionStatus.RUNNING), active=active)
        return status_text(card).splitlines()[1]

    assert status(RunState.RUNNING) == "Status: running since 2025-06-16 12:00 UTC"
    assert (
        status(RunState.RUNNING, RunState.QUEUED) == "Status: running since 2025-06-16 12:00 UTC, 1 waiting"
    )
    assert (
        status_text(replace(CARD, active=(queued(), queued()))).splitlines()[1] == "Status: idle, 2 waiting"
    )


@pytest.mark.parametrize(
    ("context", "window", "told"),
    [
        (None, None, "not counted yet"),
        (None, 8_000, "not counted yet, of 8,000 tokens"),
        (1_234, None, "1,234 tokens"),
    ],
)
def test_an_unknown_figure_is_no_zero(context: int | None, window: int | None, told: str) -> None:
    text = status_text(replace(CARD, context=context, model=replace(CARD.model, window=window)))
    assert f"Context: {told}" in text.splitlines()
