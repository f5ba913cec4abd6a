"""`roost onboard` with and without a terminal."""

import json
from pathlib import Path

import pytest

from roost.cli.main import main
from roost.config import load
from roost.core.secrets import Secret
from tests.unit.cli.conftest import Typed
from tests.unit.cli.terminals import Terminal

KEY = "sk-" + "tR4u" * 9


@pytest.fixture(autouse=True)
def no_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "roost.json").unlink()
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_file_that_the_environment_names_is_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_CONFIG", str(home / "other.json"))
    assert main(["onboard", "--owner", "telegram:7"]) == 0
    assert "telegram" in (home / "other.json").read_text()
    assert not (home / "roost.json").exists()


@pytest.mark.requirement("S24")
def test_a_key_is_kept_beside_the_configuration_and_never_in_it(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(f"{KEY}\n")
    arguments = ["--provider", "openai", "--api-key-stdin", "--owner", "telegram:7", "--json"]
    assert main(["onboard", *arguments]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["set"] == [
        "models.providers.openai",
        "agents.defaults.model",
        "session.dmScope",
        "channels.telegram.allowFrom",
        "commands.ownerAllowFrom",
    ]
    assert KEY not in said.out + said.err + (home / "roost.json").read_text()
    kept = home / "credentials" / "openai.key"
    assert kept.read_text() == f"{KEY}\n"
    assert kept.stat().st_mode & 0o077 == 0
    found = load({"ROOST_HOME": str(home)}).settings
    key = found.models.providers["openai"].api_key
    assert isinstance(key, Secret)
    assert key.reveal() == KEY
    assert found.session.dm_scope == "owner-main"


def test_a_key_in_the_environment_is_named_and_nothing_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert main(["onboard"]) == 0
    assert '{"env": "OPENAI_API_KEY"}' in (home / "roost.json").read_text()
    before = (home / "roost.json").read_text()
    assert main(["onboard"]) == 0
    assert "set already" in capsys.readouterr().out
    assert (home / "roost.json").read_text() == before


def test_a_file_or_a_variable_can_be_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "my.key"
    file.write_text(KEY)
    file.chmod(0o600)
    monkeypatch.setenv("MY_KEY", KEY)
    where = ["--provider", "mine", "--model", "m", "--base-url", "http://127.0.0.1:1/v1"]
    assert main(["onboard", *where, "--api-key-file", str(file)]) == 0
    assert str(file) in (home / "roost.json").read_text()
    assert main(["onboard", *where, "--api-key-env", "MY_KEY", "--dm-scope", "per-peer"]) == 0
    assert '{"env": "MY_KEY"}' in (home / "roost.json").read_text()
    assert load({"ROOST_HOME": str(home), "MY_KEY": KEY}).settings.session.dm_scope == "per-peer"


def test_channels_are_set_up_without_a_word_and_what_they_need_is_said(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "--channel",
        "telegram",
        "--channel",
        "slack=open",
        "--allow",
        "telegram:8",
        "--owner",
        "telegram:7",
    ]
    assert main(["onboard", *given]) == 0
    assert "nothing comes without an adapter" in capsys.readouterr().out
    found = load({"ROOST_HOME": str(home)}).settings.channels
    assert {name: str(one.dm_policy) for name, one in found.items()} == {
        "telegram": "allowlist",
        "slack": "open",
    }
    assert found["telegram"].allow_from == ("8", "7")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--provider", "anthropic"], "ANTHROPIC_API_KEY"),
        (["--provider", "ollama"], "--model"),
        (["--provider", "openai", "--api-key-stdin"], "empty"),
        (["--model", "m"], "give --provider"),
        (["--api-key-env", "KEY"], "give --provider"),
        (["--api-key-file", "key"], "give --provider"),
        (["--api-key-stdin"], "give --provider"),
        (["--base-url", "http://127.0.0.1:8000/v1"], "give --provider"),
        (["--provider", "none", "--model", "m"], "give --provider"),
        (["--owner", "nobody"], "telegram:12345"),
        (["--allow", "nobody"], "telegram:12345"),
        (["--channel", "telegram=all"], "choose pairing or allowlist"),
        (["--provider", "mine", "--model", "m"], "--base-url"),
        (["--provider", "antropic"], "did you mean anthropic?"),
        (["--provider", "a/b"], "letters, digits"),
        (["--provider", "mine", "--model", "m", "--base-url", "localhost:8000"], "http://"),
    ],
)
def test_what_is_missing_is_named_and_nothing_is_written(
    home: Path, arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", *arguments]) == 1
    assert hint in capsys.readouterr().err
    assert not (home / "roost.json").exists()


def test_a_model_is_not_put_in_the_place_of_another_unless_its_provider_is_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "--provider", "ollama", "--model", "one"]) == 0
    before = (home / "roost.json").read_text()
    assert main(["onboard", "--model", "two"]) == 1
    assert "give --provider" in capsys.readouterr().err
    assert (home / "roost.json").read_text() == before
    assert main(["onboard", "--provider", "ollama", "--model", "two"]) == 0


def test_without_a_model_the_demo_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["onboard", "--provider", "none"]) == 0
    assert "demo" in capsys.readouterr().out


def test_on_a_terminal_it_asks_what_cannot_be_guessed(home: Path) -> None:
    with Terminal(["onboard"], {"ROOST_HOME": str(home)}) as terminal:
        for question, answer in (
            ("Provider [none]: ", "openai"),
            ("Model [gpt-5]: ", ""),
            ("(not shown): ", KEY),
            ("[owner-main]: ", "per-peer"),
            ("Of a chat service nothing comes without an adapter", None),
            ("Channels: ", "telegram slack"),
            ("On telegram [allowlist]: ", ""),
            ("On slack [allowlist]: ", "none"),
            ("is none of them", None),
            ("On slack [allowlist]: ", "disabled"),
            ("Others: ", "telegram:8"),
            ("You: ", "telegram:7"),
        ):
            terminal.shows(question)
            if answer is not None:
                terminal.types(f"{answer}\n")
        terminal.shows("roost chat")
        assert terminal.ends() == 0
    assert KEY not in terminal.text
    found = load({"ROOST_HOME": str(home)}).settings
    assert (found.session.dm_scope, found.agents.default.model.primary) == ("per-peer", "openai/gpt-5")
    assert found.channels["telegram"].dm_policy == "allowlist"
    assert found.channels["telegram"].allow_from == ("8", "7")
    assert found.channels["slack"].dm_policy == "disabled"


def test_on_a_terminal_it_asks_where_an_endpoint_of_ones_own_is_and_for_its_key(home: Path) -> None:
    given = ["onboard", "--dm-scope", "per-peer", "--owner", "telegram:7"]
    with Terminal(given, {"ROOST_HOME": str(home)}) as terminal:
        for question, answer in (
            ("Provider [none]: ", "mine"),
            ("Where it is reached [http://127.0.0.1:8000/v1]: ", ""),
            ("Model: ", "m"),
            ("Key for mine (not shown; empty for a server without keys): ", KEY),
            ("Channels: ", ""),
        ):
            terminal.shows(question)
            terminal.types(f"{answer}\n")
        assert terminal.ends() == 0
    assert KEY not in terminal.text
    found = load({"ROOST_HOME": str(home)}).settings
    assert found.agents.default.model.primary == "mine/m"
    assert found.models.providers["mine"].base_url == "http://127.0.0.1:8000/v1"
    assert (home / "credentials" / "mine.key").read_text() == f"{KEY}\n"


def test_on_a_terminal_an_answer_that_cannot_be_used_is_asked_for_again_with_the_reason(home: Path) -> None:
    with Terminal(["onboard"], {"ROOST_HOME": str(home)}) as terminal:
        for question, answer in (
            ("Provider [none]: ", "a/b"),
            ("no name for a provider", None),
            ("Provider [none]: ", "olama"),
            ("Did you mean ollama? yes or no [yes]: ", "perhaps"),
            ("say yes or no", None),
            ("[yes]: ", "no"),
            ("Where it is reached", "localhost:8000"),
            ("does not begin with http://", None),
            ("Where it is reached", "http://localhost:8000"),
            ("Model: ", ""),
            ("needs a name", None),
            ("Model: ", "m"),
            ("Key for olama", ""),
            ("[owner-main]: ", "all"),
            ("none of them", None),
            ("[owner-main]: ", ""),
            ("Channels: ", ""),
            ("You: ", "me"),
            ("write telegram:12345", None),
            ("You: ", "telegram:7 slack:U8"),
        ):
            terminal.shows(question)
            if answer is not None:
                terminal.types(f"{answer}\n")
        terminal.shows("roost chat")
        assert terminal.ends() == 0
    found = load({"ROOST_HOME": str(home)}).settings
    assert found.agents.default.model.primary == "olama/m"
    assert found.models.providers["olama"].api_key is None
    assert found.session.dm_scope == "owner-main"
    assert found.commands.owner_allow_from == ("telegram:7", "slack:U8")


def test_on_a_terminal_a_name_that_was_mistyped_is_mended(home: Path) -> None:
    given = ["onboard", "--dm-scope", "per-peer", "--owner", "telegram:7"]
    with Terminal(given, {"ROOST_HOME": str(home)}) as terminal:
        for question, answer in (
            ("Provider [none]: ", "Antropic"),
            ("Did you mean anthropic? yes or no [yes]: ", ""),
            ("Model [claude-sonnet-4-5]: ", ""),
            ("(not shown): ", ""),
            ("the key is empty", None),
            ("(not shown): ", KEY),
            ("Channels: ", ""),
        ):
            terminal.shows(question)
            if answer is not None:
                terminal.types(f"{answer}\n")
        assert terminal.ends() == 0
    found = load({"ROOST_HOME": str(home)}).settings
    assert found.agents.default.model.primary == "anthropic/claude-sonnet-4-5"


def test_on_a_terminal_that_is_left_nothing_is_changed(home: Path) -> None:
    for before in ((), (("Provider [none]: ", "mine"), ("Where", ""), ("Model", "m"))):
        with Terminal(["onboard"], {"ROOST_HOME": str(home)}) as terminal:
            for question, answer in before:
                terminal.shows(question)
                terminal.types(f"{answer}\n")
            terminal.shows("Key for mine" if before else "Provider [none]: ")
            terminal.types("\x04")
            terminal.shows("nothing was changed")
            assert terminal.ends() == 1
        assert not (home / "roost.json").exists()
