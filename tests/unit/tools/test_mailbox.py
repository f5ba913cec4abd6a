from dataclasses import replace
from typing import Any

import pytest

from roost.core.effects import PutExchange
from roost.core.exchanges import Exchange, ExchangeState, Sent
from roost.core.sending import SendRules
from roost.testing.builders import MAIN
from roost.tools.mailbox import LONGEST_TEXT
from roost.tools.sessions_send import SessionsSend
from tests.contract.scenes import change
from tests.unit.tools.houses import ALICE, ALICES, OPS, SCANNER, SIDE, House

SENT = Exchange(id="x1", requester=MAIN, target=SIDE, request="say", created_at=1, max_turns=0)


async def listed(house: House, newest: int = 10) -> dict[str, Any]:
    return await house.ask(SessionsSend(house.access, SCANNER, SendRules(agents=frozenset())), mailbox=newest)


async def put(house: House, *exchanges: Exchange) -> None:
    for one in exchanges:
        await change(house.store, PutExchange(exchange=one), key=one.target)


@pytest.mark.requirement("F1")
async def test_a_session_lists_what_it_sent_and_was_sent_newest_first(house: House) -> None:
    late = replace(
        SENT,
        id="x2",
        requester=OPS,
        target=MAIN,
        created_at=2,
        deadline=9,
        state=ExchangeState.EXPIRED,
        error="too late",
        sent=Sent(thread="t1"),
    )
    await put(house, SENT, late, replace(SENT, id="x3", requester=OPS, created_at=3))
    found = await listed(house)
    assert (found["count"], found["hasMore"]) == (2, False)
    assert found["messages"] == [
        {
            "messageId": "x2",
            "direction": "received",
            "sessionKey": str(OPS),
            "receipt": "dead",
            "state": "expired",
            "at": 2,
            "deadline": 9,
            "thread": "t1",
            "message": "say",
            "error": "too late",
        },
        {
            "messageId": "x1",
            "direction": "sent",
            "sessionKey": str(SIDE),
            "receipt": "waiting",
            "state": "accepted",
            "at": 1,
            "message": "say",
        },
    ]
    assert [row["messageId"] for row in (await listed(house, 1))["messages"]] == ["x2"]
    assert (await listed(house, 1))["hasMore"] is True


@pytest.mark.requirement("F1", "P24")
async def test_texts_are_cut_and_secrets_masked(house: House) -> None:
    secret = "sk-" + "a1B2" * 12
    await put(house, replace(SENT, request=f"use {secret}", first_reply="x", latest_reply="y" * 1_000))
    (row,) = (await listed(house))["messages"]
    assert secret not in row["message"]
    assert len(row["reply"]) == LONGEST_TEXT + 1


@pytest.mark.requirement("F1", "P8")
async def test_another_session_lists_nothing_of_it(house: House) -> None:
    await put(house, SENT)
    house.key, house.principal = ALICES, ALICE
    assert (await listed(house))["messages"] == []
