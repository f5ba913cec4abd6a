"""What is configured, on the command line: read, changed and checked."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.cli.main import main
from roost.config import load
from tests.unit.cli.conftest import Told, as_json


def test_the_configuration_is_read_and_changed(home: Path, told: Told) -> None:
    assert told("config", "get", "session.dmScope") == "main\n"
    assert "takes it over\n" in told("config", "set", "session.dmScope", "per-peer")
    assert "at its next start" in told("config", "set", "gateway.port", "18790")
    assert told("config", "get", "session.dmScope") == "per-peer\n"
    assert as_json(told, "config", "set", "gateway.auth.token", "a-long-enough-token")["path"]
    assert "a-long-enough-token" not in told("config", "get")
    assert (home / "roost.json").stat().st_mode & 0o077 == 0
    before = (home / "roost.json").read_text()
    told("config", "set", "session.dmScope", "nonsense", code=1)
    assert (home / "roost.json").read_text() == before
    told("config", "get", "no.such", code=1)
    assert "is right" in told("config", "check")
    assert as_json(told, "config", "check")["file"] == str(home / "roost.json")
    assert "session.dmScope" in told("config", "schema")
    assert {one["path"] for one in as_json(told, "config", "schema")} >= {"gateway.port"}


def test_a_model_that_no_start_would_find_is_not_set_and_not_right(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "roost.json"
    before = file.read_text()
    assert main(["config", "set", "agents.defaults.model", "nope/x"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("roost: agent main: there is no model nope/x")
    assert said.endswith(f"; {file} stays as it was)\n")
    assert file.read_text() == before
    file.write_text('{ agents: { defaults: { model: "nope/x" } } }')
    assert main(["config", "check"]) == main(["agents"]) == 1
    check, start = capsys.readouterr().err.splitlines()
    assert check == start
    told("config", "set", "agents.defaults.model", "demo/demo")
    assert "is right" in told("config", "check")


def test_a_value_that_would_be_wrong_is_named_and_not_said_to_be_in_the_file(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "session.dmScope", "nonsense"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("roost: this would be wrong:\n  session.dmScope: ")
    assert said.endswith(f"({home / 'roost.json'} stays as it was)\n")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("gateway.prt", "did you mean `gateway.port`?"),
        ("gatway", "did you mean `gateway`?"),
        ("agents.defaults.model.primary", "`roost config schema` shows what there is"),
        ("zzzzzz", "`roost config schema` shows what there is"),
    ],
)
def test_a_setting_that_is_looked_for_in_vain_is_told_what_may_be_meant(
    path: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "get", path]) == 1
    assert capsys.readouterr().err == f"roost: nothing is set at {path} ({hint})\n"


def test_warnings_about_the_configuration_are_told(home: Path, told: Told) -> None:
    (home / "roost.json").write_text('{ session: { reset: { mode: "idle" } } }')
    assert "warning" in told("config", "check")
    (home / "roost.json").unlink()
    assert "defaults" in told("config", "check")


def test_what_is_set_at_the_same_time_is_all_set(home: Path, told: Told) -> None:
    settings = {"session.mainKey": "desk", "session.dmScope": "per-peer", "logging.level": "debug"}
    settings |= {f"models.providers.p{number}.baseUrl": f"http://{number}.test/v1" for number in range(8)}
    with ThreadPoolExecutor(len(settings)) as pool:
        codes = list(pool.map(lambda one: main(["config", "set", *one]), settings.items()))
    assert codes == [0] * len(settings)
    found = load({"ROOST_HOME": str(home)}).settings
    assert {name: one.base_url for name, one in found.models.providers.items()} == {
        f"p{number}": f"http://{number}.test/v1" for number in range(8)
    }
    assert (found.session.main_key, found.session.dm_scope, found.logging.level) == (
        "desk",
        "per-peer",
        "debug",
    )


def test_a_file_that_is_no_text_is_named_and_stays(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_bytes(b'{ session: "\xff" }')
    assert main(["config", "set", "session.dmScope", "main"]) == 1
    assert "not UTF-8 at byte 12" in capsys.readouterr().err
    assert (home / "roost.json").read_bytes() == b'{ session: "\xff" }'
