"""What a webhook would do, on the command line."""

import json
from pathlib import Path

import pytest

from roost.cli.main import main

CONFIG = """{ hooks: { enabled: true, token: "hook-token-0123456789", allowedSessionKeyPrefixes: ["hook:"], mappings: {
  ci: { message: "{{repo}} broke", sessionKey: "hook:{{repo}}", secret: "signing-secret" } } } }"""


@pytest.fixture
def body(home: Path) -> Path:
    (home / "roost.json").write_text(CONFIG)
    (home / "roost.json").chmod(0o600)
    file = home / "body.json"
    file.write_text('{"repo": "roost"}')
    return file


def test_what_would_happen_is_shown_and_does_not_happen(
    home: Path, body: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hooks", "test", "ci", str(body)]) == 0
    shown = capsys.readouterr().out
    assert "agent:main:hook:roost" in shown
    assert "roost broke" in shown
    assert main(["hooks", "test", "ci", str(body), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["action"], told["proven by"]) == ("agent", "signature")
    assert not (home / "roost.db").exists()


def test_what_would_be_refused_is_refused(home: Path, body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body.write_text('{"repo": ""}')
    assert main(["hooks", "test", "ci", str(body)]) == 1
    body.write_text("{")
    assert main(["hooks", "test", "ci", str(body)]) == 1
    assert "not JSON" in capsys.readouterr().err
    (home / "roost.json").write_text("{}")
    assert main(["hooks", "test", "wake", str(body)]) == 1
    assert "there are no hooks" in capsys.readouterr().err


def test_the_body_may_come_by_the_input(
    body: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body.write_text('{"text": "it rains"}')
    with body.open(encoding="utf-8") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        assert main(["hooks", "test", "wake"]) == 0
    assert "agent:main:main" in capsys.readouterr().out
