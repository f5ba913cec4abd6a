from dataclasses import replace

import pytest

from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow, LedgerTotal
from roost.core.messages import AssistantMessage, Compaction, Notice, Text, ToolCall, ToolResult, Usage
from roost.core.principals import OWNER, person
from roost.core.runs import RunKind
from roost.protocol.convert.facts import (
    MOST_CHARS,
    call_row,
    denial_row,
    exchange_row,
    log_row,
    series,
    totals,
)
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN, said
from tests.credentials import mixed

OPS = SessionKey.named("ops", "main")

SCANNER = StdlibScanner()


ROW = LedgerRow(
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


def test_a_call_is_told_with_its_cost_in_dollars_and_who_caused_it() -> None:
    told = call_row(ROW)
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


def test_the_points_of_a_series_add_up_with_what_came_before_them() -> None:
    first, second = ROW, replace(ROW, at=6, usage=Usage(input=1, output=1, cost_micros=500_000))
    earlier = Usage(input=10, cost_micros=1_000_000)
    whole = LedgerTotal(calls=3, usage=earlier.plus(first.usage).plus(second.usage))
    points = series((second, first), whole)
    assert [(one["timestamp"], one["totalTokens"], one["cost"]) for one in points] == [
        (5, 7, 0.25),
        (6, 2, 0.5),
    ]
    assert [(one["cumulativeTokens"], one["cumulativeCost"]) for one in points] == [(17, 1.25), (19, 1.75)]
    assert points[0]["input"] == 3
    assert series((), LedgerTotal()) == []


def test_a_message_is_logged_with_what_its_call_cost() -> None:
    call = ToolCall(id="c", name="read", arguments={})
    words = AssistantMessage(
        content=(Text("I look"), call), at=2, usage=Usage(input=3, output=4, cost_micros=250_000)
    )
    assert log_row(words, SCANNER) == {
        "timestamp": 2,
        "role": "assistant",
        "content": "I look\n[read]",
        "tokens": 7,
        "cost": 0.25,
    }
    asked = log_row(said("e", "hi").body, SCANNER)
    assert asked is not None
    assert (asked["role"], asked["content"], "cost" in asked) == ("user", "hi", False)
    got = log_row(ToolResult(call_id="c", tool="read", content=(Text("found"),), at=3), SCANNER)
    assert got is not None
    assert (got["role"], got["content"]) == ("toolResult", "found")


def test_what_nobody_said_is_not_logged() -> None:
    compaction = Compaction(summary="s", first_kept_id="e", tokens_before=5, at=1)
    assert [log_row(body, SCANNER) for body in (compaction, Notice(kind="x", at=1, data={}))] == [None, None]


def test_a_logged_line_is_masked_and_then_cut() -> None:
    secret = "sk-" + mixed(30)
    row = log_row(said("e", "x" * (MOST_CHARS - 10) + " " + secret).body, SCANNER)
    assert row is not None
    shown = str(row["content"])
    assert (len(shown), shown[-1]) == (MOST_CHARS, "…")
    assert secret[:8] not in shown


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
