"""People who are let in on a channel because they asked: told a code, let in by who has it, and shown out again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.clock import SystemClock
from roost.core.addresses import Account
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.channels import ChannelAbilities
from roost.core.envelopes import Sender
from roost.core.guests import ASKING_MS, MOST_ASKING, admit, knock
from roost.core.principals import person
from roost.core.queries import SessionQuery
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.sendpolicy import SendAction, SendPolicy
from roost.engine.ids import CODE_LENGTH
from roost.ports import Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused
from tests.flows.gateways import ADA, BOB, Bench, benches, chat, place
from tests.flows.served import Gate, gate_of
from tests.unit.core.test_guests import knocking

Found = TypeVar("Found")
FORGETFUL = replace(EVERYTHING, dedupes=False, answers=False)
KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])


@asynccontextmanager
async def doors(
    folder: Path,
    kind: str = "memory",
    policy: DmPolicy = DmPolicy.PAIRING,
    abilities: ChannelAbilities = EVERYTHING,
) -> AsyncIterator[tuple[Bench, Gate, LocalClient]]:
    with anyio.fail_after(60):
        async with benches(kind, folder) as bench:
            bench.channel = LoopbackChannel(abilities=abilities)
            bench.change(doors={"loopback": ChannelPolicy(dm_policy=policy, owner_ids=("loopback:ada",))})
            async with gate_of(bench, folder) as gate, gate.client() as client:
                bench.model.otherwise = (Say("hello"),)
                yield bench, gate, client


async def wrote(bench: Bench, sender: Sender = BOB) -> tuple[str, ...]:
    """What somebody sees in his chat after another message of his."""
    await bench.say("are you there?", sender)
    await bench.channel.wait_acknowledged()
    return bench.channel.replies(place(sender))


def code_in(notice: str) -> str:
    return next(word for word in notice.split() if len(word) == CODE_LENGTH and word.isupper())


async def let_in(bench: Bench, client: LocalClient, sender: Sender = BOB) -> str:
    """His id among those who are let in."""
    notice = (await wrote(bench, sender))[-1]
    return str((await client.call("people.approve", {"code": code_in(notice)}))["person"]["personId"])


@KINDS
async def test_a_stranger_is_told_a_code_and_is_heard_once_the_owner_was_given_it(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with doors(tmp_path, kind) as (bench, _, client):
        (notice,) = await wrote(bench)
        assert bench.model.requests == []
        assert (await bench.store.list_sessions(SessionQuery())).rows == ()
        (denial,) = await bench.store.denials(5)
        assert (denial.rule, denial.principal) == ("dmPolicy=pairing", person("loopback", "bob"))
        (asking,) = (await client.call("people.list"))["asking"]
        assert (asking["senderId"], asking["displayName"], asking["codeTold"]) == ("bob", "Bob", True)
        assert code_in(notice) not in str(asking)
        decided = await client.call("people.approve", {"code": code_in(notice).lower()})
        assert (decided["decision"], decided["person"]["senderId"]) == ("approved", "bob")
        assert "loopback:bob was approved by owner" in caplog.messages
        await bench.say("and now?", BOB)
        assert (await bench.replies(BOB, 2))[1:] == ("hello",)
        listed = await client.call("people.list")
        assert ([one["personId"] for one in listed["people"]], listed["asking"]) == (
            [asking["requestId"]],
            [],
        )


async def test_a_stranger_is_told_once_however_often_he_writes(tmp_path: Path) -> None:
    async with doors(tmp_path, abilities=FORGETFUL) as (bench, _, _):
        told = await wrote(bench)
        assert len(told) == 1
        assert await wrote(bench) == told


async def test_where_nothing_may_be_sent_a_stranger_is_told_nothing_and_asks_nothing(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, gate, client):
        await gate.engine.reload(replace(bench.rules, sending=SendPolicy(default=SendAction.DENY)))
        assert await wrote(bench) == ()
        assert (await client.call("people.list"))["asking"] == []


async def test_who_asked_too_long_ago_is_not_shown(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, _, client):
        await wrote(bench)
        long_ago = partial(knock, wanted=knocking(at=bench.clock.now() - ASKING_MS))
        await bench.store.change_guests(long_ago)
        assert [one["senderId"] for one in (await client.call("people.list"))["asking"]] == ["bob"]


async def test_who_is_shown_out_is_a_stranger_with_his_next_message(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, gate, client):
        bobs = await let_in(bench, client)
        await bench.say("and now?", BOB)
        await bench.replies(BOB, 2)
        await gate.engine.settled()
        await client.call("people.remove", {"personId": bobs})
        assert "the code" in (await wrote(bench))[2]
        assert len(bench.model.requests) == 1


async def test_who_is_turned_away_may_ask_again_and_is_told_another_code(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, _, client):
        (first,) = await wrote(bench)
        (asking,) = (await client.call("people.list"))["asking"]
        await client.call("people.reject", {"requestId": asking["requestId"]})
        with pytest.raises(Refused, match="has this code"):
            await client.call("people.approve", {"code": code_in(first)})
        second = (await wrote(bench))[1]
        assert code_in(first) != code_in(second)


async def test_of_many_strangers_a_few_are_told_and_the_others_cost_no_message(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, _, client):
        for number in range(MOST_ASKING):
            assert len(await wrote(bench, Sender(id=f"stranger-{number}"))) == 1
        assert await wrote(bench) == ()
        assert len((await client.call("people.list"))["asking"]) == MOST_ASKING


@pytest.mark.parametrize("policy", [DmPolicy.ALLOWLIST, DmPolicy.DISABLED])
async def test_where_nobody_is_let_in_by_pairing_nobody_is_told_how(policy: DmPolicy, tmp_path: Path) -> None:
    async with doors(tmp_path, policy=policy) as (bench, _, client):
        assert await wrote(bench) == ()
        assert (await client.call("people.list"))["asking"] == []


async def test_who_was_let_in_stays_so_through_a_reload_and_a_restart(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with benches("sqlite", tmp_path) as bench:
            bench.change(doors={"loopback": ChannelPolicy(owner_ids=("loopback:ada",))})
            async with gate_of(bench, tmp_path) as gate, gate.client() as client:
                bench.model.otherwise = (Say("hello"),)
                await let_in(bench, client)
                await gate.engine.reload(bench.rules)
                await bench.say("after a reload", BOB)
                await bench.replies(BOB, 2)
            async with gate_of(bench, tmp_path):
                bench.model.otherwise = (Say("again"),)
                await bench.say("after a restart", BOB)
                assert (await bench.replies(BOB, 3))[2] == "again"


async def test_a_guest_is_met_in_his_chat_as_long_as_he_is_one(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, gate, client):
        await gate.engine.reload(replace(bench.rules, routing=RoutingRules(dm_scope=DmScope.PER_PEER)))
        bobs = await let_in(bench, client)
        await bench.say("and now?", BOB)
        await bench.replies(BOB, 2)
        (session,) = (await bench.store.list_sessions(SessionQuery())).rows
        assert gate.engine.rules.met_at(session) == session.route
        await client.call("people.remove", {"personId": bobs})
        assert len(await wrote(bench)) == 3
        assert gate.engine.rules.met_at(session) is None


class Deaf(MemoryStore):
    """Hears of no guests that others let in."""

    async def wait_for(self, topic: Topic, check: Callable[[], Awaitable[Found | None]]) -> Found:
        if topic.kind is not TopicKind.GUESTS:
            return await super().wait_for(topic, check)
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


async def test_whom_another_gateway_let_in_is_answered_here_before_its_news_are(tmp_path: Path) -> None:
    clock = SystemClock()
    bench = Bench(Deaf(clock), clock)
    bench.change(doors={"loopback": ChannelPolicy()})
    with anyio.fail_after(60):
        async with gate_of(bench, tmp_path) as gate, gate.client() as client:
            bench.model.otherwise = (Say("hello"),)
            await let_in(bench, client)
            await bench.say("and now?", BOB)
            assert (await bench.replies(BOB, 2))[1] == "hello"
            assert gate.engine.rules.door(place(BOB).served_by).paired == {"loopback:bob"}


async def test_a_guest_is_known_before_anything_is_taken_up_again(tmp_path: Path) -> None:
    clock = SystemClock()
    bench = Bench(Deaf(clock), clock)
    for decide in (
        partial(knock, wanted=knocking(at=clock.now())),
        partial(admit, code="CODE7", now=clock.now()),
    ):
        await bench.store.change_guests(decide)
    async with bench.serving() as (engine, _):
        assert engine.rules.let_in == {Account("telegram"): {"telegram:7"}}


async def test_only_the_owners_clients_with_the_scope_decide_who_is_let_in(tmp_path: Path) -> None:
    async with doors(tmp_path) as (_, gate, _):
        async with gate.client(scopes=["operator.write"]) as client:
            with pytest.raises(Refused, match="missing scope"):
                await client.call("people.list")
        async with gate.client(auth={"token": "alice-token"}) as alice:
            for method, params in (
                ("people.list", {}),
                ("people.approve", {"code": "ABCD2345"}),
                ("people.reject", {"requestId": "x"}),
                ("people.remove", {"personId": "x"}),
            ):
                with pytest.raises(Refused, match="for the owner"):
                    await alice.call(method, params)


async def test_the_owner_is_never_asked_for_a_code(tmp_path: Path) -> None:
    async with doors(tmp_path) as (bench, _, client):
        await bench.channel.say("it is me", sender=ADA, chat=chat(ADA))
        assert await bench.replies() == ("hello",)
        assert (await client.call("people.list"))["asking"] == []
