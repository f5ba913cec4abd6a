import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest

from roost.app.casting import Director
from roost.app.reloading import AGAIN_AFTER, EVERY_MS, NAME, Edition, Follower, Press
from roost.app.scanning import Masks
from roost.config import Loaded, load
from roost.core.health import Condition
from roost.core.messages import Text, UserMessage
from roost.core.models import ModelRequest, TextDelta
from roost.engine.gateway import Engine
from roost.engine.rules import Rules
from roost.models.registry import Registry
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Say
from tests.samples import UTC_ZONE
from tests.unit.engine.scenes import HOME

PROVIDER = {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "sk-0123456789", "models": [{"id": "small"}]}


@dataclass
class Home:
    """A gateway that follows the file in its home."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    masks: Masks = field(default_factory=Masks)
    written: int = 0

    def write(self, document: object) -> None:
        self.written += 1
        text = document if isinstance(document, str) else json.dumps(document)
        # Another length each time, whatever the clock of the file system can tell apart.
        (self.folder / "roost.json").write_text(text + " " * self.written)

    def providers(self, **changes: object) -> None:
        self.write(
            {
                "models": {"providers": {"local": {**PROVIDER, **changes}}},
                "agents": {"defaults": {"model": "local/small"}},
            }
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Gateway"]:
        store = MemoryStore(self.clock)
        composed: list[Loaded] = []

        def compose(loaded: Loaded, registry: Registry) -> Rules:
            composed.append(loaded)
            cast = Director(loaded, registry, UTC_ZONE, lambda agent, level: ()).cast
            return Rules(cast=cast, most_steps=len(composed))

        async with AsyncExitStack() as connections:
            press = Press(self.clock, compose, self.masks, connections)
            edition = await press.edition(load({"ROOST_HOME": str(self.folder)}))
            follower = Follower(press, edition, self.clock)
            engine = Engine(store, self.clock, lambda: "id", edition.rules, [], jitter=lambda: 0.0)
            engine.accompany(NAME, partial(follower.follow, engine))
            async with engine.serving(HOME):
                yield Gateway(self, engine, edition, composed)


@dataclass
class Gateway:
    home: Home
    engine: Engine
    first: Edition
    composed: list[Loaded]

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            await anyio.wait_all_tasks_blocked()
            self.home.clock.advance(EVERY_MS)
        await anyio.wait_all_tasks_blocked()

    @property
    def condition(self) -> str:
        return str(next(part.condition for part in self.engine.health().parts if part.name == NAME))

    @property
    def denied(self) -> list[str]:
        return list(self.composed[-1].settings.tools.deny)

    async def said(self, edition: Edition) -> str:
        """What the agent's model says, reached as a run does that began with an edition."""
        part = edition.rules.cast(builders.session(MAIN), builders.run("r", MAIN))
        request = ModelRequest(
            spec=part.spec,
            system="",
            messages=(UserMessage(content=(Text("hi"),), at=0, provenance=builders.HUMAN),),
        )
        async with part.model.stream(request) as events:
            return "".join([event.text async for event in events if isinstance(event, TextDelta)])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_file_that_stays_as_it_is_changes_nothing(home: Home) -> None:
    home.write({})
    async with home.serving() as gateway:
        await gateway.look(3)
        assert len(gateway.composed) == 1
        home.write({})
        await gateway.look()
        assert len(gateway.composed) == 1


async def test_a_changed_file_is_in_force_a_moment_later(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with home.serving() as gateway:
        home.write({"tools": {"deny": ["exec"]}})
        await gateway.look()
        assert gateway.denied == ["exec"]
        assert "the configuration changed: tools.deny" in caplog.text
        home.write({})
        await gateway.look()
        assert gateway.denied == []


async def test_a_file_with_anything_wrong_in_it_changes_nothing_and_is_told_once(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: tuple[object, ...] = (
        "{",
        {"tols": {}},
        {"agents": {"defaults": {"model": "nobody/nothing"}}},
    )
    home.write({})
    async with home.serving() as gateway:
        for document in wrong:
            caplog.clear()
            home.write(document)
            await gateway.look(AGAIN_AFTER + 2)
            assert len(gateway.composed) == 1
            assert caplog.text.count("the configuration stays as it was") == 1
            assert gateway.condition == Condition.RETRYING
        home.write({"tools": {"deny": ["exec"]}})
        await gateway.look()
        assert gateway.denied == ["exec"]
        assert gateway.condition == Condition.OK


async def test_what_was_refused_for_something_else_is_tried_again(home: Home) -> None:
    home.write({})
    async with home.serving() as gateway:
        home.write({"gateway": {"auth": {"token": {"file": "token"}}}})
        await gateway.look()
        assert gateway.condition == Condition.RETRYING
        (home.folder / "token").write_text("a-token-of-its-own")
        await gateway.look(AGAIN_AFTER)
        assert gateway.condition == Condition.OK
        assert len(gateway.composed) == 2


@pytest.mark.requirement("S12")
async def test_a_credential_in_a_file_of_its_own_is_watched_too(home: Home) -> None:
    token = home.folder / "token"
    token.write_text("the-first-token")
    home.write({"gateway": {"auth": {"token": {"file": "token"}}}})
    async with home.serving() as gateway:
        token.write_text("another-token-now")
        await gateway.look()
        found = gateway.composed[-1].settings.gateway.auth.token
        assert found is not None
        assert found.reveal() == "another-token-now"
        text = "the-first-token another-token-now"
        assert len(home.masks.find(text)) == 2


@pytest.mark.requirement("P24", "S24")
@pytest.mark.parametrize("document", [{}, "nonsense"], ids=["right", "wrong"])
async def test_the_gateways_own_token_is_masked_before_and_after_it_is_replaced_whatever_the_file_says(
    home: Home, document: object
) -> None:
    home.write({})
    token = home.folder / "gateway.token"
    token.write_text("made-at-the-start")
    async with home.serving() as gateway:
        assert home.masks.find("made-at-the-start")
        token.write_text("put-there-by-the-owner")
        home.write(document)
        await gateway.look()
        assert len(home.masks.find("made-at-the-start put-there-by-the-owner")) == 2
        assert len(gateway.composed) == 2
        await gateway.look(AGAIN_AFTER)
        assert len(gateway.composed) == 2


async def test_what_needs_a_restart_is_named_and_stays(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    async with home.serving() as gateway:
        home.write({"gateway": {"port": 1234}})
        await gateway.look()
        assert "in force after a restart: gateway.port" in caplog.text
        assert len(gateway.composed) == 1
        home.write({"gateway": {"port": 1234}, "tools": {"deny": ["exec"]}})
        await gateway.look()
        assert gateway.denied == ["exec"]
        assert gateway.composed[-1].settings.gateway.port == gateway.first.loaded.settings.gateway.port


async def test_a_new_reason_to_warn_is_told(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    token = home.folder / "token"
    token.write_text("a-token-of-its-own")
    token.chmod(0o644)
    async with home.serving() as gateway:
        home.write({"gateway": {"auth": {"token": {"file": "token"}}}})
        await gateway.look()
    assert "can be read by others" in caplog.text


async def test_a_run_under_way_reaches_its_model_by_the_new_credential(home: Home) -> None:
    async with FakeOpenAI(reply_of((Say("one"),)), reply_of((Say("two"),))) as server:
        home.providers(baseUrl=server.base_url)
        async with home.serving() as gateway:
            assert await gateway.said(gateway.first) == "one"
            home.providers(baseUrl=server.base_url, apiKey="sk-9876543210")
            await gateway.look()
            assert await gateway.said(gateway.first) == "two"
    keys = [asked.headers["authorization"] for asked in server.requests]
    assert keys == ["Bearer sk-0123456789", "Bearer sk-9876543210"]


async def test_what_was_opened_for_rules_that_nothing_goes_by_is_closed(home: Home) -> None:
    closed: list[str] = []
    home.providers()
    async with home.serving() as gateway:
        gateway.first.connections.callback(closed.append, "the first")
        home.providers(apiKey="sk-9876543210")
        await gateway.look()
        assert closed == ["the first"]


@pytest.mark.requirement("S12")
async def test_denials_hold_where_the_rest_of_a_file_cannot_be_had(home: Home) -> None:
    home.write({})
    async with home.serving() as gateway:
        home.write({"tools": {"deny": ["exec"]}, "agents": {"defaults": {"model": "nobody/nothing"}}})
        await gateway.look()
        assert gateway.denied == ["exec"]
        assert gateway.composed[-1].settings.agents.default.model.primary is None
        assert gateway.condition == Condition.RETRYING


async def test_an_edition_that_is_broken_off_at_its_last_step_is_none(home: Home) -> None:
    def compose(loaded: Loaded, registry: Registry) -> Rules:
        return Rules(cast=Director(loaded, registry, UTC_ZONE, lambda agent, level: ()).cast)

    home.write({})
    async with AsyncExitStack() as connections:
        press = Press(home.clock, compose, home.masks, connections)
        with anyio.CancelScope() as looking:
            looking.cancel()
            await press.edition(load({"ROOST_HOME": str(home.folder)}))
        assert looking.cancelled_caught


@pytest.mark.requirement("S12")
async def test_a_door_is_not_opened_before_those_who_come_in_are_kept_apart(home: Home) -> None:
    home.write({"channels": {"x": {"dmPolicy": "disabled"}}})
    async with home.serving() as gateway:
        home.write(
            {
                "channels": {"x": {"dmPolicy": "open"}},
                "session": {"dmScope": "per-channel-peer"},
                "bindings": [
                    {"agentId": "main", "match": {"channel": "x"}, "session": {"dmScope": "per-peer"}},
                    {"agentId": "late", "match": {"channel": "x", "accountId": "work"}},
                ],
                "agents": {
                    "defaults": {"model": "nobody/nothing"},
                    "list": [{"id": "main", "default": True}, {"id": "late"}],
                },
            }
        )
        await gateway.look()
        settings = gateway.composed[-1].settings
        assert (settings.channels["x"].dm_policy, settings.session.dm_scope) == ("open", "per-channel-peer")
        # Nobody is led to an agent that is not there yet.
        assert [one.session.dm_scope for one in settings.bindings] == ["per-peer"]


@pytest.mark.requirement("S12")
async def test_a_file_that_is_gone_for_a_while_lifts_no_denial(home: Home) -> None:
    home.write({"tools": {"deny": ["exec"]}})
    async with home.serving() as gateway:
        (home.folder / "roost.json").unlink()
        await gateway.look(2)
        assert gateway.denied == ["exec"]
        assert gateway.condition == Condition.RETRYING
        home.write({"tools": {"deny": ["exec", "cron"]}})
        await gateway.look(2)
        assert gateway.denied == ["exec", "cron"]
        assert gateway.condition == Condition.OK


@pytest.mark.requirement("S12")
async def test_no_credential_is_given_up_before_the_gateway_listens_on_loopback_only(home: Home) -> None:
    listening = {"bind": "lan", "dangerouslyAllowClearText": True}
    home.write({"gateway": {**listening, "auth": {"token": "the-first-token"}}})
    async with home.serving() as gateway:
        home.write({"gateway": {"bind": "loopback", "auth": {"mode": "none"}}})
        await gateway.look(2)
        assert gateway.composed[-1].settings.gateway.auth.mode == "token"
        assert gateway.condition == Condition.RETRYING


async def test_a_credential_that_moved_into_a_file_of_its_own_is_watched_there(home: Home) -> None:
    home.write({"gateway": {"auth": {"token": "the-first-token"}}})
    async with home.serving() as gateway:
        token = home.folder / "token"
        token.write_text("the-first-token")
        home.write({"gateway": {"auth": {"token": {"file": "token"}}}})
        await gateway.look(2)
        token.write_text("another-token-now")
        await gateway.look()
        found = gateway.composed[-1].settings.gateway.auth.token
        assert found is not None
        assert found.reveal() == "another-token-now"
