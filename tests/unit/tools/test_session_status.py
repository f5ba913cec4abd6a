"""`session_status`: how a session stands, and which model it uses."""

from dataclasses import replace
from typing import Any

import pytest

from roost.core.casting import ModelChain, Persona, answering
from roost.core.catalogue import Catalogue
from roost.core.effects import (
    ChangeSession,
    OweCompletion,
    PutExchange,
    QueueRun,
    SettleCompletion,
)
from roost.core.errors import NotFound
from roost.core.exchanges import Completion, CompletionStatus, Exchange
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Provenance, ProvenanceKind, Usage
from roost.core.models import ModelRef, ModelSpec
from roost.core.principals import OWNER
from roost.core.runs import Request, RunKind
from roost.core.sessions import Counters, Lineage, Overrides, Session
from roost.core.statuscard import AnsweringModel
from roost.core.terms import Terms
from roost.core.visibility import SANDBOX_TEXT, Level
from roost.testing import builders
from roost.testing.builders import MAIN, answered, said
from roost.tools.session_status import Models, SessionStatus
from tests.contract.scenes import change, known
from tests.unit.tools.calls import error_of, text_of
from tests.unit.tools.houses import ALICE, CHILD, GRANDCHILD, OPS, SIDE, House, id_of

CRON = SessionKey.parse("agent:main:cron:nightly")
MODELS = {
    "demo/demo": ModelSpec(ref=ModelRef("demo", "demo"), context_window=8_000, max_tokens=100),
    "local/small": ModelSpec(ref=ModelRef("local", "small"), context_window=4_000, max_tokens=100),
}

PERSONA = Persona(agent="main", models=ModelChain(primary="demo/demo"), reason="the model of agent main")


def find(name: str) -> ModelSpec:
    known_by = {**MODELS, "tiny": MODELS["local/small"]}
    if name not in known_by:
        raise NotFound(f"there is no model {name}", hint="there are: demo/demo, local/small")
    return known_by[name]


def tool(house: House) -> SessionStatus:
    def now(session: Session) -> AnsweringModel:
        return answering(session, PERSONA, Catalogue(MODELS.values()))

    return SessionStatus(house.access, Models(find=find, answering=now))


async def card(house: House, **arguments: Any) -> list[str]:
    outcome = await house.call(tool(house), **arguments)
    assert not outcome.is_error, text_of(outcome)
    return text_of(outcome).splitlines()


async def details(house: House, **arguments: Any) -> dict[str, Any]:
    outcome = await house.call(tool(house), **arguments)
    assert not outcome.is_error, text_of(outcome)
    return dict(outcome.details or {})


async def set_up(house: House, key: SessionKey = MAIN, **parts: Any) -> None:
    await change(house.store, ChangeSession(key=key, **parts), key=key)


# -- what is told ------------------------------------------------------------------------------------


@pytest.mark.requirement("D62")
async def test_without_a_name_the_current_session_is_shown(house: House) -> None:
    house.key = CHILD
    assert (await card(house))[0] == (await card(house, sessionKey="current"))[0]
    assert (await card(house))[0].startswith(f"Session: {CHILD} ")


@pytest.mark.requirement("D62")
async def test_a_card_tells_model_context_usage_and_time(house: House) -> None:
    await set_up(house, counters=Counters(total=400))
    usage = Usage(input=10, output=5, total=15, cost_micros=2_000_000)
    row = LedgerRow(
        id="l1",
        at=1,
        key=MAIN,
        session_id=id_of(MAIN),
        principal=OWNER,
        run_id="r1",
        run_kind=RunKind.TURN,
        provider="demo",
        model="demo",
        usage=usage,
    )
    await house.store.record_usage(row)
    lines = await card(house)
    assert "Model: demo/demo (the model of agent main)" in lines
    assert "Context: 400 of 8,000 tokens (5%)" in lines
    assert "Usage: 1 model calls, 10 tokens in, 5 out, 0 from cache, $2.0000" in lines
    assert any(line.startswith("Time: 2025-06-15 ") for line in lines)


@pytest.mark.requirement("D62")
async def test_a_count_the_row_lacks_is_taken_from_the_transcript() -> None:
    house = House()
    await house.open(MAIN, said("a", "hi"), answered("b", "hello", usage=Usage(total=77)), said("c", "so?"))
    await set_up(house, counters=Counters(output=1))
    assert "Context: 77 of 8,000 tokens (1%)" in await card(house)
    await set_up(house, counters=Counters(total=80))
    assert "Context: 80 of 8,000 tokens (1%)" in await card(house)


async def test_what_nothing_counted_is_told_as_unknown(house: House) -> None:
    assert "Context: not counted yet, of 8,000 tokens" in await card(house)


@pytest.mark.requirement("D62")
async def test_active_children_are_linked_work_and_those_that_ended_are_not(house: House) -> None:
    for name, child in (("r-1", CHILD), ("r-2", GRANDCHILD)):
        owed = Completion(child_run=name, child=child, requester=MAIN, batch="b", created_at=1)
        await change(house.store, OweCompletion(completion=owed))
    settled = SettleCompletion(child_run="r-2", status=CompletionStatus.OK, at=2)
    await change(house.store, settled)
    assert (await card(house))[-1] == f"Linked work: child {CHILD}"
    house.seeing(Level.SELF)
    assert not any(line.startswith("Linked work") for line in await card(house))


@pytest.mark.requirement("D62")
async def test_the_job_or_exchange_that_owns_the_run_is_linked_work(house: House) -> None:
    house.seeing(Level.AGENT)
    await house.open(CRON)
    assert (await card(house, sessionKey=str(CRON)))[-1] == "Linked work: cron job nightly"
    for number, requester in enumerate((SIDE, OPS)):
        exchange = Exchange(
            id=f"x{number}", requester=requester, target=MAIN, request="?", created_at=1, max_turns=5
        )
        asked = Request(kind=RunKind.EXCHANGE, exchange_id=exchange.id)
        queued = QueueRun(run=builders.run(f"q{number}", request=asked))
        await change(house.store, PutExchange(exchange=exchange), queued)
    lines = await card(house)
    assert lines[1] == "Status: queued, 2 waiting"
    assert lines[-1] == f"Linked work: exchange x0 (accepted) asked for by {SIDE}; exchange x1 (accepted)"


@pytest.mark.requirement("D62")
@pytest.mark.parametrize(
    ("tool_name", "named"),
    [
        ("cron:weather", "Linked work: cron job weather"),
        ("hook:github", "Linked work: hook github"),
        ("heartbeat", "Linked work: heartbeat"),
        ("sessions_send", None),
    ],
)
async def test_the_job_hook_or_look_around_that_a_run_was_started_for_is_linked_work(
    tool_name: str, named: str | None
) -> None:
    house = House()
    provenance = Provenance(kind=ProvenanceKind.SCHEDULE, source_tool=tool_name)
    asked = replace(said("e1", "look", provenance=provenance), run_id="r1")
    await house.open(MAIN, asked, said("e2", "hi"))
    await change(house.store, QueueRun(run=builders.run("r1")))
    lines = [line for line in await card(house) if line.startswith("Linked work")]
    assert lines == ([] if named is None else [named])


@pytest.mark.requirement("D62", "S17", "P8")
async def test_status_is_guarded_like_every_other_reader(house: House) -> None:
    for name in (str(SIDE), id_of(SIDE)):
        refused = await house.refused(tool(house), sessionKey=name)
        assert refused["status"] == "forbidden"
    assert {denial.operation for denial in await house.store.denials(5)} == {"status"}
    assert (await house.refused(tool(house), sessionKey="nowhere"))["status"] == "error"
    assert "client" in (await house.refused(tool(house), sessionKey="webchat"))["error"]
    house.sandboxed = True
    assert (await house.refused(tool(house), sessionKey=id_of(SIDE)))["error"] == SANDBOX_TEXT


async def test_details_hold_what_a_program_would_ask_for(house: House) -> None:
    told = await details(house)
    assert (told["ok"], told["sessionKey"], told["agentId"]) == (True, "main", "main")
    assert (told["changedModel"], told["model"], told["modelOverride"]) == (False, "demo/demo", None)
    assert (told["active"], told["deliveryContext"]) == (False, None)
    assert told["stateVersion"] == (await known(house.store)).version
    await house.store.change_session(MAIN, lambda _: (ChangeSession(key=MAIN, route=builders.CHAT),))
    assert (await details(house))["deliveryContext"]["channel"] == "loopback"


# -- the model ---------------------------------------------------------------------------------------


@pytest.mark.requirement("D62", "P18")
async def test_a_model_is_set_by_any_of_its_names_and_cleared_by_default(house: House) -> None:
    told = await details(house, model="tiny")
    assert (told["changedModel"], told["modelOverride"], told["model"]) == (
        True,
        "local/small",
        "local/small",
    )
    assert "Model: local/small (set on this session)" in await card(house)
    assert (await known(house.store)).overrides == Overrides(model="local/small")
    cleared = await details(house, model="Default")
    assert (cleared["changedModel"], cleared["modelOverride"], cleared["model"]) == (True, None, "demo/demo")


@pytest.mark.requirement("P18")
async def test_setting_the_same_model_again_changes_nothing(house: House) -> None:
    await details(house, model="tiny")
    before = await known(house.store)
    assert (await details(house, model="local/small"))["changedModel"] is False
    assert await known(house.store) == before


@pytest.mark.requirement("P18")
async def test_a_model_that_cannot_be_had_is_refused_and_nothing_changes(house: House) -> None:
    before = await known(house.store)
    refused = await house.refused(tool(house), model="gpt")
    assert (refused["status"], "demo/demo, local/small" in refused["error"]) == ("error", True)
    assert await known(house.store) == before


async def test_a_model_that_is_gone_is_told_as_such(house: House) -> None:
    await set_up(house, overrides=Overrides(model="gone/away"), counters=Counters(context_window=123))
    lines = await card(house)
    assert "Model: gone/away (set on this session; it cannot be used now)" in lines
    assert "Context: not counted yet, of 123 tokens" in lines


@pytest.mark.requirement("D62", "P18")
async def test_of_a_child_the_model_is_told_that_it_was_given_when_it_was_spawned() -> None:
    house = House()
    await house.open(MAIN)
    child = builders.session(CHILD, parent=MAIN)
    terms = Terms(model="local/small")
    row = child._replace(lineage=Lineage(parent=MAIN, depth=1, terms=terms))
    await change(house.store, builders.opening(row, "child-1"), key=CHILD)
    lines = await card(house, sessionKey=str(CHILD))
    assert "Model: local/small (given to this session when it was spawned)" in lines
    assert (await details(house, sessionKey=str(CHILD)))["model"] == "local/small"


@pytest.mark.requirement("P18", "P16")
@pytest.mark.parametrize("cause", [ProvenanceKind.INTER_SESSION, ProvenanceKind.SCHEDULE])
async def test_only_a_persons_word_sets_a_model(house: House, cause: ProvenanceKind) -> None:
    house.cause = cause
    assert (await house.refused(tool(house), model="tiny"))["status"] == "forbidden"
    assert (await known(house.store)).overrides == Overrides()
    assert (await card(house))[0].startswith("Session: main")


@pytest.mark.requirement("P8")
async def test_a_session_that_is_seen_is_not_changed_without_the_right_to(house: House) -> None:
    house.principal = ALICE
    assert (await card(house, sessionKey=str(CHILD)))[0].startswith(f"Session: {CHILD}")
    assert (await house.refused(tool(house), sessionKey=str(CHILD), model="tiny"))["status"] == "error"
    assert (await known(house.store, CHILD)).overrides == Overrides()


async def test_wrong_arguments_are_an_outcome_that_says_how(house: House) -> None:
    assert "`model` must be text" in error_of(await house.call(tool(house), model=5))


def test_its_name_and_that_it_may_run_again() -> None:
    assert SessionStatus.spec.name == "session_status"
    assert SessionStatus.traits.reenterable
