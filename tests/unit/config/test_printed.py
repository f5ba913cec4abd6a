"""Programs that print credentials, really run."""

import logging
import sys

import anyio
import pytest

from roost.config import configured_secrets
from roost.config.printed import printed
from roost.config.settings import Settings
from roost.core.errors import ConfigInvalid
from tests.unit.config.given import ENVIRON, settings

SECONDS = 60
LEAKED = "sk-must-not-be-seen"


def program(text: str) -> dict[str, list[str]]:
    return {"command": [sys.executable, "-c", text]}


def given(credential: object, **more: object) -> Settings:
    document = {"models": {"providers": {"local": {"apiKey": credential, **more}}}}
    return settings(document, {**ENVIRON, "ROOST_PROGRAMS": f"{sys.executable}:/no/such/program"})


async def failure(credential: object, seconds: float = SECONDS) -> str:
    with pytest.raises(ConfigInvalid) as refused:
        await printed(given(credential), seconds=seconds)
    assert "models.providers.local.apiKey" in str(refused.value)
    return str(refused.value)


async def test_what_a_program_prints_is_the_credential_wherever_one_may_stand() -> None:
    header = {"X-Team": program("print('team')")}
    found = await printed(
        given(program("print('  sk-1  ')"), headers=header, models=[{"id": "m", "headers": header}])
    )
    assert {path: secret.reveal() for path, secret in configured_secrets(found).items()} == {
        "models.providers.local.apiKey": "sk-1",
        "models.providers.local.headers.X-Team": "team",
        "models.providers.local.models[0].headers.X-Team": "team",
    }


async def test_other_credentials_and_none_stay_as_they_are() -> None:
    for document in (given("sk-plain"), settings({"models": {"providers": {"local": {}}}}), settings({})):
        assert await printed(document) == document


async def test_a_program_that_fails_is_told_by_its_place_and_not_by_what_it_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    said = await failure(
        program(f"import sys; print('{LEAKED}'); print('{LEAKED}', file=sys.stderr); sys.exit(3)")
    )
    assert "ended with status 3" in said
    assert LEAKED not in said + caplog.text


async def test_a_program_that_does_not_exist_or_prints_nothing_is_told() -> None:
    assert "cannot be run: No such file" in await failure({"command": ["/no/such/program"]})
    nothing = ("pass", "print('  ')", "import sys; sys.stdout.buffer.write(b'\\xff')", "print('x' * 100_000)")
    for text in nothing:
        said = await failure(program(text))
        assert "no" in said
        assert "xxx" not in said


async def test_a_program_that_does_not_end_is_ended() -> None:
    with anyio.fail_after(SECONDS):
        assert "did not end in 0.3 s" in await failure(program("import time; time.sleep(600)"), seconds=0.3)
