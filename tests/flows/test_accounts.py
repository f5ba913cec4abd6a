"""Accounts of one channel: each lets in whom it says itself, and one that is off nobody."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.app.providers import open_models
from roost.app.rules import engine_rules
from roost.channels.loopback import LoopbackChannel
from roost.clock import SystemClock
from roost.config import load
from roost.core.addresses import Address
from roost.core.queries import SessionQuery
from roost.core.sessions import Session
from roost.engine.rules import Rules
from roost.testing.scripts import Say, Until
from tests.flows.gateways import ADA, BOB, Bench, benches, chat
from tests.flows.nursery import MAIN
from tests.flows.served import gate_of

AT_HOME = Address(channel="loopback", to="bob", account="private")
EVERYBODY = {"dmPolicy": "open", "allowFrom": ["*"], "groupPolicy": "open"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches("memory", tmp_path) as bench:
        bench.channel = LoopbackChannel(account="private")
        bench.model.otherwise = (Say("hello"),)
        yield bench


async def ruled(home: Path, channel: object) -> Rules:
    document = {"channels": {"loopback": channel}, "commands": {"ownerAllowFrom": ["loopback:ada"]}}
    (home / "roost.json").write_text(json.dumps(document))
    loaded = load({"ROOST_HOME": str(home)})
    async with open_models(loaded.settings, SystemClock()) as models:
        return engine_rules(loaded, models, {}, lambda agent, level: ())


async def configured(bench: Bench, home: Path, channel: object) -> None:
    rules = await ruled(home, channel)
    bench.change(doors=rules.doors)


@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    ("channel", "rule"),
    [
        ({**EVERYBODY, "accounts": {"private": {"dmPolicy": "disabled"}, "public": {}}}, "dmPolicy=disabled"),
        (
            {"dmPolicy": "open", "accounts": {"private": {"dmPolicy": "allowlist", "allowFrom": ["cay"]}}},
            "dmPolicy=allowlist",
        ),
        ({**EVERYBODY, "accounts": {"private": {"enabled": False}, "public": {}}}, "enabled=false"),
        ({**EVERYBODY, "enabled": False, "accounts": {"private": {}}}, "enabled=false"),
        ({**EVERYBODY, "enabled": False, "accounts": {"private": {"enabled": True}}}, "enabled=false"),
        ({**EVERYBODY, "enabled": False}, "enabled=false"),
    ],
    ids=["disabled", "allowlist", "off", "channel off", "on below a channel that is off", "no accounts, off"],
)
async def test_a_stranger_is_not_let_in_by_what_the_channel_says_for_other_accounts(
    channel: object, rule: str, bench: Bench, tmp_path: Path
) -> None:
    await configured(bench, tmp_path, channel)
    with anyio.fail_after(60):
        async with bench.serving():
            await bench.say("let me in", BOB)
            await bench.channel.wait_acknowledged()
            assert [denial.rule for denial in await bench.store.denials(5)] == [rule]
            assert (await bench.store.list_sessions(SessionQuery())).rows == ()


@pytest.mark.parametrize(
    "channel",
    [
        {"dmPolicy": "disabled", "accounts": {"private": {"dmPolicy": "open"}}},
        {"dmPolicy": "open", "accounts": {"public": {"enabled": False, "dmPolicy": "disabled"}}},
    ],
    ids=["its own word", "the channel's, where it has none"],
)
async def test_an_account_lets_in_by_its_own_word_or_else_the_channels(
    channel: object, bench: Bench, tmp_path: Path
) -> None:
    await configured(bench, tmp_path, channel)
    with anyio.fail_after(60):
        async with bench.serving():
            await bench.say("let me in", BOB)
            assert await bench.channel.wait_replies(AT_HOME) == ("hello",)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    "account", [{"enabled": False}, {"dmPolicy": "disabled"}], ids=["off", "no direct messages"]
)
async def test_at_an_account_that_is_closed_not_even_the_owner_is_met(
    account: object, bench: Bench, tmp_path: Path
) -> None:
    await configured(bench, tmp_path, {"accounts": {"private": {}}})
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.channel.say("it is me", sender=ADA, chat=chat(ADA))
            at = Address(channel="loopback", to="ada", account="private")
            await bench.channel.wait_replies(at)
            assert engine.rules.met_at(await main(bench)) == at
            await configured(bench, tmp_path, {"accounts": {"private": account}})
            await engine.reload(bench.rules)
            assert engine.rules.met_at(await main(bench)) is None


@pytest.mark.parametrize(
    "channel",
    [
        {**EVERYBODY, "enabled": False},
        {**EVERYBODY, "accounts": {"private": {"enabled": False}, "public": {}}},
    ],
    ids=["the channel", "the account"],
)
async def test_an_answer_under_way_is_not_sent_by_what_was_switched_off_and_is_explained(
    channel: object, bench: Bench, tmp_path: Path
) -> None:
    await configured(bench, tmp_path, {**EVERYBODY, "accounts": {"private": {}}})
    answers = anyio.Event()
    with anyio.fail_after(60):
        async with gate_of(bench, tmp_path) as gate, gate.client() as client:
            bench.model.add((Until(answers), Say("too late")))
            await bench.say("are you there?", ADA)
            await bench.model.asked(1)
            await configured(bench, tmp_path, channel)
            await gate.engine.reload(bench.rules)
            answers.set()
            await gate.engine.settled()
            assert bench.channel.replies(replace(AT_HOME, to="ada")) == ()
            listed = await client.call("deliveries.list", {"state": "dismissed"})
            because = "not sent, because of enabled=false of loopback/private"
            assert [(row["text"], row["error"]) for row in listed["deliveries"]] == [("too late", because)]
            why = await client.call("sessions.explain", {"key": "main", "about": "silence"})
            assert [row["text"] for row in why["reasons"]] == [f"Silence: the last answer was {because}."]


async def main(bench: Bench) -> Session:
    session = await bench.store.session(MAIN)
    assert session is not None
    return session
