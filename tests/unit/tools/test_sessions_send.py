import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from roost.core.effects import Archive, ChangeSession, DeleteSession, KillInput, PutExchange, QueueRun
from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.remotes import BEYOND
from roost.core.runs import Cause, Request, RunKind
from roost.core.sending import SendRules
from roost.core.sessions import Labels
from roost.core.visibility import Level
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.tools.sessions_send import SessionsSend
from tests.contract.scenes import change
from tests.unit.tools.calls import nowhere, text_of
from tests.unit.tools.houses import ALICE, ALICES, CHILD, EVERYONE, OPS, SCANNER, SIDE, House, id_of
from tests.waiting import until_all_wait

NEW = SessionKey.named("new", "main")


@pytest.fixture
async def house() -> House:
    house = House()
    await house.family()
    await sends(house)
    house.seeing(Level.ALL, EVERYONE)
    return house


async def sends(house: House, request: Request | None = None, hops: tuple[SessionKey, ...] = ()) -> None:
    """The run from which all calls come."""
    run = replace(builders.run("r1", house.key), request=request or Request())
    cause = Cause(principal=house.principal, kind=ProvenanceKind.HUMAN, trace="t1", hops=hops)
    await change(house.store, QueueRun(run=replace(run, cause=cause)), key=house.key)


def tool(house: House) -> SessionsSend:
    rules = SendRules(agents=frozenset({"main", "ops", "new"}), remotes=frozenset({"office"}))
    return SessionsSend(house.access, SCANNER, rules)


async def sent(house: House, **arguments: Any) -> dict[str, Any]:
    return await house.ask(tool(house), **{"message": "hi", "timeoutSeconds": 0, **arguments})


async def exchange_of(house: House, told: dict[str, Any]) -> Exchange:
    found = await house.store.exchange(told["messageId"])
    assert found is not None
    return found


@pytest.mark.requirement("D02", "D13", "D58")
@pytest.mark.parametrize(
    ("named", "key"),
    [
        ({"sessionKey": str(SIDE)}, SIDE),
        ({"sessionKey": id_of(SIDE)}, SIDE),
        ({"sessionKey": "side"}, SIDE),
        ({"sessionKey": str(OPS)}, OPS),
        ({"agentId": "Ops "}, OPS),
        ({"sessionKey": str(CHILD)}, CHILD),
        ({"sessionKey": "main"}, MAIN),
        ({"agentId": "new"}, NEW),
    ],
)
async def test_a_session_is_named_by_key_alias_id_or_agent(
    house: House, named: dict[str, str], key: SessionKey
) -> None:
    told = await sent(house, **named)
    found = await exchange_of(house, told)
    assert (found.target, found.requester, found.request) == (key, MAIN, "hi")
    assert (told["status"], told["targetDisposition"], told["state"]) == ("accepted", "queued", "accepted")
    assert told["sessionKey"] == ("main" if key == MAIN else str(key))
    assert told["delivery"]["status"] == ("skipped" if key == CHILD else "pending")
    assert [run.id for run in await house.store.active_runs(key) if run.id != "r1"] == [told["runId"]]


async def test_a_label_means_one_session_of_any_or_of_a_named_agent(house: House) -> None:
    for key, label in ((SIDE, "research"), (OPS, "research"), (CHILD, "mine")):
        await change(house.store, ChangeSession(key=key, labels=Labels(label=label)), key=key)
    assert (await exchange_of(house, await sent(house, label="mine"))).target == CHILD
    assert (await exchange_of(house, await sent(house, label="research", agentId="ops"))).target == OPS
    several = await house.refused(tool(house), message="hi", label="research")
    assert str(SIDE) in several["error"]
    absent = await house.refused(tool(house), message="hi", label="nothing")
    assert (absent["status"], "runId" in absent) == ("error", True)
    house.seeing(Level.TREE)
    hidden = await house.refused(tool(house), message="hi", label="research")
    assert (hidden["status"], "tools.sessions.visibility" in hidden["error"]) == ("forbidden", True)


@pytest.mark.requirement("P6")
async def test_the_same_call_sends_once_and_answers_with_what_became_of_the_first(house: House) -> None:
    first = await sent(house, sessionKey=str(SIDE))
    found = await exchange_of(house, first)
    running = replace(found, state=ExchangeState.RUNNING)
    await change(house.store, PutExchange(exchange=running), key=SIDE)
    again = await sent(house, sessionKey=str(SIDE))
    assert again == {**first, "state": "running"}
    assert len(await house.store.active_runs(SIDE)) == 1
    other = await sent(house, sessionKey=str(SIDE), message="other")
    assert other["messageId"] != first["messageId"]
    assert len(await house.store.active_runs(SIDE)) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sessionKey": "main"}, "`message` is missing"),
        ({"sessionKey": "main", "message": " "}, "`message` is empty"),
        ({"sessionKey": "main", "message": "x" * 100_001}, "more than 100000"),
        ({"message": "hi"}, "no session was named"),
        ({"message": "hi", "sessionKey": "main", "agentId": "ops"}, "give one of them"),
        ({"message": "hi", "label": "x" * 513}, "at most 512"),
        ({"message": "hi", "sessionKey": "side", "timeoutSeconds": -1}, "timeoutSeconds"),
        ({"message": "hi", "sessionKey": "side", "mode": "steer"}, "takes no `mode`"),
        ({"messageId": "m1", "message": "hi"}, "sends none"),
        ({"messageId": "m1"}, "that this session sent is kept"),
        ({"mailbox": 5, "messageId": "m1"}, "sends none"),
        ({"mailbox": 0}, "1 or more"),
    ],
)
async def test_a_wrong_call_is_an_input_error_and_sends_nothing(
    house: House, arguments: dict[str, Any], words: str
) -> None:
    outcome = await house.call(tool(house), **arguments)
    assert outcome.is_error
    assert words in text_of(outcome)
    assert await house.store.active_runs(SIDE) == ()


@pytest.mark.requirement("D59")
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ({"sessionKey": "main", "timeoutSeconds": 5}, "error", "own reply"),
        (
            {"sessionKey": "agent:main:telegram:group:-100:topic:7"},
            "error",
            "agent:main:telegram:group:-100 instead",
        ),
        ({"sessionKey": "nowhere"}, "error", "no such session"),
        ({"agentId": "no agent"}, "error", "no such session"),
        ({"sessionKey": "agent:"}, "error", "agent:"),
    ],
)
async def test_what_cannot_be_sent_to_is_refused_with_a_run_id(
    house: House, arguments: dict[str, Any], status: str, words: str
) -> None:
    told = await house.refused(tool(house), **{"message": "hi", "timeoutSeconds": 0, **arguments})
    assert told["status"] == status
    assert words in told["error"]
    assert told["runId"]


@pytest.mark.requirement("D59")
async def test_a_thread_is_refused_also_by_its_session_id(house: House) -> None:
    thread = SessionKey.parse("agent:main:slack:channel:c1:thread:17")
    await house.open(thread)
    told = await house.refused(tool(house), message="hi", sessionKey=id_of(thread))
    assert "agent:main:slack:channel:c1 instead" in told["error"]


async def test_an_archived_session_is_not_sent_to(house: House) -> None:
    await change(house.store, Archive(key=SIDE, at=house.clock.now()), key=SIDE)
    assert "archived" in (await house.refused(tool(house), message="hi", sessionKey="side"))["error"]


@pytest.mark.requirement("D68", "P8")
@pytest.mark.parametrize(
    ("level", "arguments", "setting"),
    [
        (Level.TREE, {"sessionKey": "side"}, "tools.sessions.visibility"),
        (Level.AGENT, {"agentId": "ops"}, "tools.sessions.visibility"),
        (Level.ALL, {"agentId": "ops"}, "tools.agentToAgent.enabled"),
        (Level.ALL, {"agentId": "new"}, "tools.agentToAgent.enabled"),
    ],
)
async def test_what_is_out_of_reach_is_forbidden_by_a_setting_and_recorded(
    house: House, level: Level, arguments: dict[str, str], setting: str
) -> None:
    house.seeing(level)
    told = await house.refused(tool(house), message="hi", **arguments)
    assert (told["status"], setting in told["error"]) == ("forbidden", True)
    (denial,) = await house.store.denials(10)
    assert (denial.operation, denial.caller) == ("send", MAIN)


@pytest.mark.requirement("P8", "S17")
async def test_in_a_sandbox_and_for_other_people_refused_and_absent_look_alike(house: House) -> None:
    house.sandboxed = True
    named = (
        {"sessionKey": "side"},
        {"sessionKey": "nowhere"},
        {"agentId": "ops"},
        {"agentId": "stranger"},
        {"label": "x"},
    )
    told = [await house.refused(tool(house), message="hi", **one) for one in named]
    assert len({(one["status"], one["error"]) for one in told}) == 1
    house.sandboxed, house.principal, house.key = False, ALICE, ALICES
    others = [await house.refused(tool(house), message="hi", **one) for one in named]
    assert len({(one["status"], one["error"]) for one in others}) == 1


@pytest.mark.requirement("P15")
async def test_a_cycle_is_refused_and_the_denial_names_it() -> None:
    house = House(key=OPS)
    await house.family()
    house.reach = replace(house.reach, agent="ops")
    house.seeing(Level.ALL, EVERYONE)
    await sends(house, hops=(MAIN, SIDE))
    told = await house.refused(tool(house), message="hi", sessionKey=str(MAIN))
    assert (told["status"], "answer instead" in told["error"]) == ("forbidden", True)
    (denial,) = await house.store.denials(10)
    assert (denial.rule, f"{MAIN} → {SIDE} → {MAIN}" in denial.reason) == ("cycle", True)


@pytest.mark.requirement("P15")
async def test_a_step_of_an_exchange_asks_others_and_each_once() -> None:
    house = House()
    await house.family()
    house.seeing(Level.ALL, EVERYONE)
    replied = Exchange(
        id="x1",
        requester=OPS,
        target=MAIN,
        request="q",
        created_at=0,
        max_turns=5,
        phase=Phase.LOOP,
        state=ExchangeState.REPLIED,
    )
    await change(house.store, PutExchange(exchange=replied), key=MAIN)
    await sends(house, Request(kind=RunKind.EXCHANGE, exchange_id="x1"))
    told = await house.refused(tool(house), message="hi", sessionKey=str(OPS))
    assert "gets your reply" in told["error"]
    assert (await house.ask(tool(house), message="hi", sessionKey="side", timeoutSeconds=0))[
        "state"
    ] == "accepted"
    told = await house.refused(tool(house), message="hi again", sessionKey="side", timeoutSeconds=0)
    assert "asked in this exchange already" in told["error"]
    assert [one.rule for one in await house.store.denials(10)] == ["reply_step"] * 2


async def test_a_run_that_is_not_there_sends_nothing() -> None:
    house = House()
    await house.family()
    assert "no run r1" in (await house.refused(tool(house), message="hi", sessionKey=str(CHILD)))["error"]


@pytest.mark.requirement("D13", "D15", "P6")
async def test_a_wait_that_is_over_says_what_it_waited_for_and_leaves_the_message(house: House) -> None:
    told: list[dict[str, Any]] = []

    async def ask() -> None:
        told.append(await house.ask(tool(house), message="hi", sessionKey="side", timeoutSeconds=90))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        for milliseconds in (60_000, 29_999):
            await until_all_wait()
            house.clock.advance(milliseconds)
        await until_all_wait()
        assert told == []
        house.clock.advance(1)
    (over,) = told
    assert (over["status"], over["state"], over["sentBeforeError"]) == ("timeout", "accepted", True)
    assert "within 90 s" in over["error"]
    assert not (await exchange_of(house, over)).sent.awaited


@pytest.mark.parametrize("reply", ["x" * 40_000, "key: sk-" + "a1B2c3D4" * 5])
@pytest.mark.requirement("P6", "P24")
async def test_a_reply_is_cut_and_masked(house: House, reply: str) -> None:
    sent_before = await sent(house, sessionKey="side")
    exchange = await exchange_of(house, sent_before)
    replied = replace(exchange, state=ExchangeState.REPLIED, first_reply=reply)
    await change(house.store, PutExchange(exchange=replied), key=SIDE)
    told = await house.ask(tool(house), messageId=sent_before["messageId"])
    assert told["status"] == "ok"
    assert len(told["reply"]) <= 32_000
    assert told.get("contentTruncated", False) is (len(reply) > 32_000)
    assert told.get("contentRedacted", False) is ("sk-" in reply)


async def test_only_the_session_that_sent_a_message_may_ask_about_it(house: House) -> None:
    told = await sent(house, sessionKey="side")
    house.key = SIDE
    outcome = await house.call(tool(house), messageId=told["messageId"])
    assert "that this session sent is kept" in text_of(outcome)


async def test_a_target_that_is_deleted_ends_the_wait(house: House) -> None:
    told: list[dict[str, Any]] = []

    async def ask() -> None:
        told.append(await house.refused(tool(house), message="hi", sessionKey="side", timeoutSeconds=90))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until_all_wait()
        (run,) = await house.store.active_runs(SIDE)
        exchange = run.request.exchange_id
        assert exchange is not None
        dead = KillInput(inbound_id=exchange, reason="deleted")
        await change(house.store, builders.done(run.id), dead, DeleteSession(key=SIDE), key=SIDE)
    assert (told[0]["status"], "is gone" in told[0]["error"]) == ("error", True)


@pytest.mark.parametrize(
    ("parts", "status", "words"),
    [
        ({"state": ExchangeState.REPLIED}, "no_reply", "without a visible reply"),
        ({"state": ExchangeState.FAILED, "error": f"no sk-{'a1B2' * 8}"}, "error", '"no sk-a1B…a1B2"'),
        ({"state": ExchangeState.EXPIRED, "error": "too late"}, "error", "too late"),
    ],
)
@pytest.mark.requirement("D13", "P6", "P24")
async def test_what_became_of_a_message_is_told_by_its_state(
    house: House, parts: dict[str, Any], status: str, words: str
) -> None:
    before = await sent(house, sessionKey="side")
    await change(
        house.store, PutExchange(exchange=replace(await exchange_of(house, before), **parts)), key=SIDE
    )
    outcome = await house.call(tool(house), messageId=before["messageId"])
    told = json.loads(text_of(outcome))
    assert (told["status"], told["state"], outcome.is_error) == (
        status,
        str(parts["state"]),
        status == "error",
    )
    assert words in text_of(outcome)
    assert told["delivery"]["status"] == "skipped"
    assert {"runId", "messageId", "sessionKey"} <= told.keys()


async def test_a_reply_ends_the_wait(house: House) -> None:
    told: list[dict[str, Any]] = []

    async def ask() -> None:
        told.append(await house.ask(tool(house), message="hi", sessionKey="side", timeoutSeconds=90))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until_all_wait()
        (run,) = await house.store.active_runs(SIDE)
        found = await house.store.exchange(run.request.exchange_id or "")
        assert found is not None
        replied = replace(found, state=ExchangeState.REPLIED, first_reply="yes")
        await change(house.store, PutExchange(exchange=replied), key=SIDE)
    assert (told[0]["status"], told[0]["reply"]) == ("ok", "yes")


@pytest.mark.requirement("F6")
async def test_a_message_to_another_gateway_is_kept_for_its_couriers(house: House) -> None:
    told = await sent(house, sessionKey="office/main")
    assert (told["status"], told["sessionKey"]) == ("accepted", "office/main")
    assert told["delivery"]["status"] == "skipped"
    (kept,) = await house.store.remote_exchanges(5)
    assert (kept.id, kept.sent.run_id) == (told["messageId"], told["runId"])
    assert await sent(house, sessionKey="office/main") == told
    assert await house.store.remote_exchanges(5) == (kept,)


@pytest.mark.requirement("F6", "P15")
async def test_what_came_from_another_gateway_is_sent_to_none() -> None:
    house = House()
    await house.family()
    await sends(house, hops=(BEYOND,))
    house.seeing(Level.ALL, EVERYONE)
    told = await house.refused(tool(house), message="hi", sessionKey="office/main")
    assert (told["status"], "answer instead" in told["error"]) == ("forbidden", True)
    assert (await sent(house, sessionKey="side"))["status"] == "accepted"


@pytest.mark.requirement("F6", "P15")
async def test_a_turn_of_an_exchange_asks_another_gateway_once(house: House) -> None:
    before = await exchange_of(house, await sent(house, sessionKey="side"))
    turning = replace(before, id="turning", state=ExchangeState.REPLIED, phase=Phase.LOOP, requester=OPS)
    await change(house.store, PutExchange(exchange=turning), key=SIDE)
    own = replace(
        builders.run("r2", house.key), request=Request(kind=RunKind.EXCHANGE, exchange_id="turning")
    )
    await change(house.store, QueueRun(run=own), key=house.key)
    first = replace(
        house.invocation({"message": "hi", "sessionKey": "office/main", "timeoutSeconds": 0}), run_id="r2"
    )
    assert not (await tool(house).run(first, nowhere)).is_error
    assert not (await tool(house).run(first, nowhere)).is_error
    again = await tool(house).run(replace(first, call_id="another"), nowhere)
    assert (again.is_error, "was asked in this exchange already" in text_of(again)) == (True, True)
