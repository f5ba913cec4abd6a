import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from roost.app.providers import open_models
from roost.app.rules import command_rules, engine_rules
from roost.clock import SystemClock, host_zone
from roost.config import load
from roost.core.addresses import Account
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.exchanges import Sent
from roost.core.remotes import RemoteSession, Taken
from roost.ports import Unreached
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from tests import samples

WINTER = datetime(2026, 1, 15, 12)  # noqa: DTZ001 — asked of a zone, which has its own


async def test_days_turn_where_the_user_lives_or_else_where_the_gateway_is(tmp_path: Path) -> None:
    tokyo = {"agents": {"defaults": {"userTimezone": "Asia/Tokyo"}}}
    for document, zone in (({}, host_zone()), (tokyo, ZoneInfo("Asia/Tokyo"))):
        (tmp_path / "roost.json").write_text(json.dumps(document))
        loaded = load({"ROOST_HOME": str(tmp_path)})
        async with open_models(loaded.settings, SystemClock()) as models:
            rules = engine_rules(loaded, models, {}, lambda agent, level: ())
        assert rules.zone.utcoffset(WINTER) == zone.utcoffset(WINTER)


async def test_a_door_of_the_file_goes_before_one_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text(
        json.dumps({"channels": {"telegram": {"dmPolicy": "open", "allowFrom": ["*"]}}})
    )
    loaded = load({"ROOST_HOME": str(tmp_path)})
    given = {"telegram": ChannelPolicy(), "terminal": ChannelPolicy(owner_ids=("terminal:owner",))}
    async with open_models(loaded.settings, SystemClock()) as models:
        rules = engine_rules(loaded, models, given, lambda agent, level: ())
    assert rules.door(Account("telegram")).dm_policy is DmPolicy.OPEN
    assert rules.door(Account("terminal")) == given["terminal"]


async def test_each_account_of_the_file_has_a_door_of_its_own(tmp_path: Path) -> None:
    accounts = {"default": {"dmPolicy": "disabled"}, "work": {"dmPolicy": "allowlist"}}
    (tmp_path / "roost.json").write_text(
        json.dumps({"channels": {"telegram": {"dmPolicy": "open", "accounts": accounts}}})
    )
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, SystemClock()) as models:
        rules = engine_rules(loaded, models, {}, lambda agent, level: ())
    doors = [rules.door(Account("telegram", one)).dm_policy for one in ("default", "work", "unnamed")]
    assert doors == [DmPolicy.DISABLED, DmPolicy.ALLOWLIST, DmPolicy.OPEN]


@pytest.mark.requirement("F6")
async def test_other_gateways_are_reached_as_the_file_names_them(tmp_path: Path) -> None:
    office = {"url": "ws://127.0.0.1:1", "token": "t"}
    (tmp_path / "roost.json").write_text(json.dumps({"gateway": {"remotes": {"office": office}}}))
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, SystemClock()) as models:
        rules = engine_rules(loaded, models, {}, lambda agent, level: ())
    (remote,) = rules.house.remotes.values()
    there = Sent(remote=RemoteSession(gateway="office", session="main"))
    with pytest.raises(Unreached, match=r"office cannot be reached: no gateway answers at ws://127.0.0.1:1"):
        await remote.carry(replace(samples.exchange(), sent=there), 1, nothing)


async def nothing(by: Taken) -> None:
    raise AssertionError("nobody is there")


def read(path: str) -> str:
    return Path(path).read_text()


async def test_exports_go_to_the_home_folder_and_hide_secrets_unless_asked_for(tmp_path: Path) -> None:
    loaded, clock = load({"ROOST_HOME": str(tmp_path)}), SystemClock()
    store = MemoryStore(clock)
    await store.change_session(MAIN, lambda _: (builders.opening(builders.session(MAIN), "gen-1"),))
    await store.append(MAIN, (builders.said("e-1", "ghp_" + "a1B2" * 9),))
    async with open_models(loaded.settings, clock) as models:
        rules = command_rules(loaded, models, store, "1.0")
    assert rules.export is not None
    (masked,) = await rules.export(MAIN, False)
    assert Path(masked).is_relative_to(tmp_path / "exports")
    assert "ghp_a1B2" not in read(masked)
    (raw,) = await rules.export(MAIN, True)
    assert "ghp_a1B2" in read(raw)
    assert rules.pieces is not None
    assert b"ghp_a1B2" not in (await rules.pieces(MAIN, False, None, lambda line: line)).data
    assert b"ghp_a1B2" in (await rules.pieces(MAIN, True, None, lambda line: line)).data
    covered = await rules.pieces(MAIN, True, None, lambda line: line.replace(b"ghp", b"***"))
    assert b"***_a1B2" in covered.data


@pytest.mark.requirement("P24", "S24")
async def test_clients_are_never_told_the_token_that_the_gateway_made_for_itself(tmp_path: Path) -> None:
    (tmp_path / "gateway.token").write_text("made-by-the-gateway\n")
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, SystemClock()) as models:
        rules = engine_rules(loaded, models, {}, lambda agent, level: ())
    assert b"made-by-the-gateway" in rules.house.hidden
