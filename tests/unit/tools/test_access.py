"""From a name to a session, through the guard."""

from dataclasses import replace

import pytest

from roost.core.effects import ChangeSession
from roost.core.errors import Forbidden, InvalidInput, NotFound, RoostError
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, Principal
from roost.core.queries import SessionQuery
from roost.core.remotes import RemoteSession
from roost.core.scopes import SessionScope
from roost.core.sessions import Labels
from roost.core.visibility import ABSENT_TEXT, SANDBOX_TEXT, AgentToAgent, Level, Operation
from roost.testing.builders import MAIN
from tests.contract.scenes import change
from tests.unit.tools.houses import ALICE, ALICES, CHILD, EVERYONE, GRANDCHILD, OPS, SIDE, House, id_of

GLOBAL = SessionKey.parse("global")


async def find(house: House, name: str, operation: Operation = Operation.HISTORY) -> SessionKey:
    found = await house.access.find(operation, name, house.invocation({}))
    return found.session.key


async def refusal(house: House, name: str, operation: Operation = Operation.HISTORY) -> tuple[type, str]:
    with pytest.raises((Forbidden, NotFound)) as refused:
        await find(house, name, operation)
    assert isinstance(refused.value, RoostError)
    return type(refused.value), str(refused.value)


@pytest.mark.requirement("D02", "D03", "D10", "D62")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("main", MAIN),
        (" Current ", MAIN),
        ("agent:main:main", MAIN),
        (id_of(MAIN), MAIN),
        ("side", SIDE),
        ("telegram:direct:7", ALICES),
        ("agent:main:telegram:dm:7", ALICES),
        (id_of(GRANDCHILD), GRANDCHILD),
    ],
)
async def test_a_session_is_found_by_key_alias_and_id(house: House, name: str, key: SessionKey) -> None:
    house.seeing(Level.AGENT)
    assert await find(house, name) == key


@pytest.mark.requirement("D03")
@pytest.mark.parametrize(
    "name",
    [
        "agent:main:telegram:group:-100",
        "agent:main:telegram:group:-100:topic:7",
        "agent:main:discord:channel:c0ffee",
        "agent:main:matrix:channel:!Room:example.org",
        "agent:main:slack:channel:c1:thread:17.5",
    ],
)
async def test_a_key_of_a_group_or_channel_is_taken_whole_and_as_it_is(house: House, name: str) -> None:
    house.seeing(Level.AGENT)
    key = SessionKey.parse(name)
    await house.open(key)
    assert await find(house, str(key)) == key
    other = name.replace("R", "r").replace("C", "c")
    assert name == other or (await refusal(house, other))[0] is NotFound


@pytest.mark.requirement("D10")
async def test_an_id_names_its_generation_and_a_key_names_none(house: House) -> None:
    await house.reset()
    old = await house.access.find(Operation.HISTORY, id_of(MAIN), house.invocation({}))
    assert (old.session.key, old.session_id) == (MAIN, id_of(MAIN))
    assert old.session.session_id != old.session_id
    assert (await house.access.find(Operation.HISTORY, "main", house.invocation({}))).session_id is None


async def test_a_malformed_name_is_the_callers_mistake_and_no_refusal(house: House) -> None:
    with pytest.raises(InvalidInput):
        await find(house, "agent:x")
    assert await house.store.denials(10) == ()


@pytest.mark.requirement("D62")
async def test_the_name_of_a_client_is_no_session(house: House) -> None:
    assert "name of a client" in (await refusal(house, "webchat"))[1]


@pytest.mark.requirement("D10")
async def test_what_is_not_there_is_not_found_and_nothing_was_refused(house: House) -> None:
    kind, words = await refusal(house, "0198c0de-0000-7000-8000-000000000001")
    assert kind is NotFound
    assert ABSENT_TEXT in words
    assert await house.store.denials(10) == ()


@pytest.mark.requirement("P8", "D68", "S17")
async def test_a_refusal_names_the_setting_and_is_recorded(house: House) -> None:
    kind, words = await refusal(house, id_of(SIDE))
    assert (kind, "tools.sessions.visibility" in words) == (Forbidden, True)
    (denial,) = await house.store.denials(10)
    assert (denial.operation, denial.rule, denial.caller) == ("history", "tree_visibility_restricted", MAIN)
    assert (denial.target, denial.at) == (str(SIDE), house.clock.now())
    assert "tools.sessions.visibility" in denial.reason


@pytest.mark.requirement("P8", "S17", "S20")
@pytest.mark.parametrize("name", [str(SIDE), id_of(SIDE), id_of(OPS), str(CHILD)])
async def test_what_is_other_peoples_looks_as_if_it_were_not_there(house: House, name: str) -> None:
    house.key, house.principal = ALICES, ALICE
    house.seeing(Level.ALL, EVERYONE)
    assert await refusal(house, name) == await refusal(house, "nowhere")
    (denial,) = await house.store.denials(10)
    assert denial.rule == "other_principal"


@pytest.mark.requirement("P8", "D30", "S17")
@pytest.mark.parametrize("name", [str(SIDE), id_of(OPS), "nowhere", "unknown", "webchat"])
async def test_in_a_sandbox_denied_and_absent_are_told_alike_and_both_recorded(
    house: House, name: str
) -> None:
    house.sandboxed = True
    house.seeing(Level.ALL, EVERYONE)
    assert await refusal(house, name) == (Forbidden, SANDBOX_TEXT)
    assert len(await house.store.denials(10)) == 1
    assert await find(house, str(GRANDCHILD)) == GRANDCHILD


async def test_a_name_means_the_session_that_may_be_had_before_one_that_may_not(house: House) -> None:
    await house.open(SessionKey.named("main", id_of(CHILD)))
    assert await find(house, id_of(CHILD)) == CHILD
    house.seeing(Level.AGENT)
    assert await find(house, id_of(CHILD)) != CHILD


@pytest.mark.requirement("D05")
async def test_reserved_sessions_are_found_by_no_name(house: House) -> None:
    house.seeing(Level.ALL, EVERYONE)
    await house.open(GLOBAL)
    for name in ("global", id_of(GLOBAL), "unknown"):
        assert (await refusal(house, name))[0] is NotFound


@pytest.mark.requirement("D05")
async def test_under_the_global_scope_the_one_session_is_main_both_ways(house: House) -> None:
    await house.open(GLOBAL)
    house.key = GLOBAL
    house.reach = replace(house.reach, scope=SessionScope.GLOBAL)
    assert await find(house, "main") == await find(house, "global") == await find(house, "current") == GLOBAL
    assert house.access.shown(GLOBAL, house.invocation({})) == "main"


@pytest.mark.requirement("P8")
async def test_what_may_be_seen_may_not_always_be_changed(house: House) -> None:
    house.key, house.principal = ALICES, ALICE
    invocation = house.invocation({})
    own = await house.access.find(Operation.STATUS, "current", invocation)
    await house.access.require(Operation.PATCH, own, invocation)
    with pytest.raises(Forbidden):
        await house.access.require(Operation.EXPORT, own, invocation)
    assert (await house.store.denials(1))[0].rule == "not_for_tools"
    house.access.require_own(Operation.SPAWN, own.session, invocation)
    with pytest.raises(Forbidden):
        house.access.require_own(Operation.EXPORT, own.session, invocation)


@pytest.mark.requirement("P8")
async def test_of_given_keys_only_those_in_sight_are_visible(house: House) -> None:
    everything = frozenset({MAIN, CHILD, GRANDCHILD, SIDE, OPS, ALICES})
    invocation = house.invocation({})
    assert await house.access.visible(everything, invocation) == {MAIN, CHILD, GRANDCHILD}
    assert await house.access.visible(frozenset(), invocation) == frozenset()


async def beyond(house: House, text: str) -> None:
    remote = RemoteSession.parse(text)
    assert remote is not None
    await house.access.beyond(remote, {"office"}, house.invocation({}))


@pytest.mark.requirement("F6")
async def test_another_gateway_is_reached_by_the_name_it_has(house: House) -> None:
    house.seeing(Level.ALL, EVERYONE)
    await beyond(house, "office/main")
    with pytest.raises(NotFound, match=r"there is no gateway offce .did you mean office/main"):
        await beyond(house, "offce/main")
    assert await house.store.denials(5) == ()


@pytest.mark.requirement("F6", "P8")
@pytest.mark.parametrize("name", ["office/main", "offce/main"])
async def test_who_may_not_reach_another_gateway_learns_nothing_of_it(house: House, name: str) -> None:
    house.seeing(Level.ALL, EVERYONE)
    house.sandboxed = True
    with pytest.raises(Forbidden, match=SANDBOX_TEXT):
        await beyond(house, name)
    house.sandboxed, house.principal = False, ALICE
    with pytest.raises(NotFound, match=ABSENT_TEXT):
        await beyond(house, name)


@pytest.mark.requirement("F6")
async def test_a_refusal_to_reach_another_gateway_names_its_setting_and_is_recorded(house: House) -> None:
    house.seeing(Level.ALL, AgentToAgent(enabled=True, allow=frozenset({"main"})))
    with pytest.raises(Forbidden, match=r"tools\.agentToAgent\.allow"):
        await beyond(house, "office/main")
    (denial,) = await house.store.denials(5)
    assert (denial.target, denial.rule) == ("office/main", "agent_to_agent_not_allowed")


async def called(house: House, name: str, label: str, owner: Principal = OWNER) -> None:
    key = SessionKey.named("main", name)
    await house.open(key, owner=owner)
    await change(house.store, ChangeSession(key=key, labels=Labels(label=label)), key=key)


async def unlabelled(house: House, label: str) -> tuple[type, str]:
    with pytest.raises((Forbidden, NotFound)) as refused:
        await house.access.labelled(Operation.SEND, label, None, house.invocation({}))
    return type(refused.value), str(refused.value)


@pytest.mark.requirement("P8", "S20")
async def test_the_label_of_somebody_elses_session_means_nothing_even_to_who_sees_it(house: House) -> None:
    house.seeing(Level.AGENT)
    await called(house, "hers", "bank", ALICE)
    listed = SessionQuery(scope=house.access.scope(Operation.LIST, house.invocation({})), label="bank")
    assert len((await house.store.list_sessions(listed)).rows) == 1
    assert await unlabelled(house, "bank") == await unlabelled(house, "nothing")
    await called(house, "his", "bank")
    found = await house.access.labelled(Operation.SEND, "bank", None, house.invocation({}))
    assert found.session.key == SessionKey.named("main", "his")


@pytest.mark.requirement("P8", "S17")
async def test_a_label_that_others_use_too_is_refused_as_if_they_did_not(house: House) -> None:
    house.key, house.principal = ALICES, ALICE
    await called(house, "hers", "bank", ALICE)
    alone = await unlabelled(house, "bank")
    assert "tools.sessions.visibility" in alone[1]
    await called(house, "his", "bank")
    await called(house, "secret", "secret")
    assert await unlabelled(house, "bank") == alone
    assert await unlabelled(house, "secret") == await unlabelled(house, "nothing")
    newest, *_ = await house.store.denials(10)
    assert (newest.rule, newest.hidden) == ("other_principal", True)
