"""Several people at one gateway: what one says is in nothing that another is shown, and nobody acts as another."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Account, Address
from roost.core.envelopes import Sender
from roost.core.identities import IdentityLink
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolCall, ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.principals import person
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scopes import DmScope
from roost.core.search import parse_query
from roost.core.sessions import Session
from roost.core.sharing import SHARED_LINE, second_person
from roost.core.tools import Place, ToolTraits
from roost.core.visibility import Operation, PersonCaller, scope
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part
from roost.sandboxes.processes import Processes
from roost.testing.scripts import CallTool, Say, Script
from roost.testing.wires import LocalClient
from roost.tools.exec import Exec
from tests.flows.gateways import BOB, Bench, benches, chat
from tests.flows.served import Gate, gates, send
from tests.flows.test_hooks import RULES, post
from tests.flows.test_jobs import DAILY
from tests.scale import count

CANARY = "canary-7f3a"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches("sqlite", tmp_path) as bench:
        yield bench


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("dm_scope", [one for one in DmScope if one is not DmScope.MAIN])
async def test_what_one_person_said_is_in_no_prompt_list_search_or_history_of_another(
    bench: Bench, dm_scope: DmScope
) -> None:
    bench.change(routing=RoutingRules(dm_scope=dm_scope))
    bench.model.otherwise = (Say("noted"),)
    async with bench.serving():
        await bench.say(f"remember {CANARY}")
        await bench.replies()
        asked = len(bench.model.requests)
        await bench.say(f"what did Ada say about {CANARY[:6]}?", BOB)
        assert await bench.replies(BOB) == ("noted",)
    bob = PersonCaller(principal=person("loopback", "bob"))
    listed = await bench.store.list_sessions(SessionQuery(scope=scope(Operation.LIST, bob)))
    found = await bench.store.search(
        SearchQuery(query=parse_query(CANARY), scope=scope(Operation.SEARCH, bob))
    )
    (own,) = listed.rows
    history = await bench.store.history(HistoryQuery(key=own.key))
    assert found == ()
    assert CANARY in repr(bench.model.requests[:asked])
    assert CANARY not in repr((bench.model.requests[asked:], listed, history))


@pytest.mark.requirement("P2")
async def test_a_second_person_in_the_main_conversation_is_told_to_the_owner_once(bench: Bench) -> None:
    bench.change(house=replace(bench.rules.house, joined=second_person))
    bench.model.otherwise = (Say("noted"),)
    async with bench.serving():
        await bench.say("hello")
        await bench.replies()
        for number in (1, 2):
            await bench.say("me too", BOB)
            await bench.replies(BOB, number)
        assert await bench.replies(at_least=2) == ("noted", SHARED_LINE)
        await bench.say("so?")
        assert await bench.replies(at_least=3) == ("noted", SHARED_LINE, "noted")
        assert await bench.replies(BOB) == ("noted", "noted")


@pytest.mark.parametrize("words", ["/new me too", "/steer me too", "me too /help", "stop"])
async def test_a_second_person_who_begins_with_a_command_is_told_of_too(bench: Bench, words: str) -> None:
    bench.change(house=replace(bench.rules.house, joined=second_person))
    bench.model.otherwise = (Say("noted"),)
    async with bench.serving():
        await bench.say("hello")
        await bench.replies()
        await bench.say(words, BOB)
        assert await bench.replies(at_least=2) == ("noted", SHARED_LINE)


@asynccontextmanager
async def _two_channels(bench: Bench) -> AsyncIterator[tuple[Engine, LoopbackChannel]]:
    other = LoopbackChannel(name="other")
    links = (IdentityLink(name="alice", members=("loopback:u-77",)),)
    door = replace(bench.rules.door(Account("loopback")), links=links)
    bench.change(
        routing=RoutingRules(dm_scope=DmScope.PER_PEER, links=links), doors={"loopback": door, "other": door}
    )
    bench.model.otherwise = (Say("noted"),)
    ids = FreshIds(bench.clock)
    engine = Engine(bench.store, bench.clock, ids, bench.rules, [bench.channel, other], jitter=lambda: 0.0)
    async with engine.serving(Gateway(name="two", holder="two")):
        yield engine, other


async def _prompt(bench: Bench, channel: LoopbackChannel, who: str, text: str) -> str:
    """What the model is shown for somebody's message."""
    await channel.say(text, sender=Sender(id=who), chat=chat(Sender(id=who)))
    await channel.wait_replies(Address(channel=channel.name, to=who), 1)
    return repr(next(one for one in bench.model.requests if text in repr(one)))


@pytest.mark.requirement("P2", "P29")
async def test_one_id_on_two_channels_is_two_people_and_the_second_is_told_apart_by_his_channel(
    bench: Bench,
) -> None:
    async with _two_channels(bench) as (_, other):
        await _prompt(bench, bench.channel, "123", f"remember {CANARY}")
        assert CANARY not in await _prompt(bench, other, "123", "what did I say?")
        first = await bench.store.session(SessionKey.parse("agent:main:direct:123"))
        second = await bench.store.session(SessionKey.parse("agent:main:other:direct:123"))
    assert first is not None
    assert second is not None
    assert (str(first.owner), str(second.owner)) == ("person:loopback:123", "person:other:123")
    assert (second.facts.rule or "").endswith("agent:main:direct:123 is somebody else's")


@pytest.mark.requirement("P2")
async def test_the_session_of_a_link_that_is_gone_is_left_to_nobody_who_has_its_name(bench: Bench) -> None:
    async with _two_channels(bench) as (engine, other):
        await _prompt(bench, bench.channel, "u-77", f"remember {CANARY}")
        doors = {name: replace(door, links=()) for name, door in bench.rules.doors.items()}
        unlinked = RoutingRules(dm_scope=DmScope.PER_PEER)
        await engine.reload(replace(bench.rules, routing=unlinked, doors=doors))
        for channel in (bench.channel, other):
            assert CANARY not in await _prompt(bench, channel, "alice", f"hello from {channel.name}")


@pytest.mark.requirement("P2")
async def test_two_of_one_id_who_write_at_once_are_kept_apart_too(bench: Bench) -> None:
    people = [str(number) for number in range(count(10, 200))]
    async with _two_channels(bench) as (_, other):
        with anyio.fail_after(300):
            async with anyio.create_task_group() as group:
                for one in people:
                    for channel in (bench.channel, other):
                        group.start_soon(_prompt, bench, channel, one, f"{one} on {channel.name}.")
    for one in people:
        prompts = [repr(request) for request in bench.model.requests if f"{one} on " in repr(request)]
        assert not [words for words in prompts if "on loopback." in words and "on other." in words]


def _ask_then_tell(request: ModelRequest) -> Script:
    last = request.messages[-1]
    if isinstance(last, ToolResult):
        return (Say(text_of(last)),)
    return (CallTool(ToolCall(id="c", name="exec", arguments={"command": "printf %s $ROOST_USER"})),)


class ForEverybody(Exec):
    @property
    def traits(self) -> ToolTraits:
        return ToolTraits()


@pytest.mark.requirement("P2")
async def test_of_many_who_speak_at_once_each_tool_call_knows_its_own(bench: Bench, tmp_path: Path) -> None:
    place = Place(workspace=str(tmp_path))
    bench.tools, cast = (ForEverybody(Processes(), sandboxed=False),), bench.cast

    def in_folder(session: Session, run: Run) -> Part:
        return replace(cast(session, run), place=place)

    bench.change(cast=in_folder, routing=RoutingRules(dm_scope=DmScope.PER_PEER))
    bench.model.otherwise = _ask_then_tell
    people = [Sender(id=f"p{number}") for number in range(count(20, 200))]
    async with bench.serving(), anyio.create_task_group() as group:
        for one in people:
            group.start_soon(bench.say, "who am I?", one)
        with anyio.fail_after(300):
            told = {one.id: await bench.replies(one) for one in people}
    assert told == {one.id: (str(person("loopback", one.id or "")),) for one in people}


BOBS = "agent:main:loopback:direct:bob"


async def _sends(gate: Gate, owner: LocalClient) -> None:
    await owner.call("chat.send", send("hello Bob", "n1", sessionKey=BOBS))


async def _asks_the_agent(gate: Gate, owner: LocalClient) -> None:
    said = {"sessionKey": BOBS, "message": "hello Bob", "idempotencyKey": "n1"}
    await owner.call("agent", said)


async def _creates(gate: Gate, owner: LocalClient) -> None:
    await owner.call("sessions.create", {"key": BOBS, "message": "hello Bob"})


async def _sends_to_the_session(gate: Gate, owner: LocalClient) -> None:
    await owner.call("sessions.send", {"key": BOBS, "message": "hello Bob", "idempotencyKey": "n1"})


async def _renames(gate: Gate, owner: LocalClient) -> None:
    await owner.call("sessions.patch", {"key": BOBS, "label": "Bob"})


async def _is_hooked(gate: Gate, owner: LocalClient) -> None:
    assert (await post(gate, "agent", {"message": "hello Bob"})).status_code == 200


async def _sets_a_timer(gate: Gate, owner: LocalClient) -> None:
    job = await owner.call("cron.add", {**DAILY, "sessionTarget": f"session:{BOBS}"})
    await owner.call("cron.run", {"id": job["id"]})


@pytest.mark.requirement("F5", "P2")
@pytest.mark.parametrize(
    "opens",
    [
        _sends,
        _asks_the_agent,
        _creates,
        _sends_to_the_session,
        _renames,
        _is_hooked,
        _sets_a_timer,
    ],
)
async def test_a_persons_conversation_is_theirs_also_where_the_owner_opened_it(
    opens: Callable[[Gate, LocalClient], Awaitable[None]], tmp_path: Path
) -> None:
    async with gates("sqlite", tmp_path) as gate:
        gate.bench.model.otherwise = (Say("noted"),)
        house = replace(gate.engine.rules.house, hooks=replace(RULES, default_key=BOBS))
        routing = RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER, owners=("loopback:ada",))
        await gate.engine.reload(replace(gate.engine.rules, routing=routing, house=house))
        async with gate.client() as owner:
            await opens(gate, owner)
        with anyio.fail_after(60):
            await gate.engine.settled()
        await gate.bench.say("it is me", BOB)
        await gate.bench.replies(BOB)
        async with gate.client(auth={"token": "bob-token"}) as bob:
            assert [row["key"] for row in (await bob.call("sessions.list"))["sessions"]] == [BOBS]
            assert "it is me" in repr(await bob.call("chat.history", {"sessionKey": BOBS}))
