import pytest

from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.messages import Usage
from roost.core.principals import OWNER, person
from roost.core.runs import RunKind
from roost.protocol.convert.facts import call_row, denial_row, exchange_row, totals
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN
from tests.credentials import mixed

OPS = SessionKey.named("ops", "main")

SCANNER = StdlibScanner()


def test_a_call_is_told_with_its_cost_in_dollars_and_who_caused_it() -> None:
    row = LedgerRow(
        id="u-1",
        at=5,
        key=OPS,
        session_id="s-1",
        principal=person("telegram", "7"),
        run_id="r-1",
        run_kind=RunKind.TURN,
        provider="demo",
        model="demo-1",
        usage=Usage(input=3, output=4, cost_micros=250_000),
        estimated=True,
    )
    told = call_row(row)
    assert (told["agentId"], told["principal"], told["estimated"]) == ("ops", "person:telegram:7", True)
    assert told["usage"] == {
        "input": 3,
        "output": 4,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 7,
        "totalCost": 0.25,
    }


def test_a_total_is_what_the_provider_counted_where_it_counted() -> None:
    told = totals(LedgerTotal(calls=2, usage=Usage(input=3, output=4, total=9)))
    assert (told["calls"], told["totalTokens"]) == (2, 9)


def test_a_denial_names_its_session_and_target_where_it_has_them() -> None:
    denial = Denial(at=1, operation="history", principal=OWNER, rule="r", reason="why")
    assert "sessionKey" not in denial_row(denial, SCANNER)
    named = denial_row(
        Denial(at=1, operation="history", principal=OWNER, rule="r", reason="w", caller=MAIN, target="t"),
        SCANNER,
    )
    assert (named["sessionKey"], named["target"]) == ("agent:main:main", "t")


def test_an_exchange_is_sent_or_received_as_it_is_seen_from() -> None:
    exchange = Exchange(
        id="x",
        requester=MAIN,
        target=OPS,
        request="say",
        created_at=1,
        max_turns=5,
        phase=Phase.DONE,
        state=ExchangeState.REPLIED,
        first_reply="yes",
        sent=Sent(run_id="r-1"),
    )
    told = exchange_row(exchange, MAIN, SCANNER)
    assert (told["direction"], told["state"], told["firstReply"], told["runId"]) == (
        "sent",
        "replied",
        "yes",
        "r-1",
    )
    assert exchange_row(exchange, OPS, SCANNER)["direction"] == "received"


@pytest.mark.requirement("P24")
def test_what_sessions_said_to_each_other_and_why_something_was_refused_shows_no_secret() -> None:
    key = f"ghp_{mixed(36)}"
    exchange = Exchange(
        id="x", requester=MAIN, target=OPS, request=f"use {key}", created_at=1, max_turns=5, first_reply=key
    )
    denial = Denial(at=1, operation="history", principal=OWNER, rule="r", reason=f"not with {key}")
    assert key not in f"{exchange_row(exchange, MAIN, SCANNER)} {denial_row(denial, SCANNER)}"
