"""Which gateway a command speaks to."""

from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from roost.cli.where import Where, gateway
from roost.client import Refused


def configure(home: Path, auth: str) -> None:
    before = (home / "roost.json").read_text()
    (home / "roost.json").write_text(before.replace("gateway: {", f"gateway: {{ auth: {auth},"))


@pytest.mark.parametrize(
    "auth", ['{ mode: "password", password: "open sesame" }', '{ token: "configured" }', '{ mode: "none" }']
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
