"""What is wrong here, and what to do about it."""

from pathlib import Path

from tests.unit.cli.conftest import Told, as_json


def test_what_is_wrong_here_is_found_and_mended(home: Path, told: Told) -> None:
    (home / "roost.json").chmod(0o644)
    assert "can be read by others" in told("doctor", code=1)
    assert "private now" in told("doctor", "--fix")
    assert "none runs; version 0.1.0.dev0, 1 model: only the demo model answers" in told("doctor")
    (home / "roost.json").write_text("{ nonsense: 1 }")
    assert "nonsense" in told("doctor", code=1)


def test_files_that_lie_elsewhere_are_found_and_mended_too(home: Path, told: Told) -> None:
    folder = home / "mirror"
    folder.mkdir()
    folder.chmod(0o755)
    told("config", "set", "session.mirror", str(folder))
    assert f"{folder} can be read by others" in told("doctor", code=1)
    assert f"fixed     chmod 700 {folder}" in told("security", "audit", "--fix")
    folder.chmod(0o755)
    told("doctor", "--fix")
    assert folder.stat().st_mode & 0o077 == 0


def test_older_spellings_are_named_and_written_anew(home: Path, told: Told) -> None:
    file = home / "roost.json"
    file.write_text("{ session: { idleMinutes: 60 } }")
    file.chmod(0o600)
    assert "an older spelling" in told("doctor")
    assert "is written as session.reset now" in told("doctor", "--fix")
    assert "an older spelling" not in told("doctor")
    assert "idleMinutes: 60" not in file.read_text()


def test_an_older_spelling_that_cannot_be_taken_out_stays(home: Path, told: Told) -> None:
    text = "{ session: { idleMinutes: 60 /* an hour */, dmScope: 'per-peer' } }"
    file = home / "roost.json"
    file.write_text(text)
    file.chmod(0o600)
    assert "change it with an editor" in told("doctor", "--fix")
    assert file.read_text() == text


def test_a_model_that_was_set_up_is_listed_and_said_to_answer(home: Path, told: Told) -> None:
    where = ["--model", "small", "--base-url", "http://127.0.0.1:1/v1"]
    told("onboard", "--provider", "mine", *where)
    assert "mine/small" in told("models")
    assert "2 models: mine/small answers" in told("doctor")
    told("config", "set", "agents.list", '[{"id": "main", "model": "demo/demo"}, {"id": "other"}]')
    (finding,) = [one for one in as_json(told, "doctor") if one["about"] == "gateway"]
    assert "2 models: the demo model answers" in finding["said"]
    assert "roost onboard" in finding["fix"]


def test_a_channel_without_an_adapter_is_named(told: Told) -> None:
    told("config", "set", "channels", '{"telegram": {"allowFrom": ["7"]}, "webchat": {}}')
    found = [one["about"] for one in as_json(told, "doctor") if "no adapter" in one["said"]]
    assert found == ["channel telegram"]


def test_a_store_that_is_damaged_is_found(home: Path, told: Told) -> None:
    told("db", "migrate")
    (home / "roost.json").chmod(0o600)
    assert "sound" in told("doctor", "--fix")
    file = home / "roost.db"
    content = bytearray(file.read_bytes())
    content[4096 * 20 : 4096 * 21] = b"\xff" * 4096
    file.write_bytes(content)
    assert "run `roost db check`" in told("doctor", code=1)
    file.write_bytes(b"nonsense" * 1_000)
    assert "run `roost db check`" in told("doctor", code=1)


def test_a_gateway_that_cannot_be_asked_is_a_finding(told: Told) -> None:
    assert "connection refused" in told("doctor", "--url", "ws://127.0.0.1:1", "--fix", code=1)
