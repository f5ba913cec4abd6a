"""Which gateway a command speaks to."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketListener

from roost.app.opening import open_store
from roost.app.serving import Served, open_gateway
from roost.cli.main import main
from roost.cli.where import Where, anywhere, gateway
from roost.client import Refused, Unreachable, Untrusted
from roost.config import ConfigRefused, load
from roost.core.errors import InvalidInput, LeaseHeld, RoostError
from roost.core.leases import Gateway
from roost.ports import Store
from tests import postgres
from tests.certificates import certificate
from tests.unit.cli.conftest import serving


def configure(home: Path, auth: str) -> None:
    before = (home / "roost.json").read_text()
    (home / "roost.json").write_text(before.replace("gateway: {", f"gateway: {{ auth: {auth},"))


PROXY = 'mode: "trusted-proxy", trustedProxy: { allowUsers: ["ada"] }'
PROXIES = 'trustedProxies: ["192.0.2.1"]'


@pytest.mark.parametrize(
    "auth",
    [
        '{ mode: "password", password: "open sesame" }',
        '{ token: "configured" }',
        '{ mode: "none" }',
        f'{{ {PROXY}, token: "configured" }}, {PROXIES}',
        f'{{ {PROXY}, password: "open sesame" }}, {PROXIES}',
    ],
)
def test_the_configured_credential_is_shown(
    home: Path, auth: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    configure(home, auth)
    request.getfixturevalue("served")
    assert main(["gateway", "health"]) == 0


async def test_a_gateway_elsewhere_is_not_shown_the_token_of_this_one(served: Served) -> None:
    with pytest.raises(Refused, match="token"):
        async with gateway(Where(url=served.url)):
            pass


def test_who_names_a_gateway_without_its_token_is_told_how_it_is_given(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", "health", "--url", served.url]) == 1
    told = capsys.readouterr().err
    assert "`--token` or `ROOST_GATEWAY_TOKEN`; the configured one is not shown to another address" in told
    assert main(["gateway", "health", "--url", served.url, "--token", "wrong"]) == 1
    told = capsys.readouterr().err
    assert "`--token` or `ROOST_GATEWAY_TOKEN`" in told
    assert "the configured one" not in told


@pytest.mark.requirement("D48")
def test_a_gateway_with_a_password_is_asked_with_it_and_with_nothing_that_was_not_given(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(home, '{ mode: "password", password: "open sesame" }')
    with serving(home) as served:
        for command in (["gateway", "call", "health"], ["status"], ["sessions", "--json"]):
            named = [*command, "--url", served.url]
            assert main(named) == 1
            told = capsys.readouterr().err
            assert "`--password` or `ROOST_GATEWAY_PASSWORD`" in told
            assert "the configured one is not shown to another address" in told
            assert main([*named, "--password", "wrong"]) == 1
            told = capsys.readouterr().err
            assert "give the gateway's password with `--password` or `ROOST_GATEWAY_PASSWORD`" in told
            assert "--token" not in told
            assert main([*named, "--password", "open sesame"]) == 0
            assert main([*command, "--password", "open sesame"]) == 0
            assert main([*command, "--password", "wrong"]) == 1
        capsys.readouterr()
        monkeypatch.setenv("ROOST_GATEWAY_PASSWORD", "open sesame")
        assert main(["gateway", "health", "--url", served.url]) == 0


def test_a_gateway_without_a_certificate_is_told_to_speak_no_tls(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    url = served.url.replace("ws://", "wss://")
    assert main(["gateway", "health", "--url", url, "--token", "t"]) == 3
    assert f"what answers at {url} speaks no TLS (write ws://" in capsys.readouterr().err


async def test_a_gateway_elsewhere_is_shown_the_token_that_is_given(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.token_file is not None
    token = served.token_file.read_text().strip()
    async with gateway(Where(url=served.url, token=token)) as client:
        assert client.hello.version == "1"
    async with gateway(Where(token=token)) as client:
        assert client.hello.version == "1"
    monkeypatch.setenv("ROOST_GATEWAY_TOKEN", token)
    async with gateway(Where(url=served.url)) as client:
        assert client.hello.version == "1"


async def test_a_gateway_elsewhere_with_its_token_is_asked_whatever_is_configured_here(
    home: Path, served: Served
) -> None:
    assert served.token_file is not None
    token = served.token_file.read_text().strip()
    (home / "roost.json").write_text("{ nonsense: true }")
    async with gateway(Where(url=served.url, token=token)) as client:
        assert client.hello.version == "1"
    with pytest.raises(ConfigRefused):
        gateway(Where(token=token))


def test_a_file_that_the_environment_names_must_be_there(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_CONFIG", str(home / "typo.json"))
    for command in (["sessions"], ["gateway", "run"], ["status", "--json"]):
        assert main(command) == 1
        out, err = capsys.readouterr()
        assert (out, "ROOST_CONFIG names it, and it does not exist" in err) == ("", True)
    assert not (home / "roost.db").exists()


def test_a_gateway_that_was_named_must_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--url", "ws://127.0.0.1:1"]) == 3
    assert main(["status", "--url", "nonsense"]) == 1


def test_an_address_for_all_is_reached_from_here(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for bound in ("lan", "::", "::1"):
        text = (home / "roost.json").read_text()
        (home / "roost.json").write_text(
            text.replace("gateway: {", f'gateway: {{ dangerouslyAllowClearText: true, bind: "{bound}",')
        )
        assert main(["gateway", "health"]) == 3
        assert ("[::1]" if ":" in bound else "127.0.0.1") in capsys.readouterr().err
        (home / "roost.json").write_text(text)


async def test_a_command_beside_another_is_told_how_both_can_work(home: Path) -> None:
    with pytest.raises(LeaseHeld, match="roost gateway run"):
        async with anywhere(Where()), anywhere(Where()):
            pass


async def test_a_gateway_that_begins_while_it_is_looked_for_is_found(home: Path) -> None:
    loaded, done = load({"ROOST_HOME": str(home)}), anyio.Event()
    port = loaded.settings.gateway.port
    (listening,) = (await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)).listeners
    assert isinstance(listening, SocketListener)

    async def begin() -> None:
        """Who asks first is hung up on when the port, and the store, are the gateway's."""
        asking = await listening.accept()
        await listening.aclose()
        async with open_gateway(loaded, version="1", tell=list[RoostError]().append):
            await asking.aclose()
            await done.wait()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            async with anywhere(Where()) as client:
                assert client.hello.version == "1"
            done.set()


async def test_a_gateway_on_another_port_is_found_by_its_lease(home: Path) -> None:
    with serving(home, port=0) as elsewhere:
        async with gateway(Where()) as client:
            assert client.hello.version == "1"
        assert str(elsewhere.port) not in (home / "roost.json").read_text()


async def test_a_stranger_at_the_configured_port_does_not_hide_the_gateway(
    home: Path, served: Served, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path_factory.mktemp("mine")
    (mine / "roost.json").write_text((home / "roost.json").read_text())
    monkeypatch.setenv("ROOST_HOME", str(mine))
    with serving(mine, port=0):
        async with gateway(Where()) as client:
            assert client.hello.version == "1"


@pytest.mark.parametrize(
    "auth", ["{ mode: 'token' }", "{ token: 'mine' }", "{ mode: 'password', password: 'mine' }"]
)
def test_a_gateway_of_another_home_at_the_configured_port_is_told_apart(
    home: Path,
    auth: str,
    served: Served,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = tmp_path_factory.mktemp("mine")
    (mine / "roost.json").write_text((home / "roost.json").read_text())
    configure(mine, auth)
    monkeypatch.setenv("ROOST_HOME", str(mine))
    kind = "password" if "password" in auth else "token"
    for command in ("gateway health", "status"):
        assert main(command.split()) == 1
        said = capsys.readouterr().err
        assert f"a gateway answers on {served.url}, and does not take the {kind} of {mine}" in said
        for way in ("another ROOST_HOME", "--url", "--token", "gateway.port"):
            assert way in said
    assert main(["gateway", "health", "--token", "wrong"]) == 1
    assert "token mismatch" in capsys.readouterr().err


@pytest.fixture
async def fleet(home: Path, postgres_server: str) -> AsyncIterator[Store]:
    """A store that several gateways share."""
    await postgres.empty(postgres_server)
    text = (home / "roost.json").read_text()
    (home / "roost.json").write_text(
        text.replace("{ gateway", f'{{ database: "{postgres_server}", gateway', 1)
    )
    async with open_store(load({"ROOST_HOME": str(home)})) as store:
        yield store


async def test_of_several_gateways_one_that_answers_is_found(home: Path, fleet: Store) -> None:
    # In the order of their names: one that is gone, one that may not be spoken to, and those that are there.
    for number, address in enumerate(["ws://127.0.0.1:1", "ws://192.0.2.1:18789", "ws://127.0.0.1:2"]):
        await fleet.acquire_lease(Gateway(name=f"!{number}", holder="h", address=address))
    with serving(home, port=0):
        async with gateway(Where()) as client:
            assert client.hello.version == "1"


async def test_where_none_of_several_answers_there_is_no_gateway(home: Path, fleet: Store) -> None:
    for number in (1, 2):
        await fleet.acquire_lease(Gateway(name=f"{number}", holder="h", address=f"ws://127.0.0.1:{number}"))
    with pytest.raises(Unreachable):
        async with gateway(Where()):
            pass


@pytest.mark.requirement("S26")
async def test_a_fingerprint_for_clear_text_is_refused_before_anything_is_said(served: Served) -> None:
    with pytest.raises(InvalidInput, match="leave --tls-fingerprint out"):
        async with gateway(Where(url=served.url, tls_fingerprint="00" * 32)):
            pass


def with_certificate(home: Path, folder: str) -> None:
    certificate(home)
    text = (home / "roost.json").read_text()
    files = f'cert: "{folder}cert.pem", key: "{folder}key.pem"'
    (home / "roost.json").write_text(text.replace("gateway: {", f"gateway: {{ tls: {{ {files} }},"))


@pytest.mark.requirement("S26")
@pytest.mark.parametrize("folder", ["{home}/", ""], ids=["anywhere", "in the gateway's home"])
async def test_a_gateway_with_its_own_certificate_is_known_by_the_configuration_or_its_fingerprint(
    home: Path, folder: str
) -> None:
    with_certificate(home, folder.format(home=home))
    with serving(home) as served:
        assert served.url.startswith("wss://")
        async with gateway(Where()) as client:
            assert client.hello.version == "1"
        assert served.token_file is not None
        named = Where(url=served.url, token=served.token_file.read_text().strip())
        with pytest.raises(Untrusted, match="tls-fingerprint"):
            async with gateway(named):
                pass
        with pytest.raises(Untrusted, match="not the one") as refused:
            async with gateway(replace(named, tls_fingerprint="00" * 32)):
                pass
        found = str(refused.value).split("it is ")[1].split(";")[0].split()[0].rstrip(".;,")
        async with gateway(replace(named, tls_fingerprint=found)) as client:
            assert client.hello.version == "1"


@pytest.mark.requirement("S26")
async def test_clear_text_beyond_this_machine_needs_the_flag_by_name() -> None:
    with pytest.raises(InvalidInput, match="dangerously-allow-clear-text"):
        async with gateway(Where(url="ws://192.0.2.1:18789", token="t")):
            pass


@pytest.mark.parametrize(
    "command",
    [
        "import openclaw x",
        "sessions import x",
        "sessions unbundle x",
        "erase telegram:1 --yes",
        "repair",
        "db migrate",
        "db backup",
        "db restore x",
        "db copy --to x.db",
        "config set session.dmScope per-peer",
    ],
)
def test_an_agents_shell_writes_nothing_past_the_gateway(
    home: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(home.rglob("*"))
    monkeypatch.setenv("ROOST_SHELL", "exec")
    assert main([*command.split(), "--json"]) == 1
    told = json.loads(capsys.readouterr().err)["error"]
    assert told["code"] == "forbidden"
    assert "ask the person" in told["hint"]
    assert sorted(home.rglob("*")) == before
