from roost.core.exchanges import CompletionStatus, ExchangeState, Phase
from tests import samples


def test_an_exchange_begins_with_the_primary_run_and_no_turn_taken() -> None:
    exchange = samples.exchange()
    assert (exchange.phase, exchange.state, exchange.turn) == (Phase.PRIMARY, ExchangeState.ACCEPTED, 0)


def test_a_completion_is_owed_from_the_spawn_on() -> None:
    owed = samples.completion()
    assert (owed.status, owed.settled_at, owed.acknowledged_at) == (CompletionStatus.PENDING, None, None)
