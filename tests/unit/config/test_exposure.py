"""From settings to what an audit looks at."""

import json
from pathlib import Path

import pytest

from roost.config import Settings, load
from roost.config.exposure import exposure
from roost.core.admission import DmPolicy
from roost.core.audit import audit
from roost.core.guests import admit
from roost.core.scopes import DmScope
from tests.unit.core.test_guests import asked, knocking


def settings(tmp_path: Path, **document: object) -> Settings:
    (tmp_path / "roost.json").write_text(json.dumps(document))
    return load({"ROOST_HOME": str(tmp_path)}).settings


def test_of_the_defaults_nothing_is_found(tmp_path: Path) -> None:
    assert audit(exposure(settings(tmp_path))) == ()


def test_the_edge_is_read(tmp_path: Path) -> None:
    edge = exposure(
        settings(
            tmp_path,
            gateway={
                "auth": {"token": "12345678", "rateLimit": {"maxAttempts": 5, "windowMs": 1000}},
                "trustedProxies": ["10.0.0.1"],
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
        )
    ).edge
    assert (edge.token_length, edge.password_length, edge.attempts_a_minute) == (8, None, 300)
    assert (edge.proxies, edge.proxy_logins) == (("10.0.0.1/32",), False)
    assert edge.completions
    assert edge.auth
    assert edge.loopback


@pytest.mark.requirement("S19")
@pytest.mark.parametrize(
    ("proxy", "name"),
    [("127.0.0.1", "gateway.trusted_proxies_loopback"), ("0.0.0.0/1", "gateway.trusted_proxies_wide")],
)
def test_a_proxy_that_anybody_could_pass_for_is_found_where_it_names_people(
    proxy: str, name: str, tmp_path: Path
) -> None:
    auth = {"mode": "trusted-proxy", "trustedProxy": {"allowUsers": ["ada"]}}
    found = audit(exposure(settings(tmp_path, gateway={"trustedProxies": [proxy], "auth": auth})))
    assert name in {one.id for one in found}


@pytest.mark.requirement("S26")
def test_beyond_loopback_a_certificate_is_enough_for_the_audit(tmp_path: Path) -> None:
    tls = {"cert": "chain.pem", "key": "key.pem"}
    found = audit(exposure(settings(tmp_path, gateway={"bind": "lan", "tls": tls})))
    assert "gateway.bind_clear_text" not in {one.id for one in found}


@pytest.mark.requirement("S26")
@pytest.mark.parametrize(
    ("listening", "clear"),
    [
        ((), False),
        (("ws://127.0.0.1:1", "ws://[::1]:2"), False),
        (("ws://127.0.0.1:1", "ws://0.0.0.0:2"), True),
        (("wss://0.0.0.0:2",), False),
        (("wss://0.0.0.0:2", "ws://10.0.0.7:2"), True),
    ],
)
def test_where_a_gateway_listens_counts_whatever_the_file_says(
    tmp_path: Path, listening: tuple[str, ...], *, clear: bool
) -> None:
    found = audit(exposure(settings(tmp_path), listening))
    assert ("gateway.bind_clear_text" in {one.id for one in found}) is clear


def test_hooks_with_the_owners_token_are_seen(tmp_path: Path) -> None:
    token = "one-token-for-everything-here"
    hooks = {"enabled": True, "token": token, "allowedAgentIds": ["*"], "allowRequestSessionKey": True}
    found = exposure(settings(tmp_path, gateway={"auth": {"token": token}}, hooks=hooks)).hooks
    assert (found.enabled, found.shared_token, found.any_agent, found.names_sessions) == (True,) * 4
    assert (found.token_length, found.default_session, found.prefixes) == (len(token), False, False)


def test_each_account_is_a_door_and_what_is_off_is_none(tmp_path: Path) -> None:
    channels = {
        "telegram": {"dmPolicy": "open", "accounts": {"a": {}, "b": {"enabled": False}}},
        "signal": {"allowFrom": ["1"]},
        "discord": {"enabled": False, "dmPolicy": "open"},
    }
    bindings = [{"agentId": "main", "match": {"channel": "signal"}, "session": {"dmScope": "main"}}]
    session = {"dmScope": "per-peer"}
    view = exposure(settings(tmp_path, channels=channels, bindings=bindings, session=session))
    assert {(one.channel, one.account): one.policy.dm_policy for one in view.doors} == {
        ("telegram", "a"): DmPolicy.OPEN,
        ("signal", None): DmPolicy.PAIRING,
    }
    assert view.routing.dm_scope is DmScope.PER_PEER
    assert [one.dm_scope for one in view.routing.bindings] == [DmScope.MAIN]


def test_who_was_let_in_by_pairing_stands_at_the_door_he_came_by(tmp_path: Path) -> None:
    guests, _ = admit(asked(knocking("7", account="a"), knocking("8", account="b", code="OTHER")), "CODE7", 1)
    accounts: dict[str, object] = {"a": {}, "b": {}}
    given = settings(tmp_path, channels={"telegram": {"accounts": accounts}})
    view = exposure(given, let_in=guests.let_in)
    assert {one.account: one.policy.paired for one in view.doors} == {"a": {"telegram:7"}, "b": frozenset()}


def test_owners_who_are_named_by_an_id_alone_are_told_apart(tmp_path: Path) -> None:
    owners = ["1001", "telegram:1", "House:2", "@ada:example.org", "*", "matrix:@ada:example.org"]
    given = settings(tmp_path, commands={"ownerAllowFrom": owners}, channels={"house": {"enabled": False}})
    trust = exposure(given).trust
    assert trust.owners == tuple(owners)
    assert trust.placeless_owners == ("1001", "@ada:example.org")


def test_agents_and_providers_are_named(tmp_path: Path) -> None:
    far = {
        "far": {"baseUrl": "http://models.example/v1"},
        "odd": {"baseUrl": "HTTP://10.0.0.1/v1"},
        "near": {"baseUrl": "http://localhost:1/v1"},
        "here": {"baseUrl": "http://[::1]:1/v1"},
        "safe": {"baseUrl": "https://models.example"},
        "own": {},
    }
    agents = {
        "list": [
            {
                "id": "a",
                "sandbox": {"mode": "all", "network": True, "sessionToolsVisibility": "all"},
            },
            {"id": "b", "sandbox": {"network": True}},
        ]
    }
    trust = exposure(settings(tmp_path, models={"providers": far}, agents=agents)).trust
    assert trust.clear == ("far", "odd")
    assert (trust.lifted, trust.networked, trust.unconfined) == (("a",), ("a",), ("b",))


@pytest.mark.parametrize(
    ("address", "clear"),
    [
        ("postgresql://roost:pw@db.example.org/roost", True),
        ("postgresql://roost:pw@db.example.org:5432/roost?sslmode=disable", True),
        ("postgresql://roost@127.0.0.1,10.0.0.7:5433/roost?sslmode=prefer", True),
        ("postgresql://roost@[2001:db8::7]:5432/roost", True),
        ("postgresql:///roost?host=db.example.org", True),
        ("postgresql://roost@db.example.org/roost?sslmode=require", False),
        ("postgresql://roost@db.example.org/roost?sslmode=verify-full&sslrootcert=ca.pem", False),
        ("postgresql://roost@localhost:5432,127.0.0.1/roost?sslmode=disable", False),
        ("postgresql://roost@[::1]:5432/roost", False),
        ("postgresql:///roost", False),
        ("postgresql:///roost?host=/run/postgresql", False),
        ("postgresql://%2Frun%2Fpostgresql/roost", False),
    ],
)
def test_a_database_beyond_this_machine_that_may_be_spoken_to_in_clear_text_is_seen(
    tmp_path: Path, address: str, clear: bool
) -> None:
    found = {one.id for one in audit(exposure(settings(tmp_path, database=address)))}
    assert ("database.clear_text" in found) is clear
