"""The audit from the command line."""

import json
from pathlib import Path

import pytest

from roost.cli.main import main


@pytest.fixture(autouse=True)
def closed(home: Path) -> None:
    home.chmod(0o700)
    if (home / "roost.json").exists():
        (home / "roost.json").chmod(0o600)


def test_a_closed_gateway_has_nothing_to_hear(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["security", "audit"]) == 0
    assert capsys.readouterr().out == "Nothing was found.\n"


@pytest.mark.requirement("D34")
def test_people_who_share_a_session_are_reported_with_the_setting(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = home / "roost.json"
    config.write_text('{ session: { dmScope: "main" }, channels: { telegram: { allowFrom: ["1", "2"] } } }')
    config.chmod(0o600)
    assert main(["security", "audit"]) == 0
    out = capsys.readouterr().out
    assert "channels.dm.session_collision.telegram.allow_from; session.dmScope: set it to `owner-main`" in out
    assert out.startswith("warn ")


TELEGRAM = '"telegram": {"groupPolicy": "disabled", "allowFrom": '


@pytest.mark.requirement("D34")
@pytest.mark.parametrize(
    ("document", "found"),
    [
        (f'{{"commands": {{"ownerAllowFrom": ["telegram:1"]}}, "channels": {{{TELEGRAM}["2"]}}}}}}', True),
        (f'{{"channels": {{{TELEGRAM}["1"]}}, "discord": {{"allowFrom": ["2"]}}}}}}', True),
        (
            f'{{"session": {{"scope": "global", "dmScope": "per-peer"}}, "channels": {{{TELEGRAM}["1", "2"]}}}}}}',
            True,
        ),
        (f'{{"channels": {{{TELEGRAM}["1", "telegram:1"]}}}}}}', False),
    ],
    ids=["the owner and another", "two channels", "global scope", "one person twice"],
)
def test_whoever_shares_direct_messages_with_another_is_reported(
    home: Path, capsys: pytest.CaptureFixture[str], document: str, *, found: bool
) -> None:
    config = home / "roost.json"
    config.write_text(document)
    config.chmod(0o600)
    assert main(["security", "audit", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert any("session_collision" in one["checkId"] for one in findings) is found


def test_what_is_critical_fails_until_it_is_fixed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = home / "roost.json"
    config.write_text("{}")
    config.chmod(0o644)
    assert main(["security", "audit", "--json"]) == 1
    before = json.loads(capsys.readouterr().out)
    assert before["findings"] == [
        {
            "checkId": "fs.config.perms_readable",
            "severity": "critical",
            "detail": f"{config} can be read by others.",
            "setting": str(config),
            "remediation": f"chmod 600 {config}",
        }
    ]
    assert before["summary"] == {"critical": 1, "warn": 0, "info": 0}
    assert main(["security", "audit", "--fix"]) == 0
    assert capsys.readouterr().out == f"fixed     chmod 600 {config}\n"
