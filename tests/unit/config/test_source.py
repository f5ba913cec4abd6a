import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.config.gateway import Bind
from roost.config.problems import ConfigRefused
from roost.config.settings import Settings
from roost.config.source import ConfigSource, Loaded, from_environment, load
from roost.core.secrets import Secret


def _load(home: Path, text: str | None = None, **environ: str) -> Loaded:
    if text is not None:
        (home / "roost.json").write_text(text)
    return load({"ROOST_HOME": str(home), **environ})


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    loaded = _load(tmp_path)
    assert loaded.settings.gateway.port == 18789
    assert loaded.warnings == ()
    assert loaded.sources.home == tmp_path
    assert loaded.sources.file == tmp_path / "roost.json"
    assert loaded.sources.exists is False


def test_a_named_file_that_is_missing_is_refused_but_by_who_is_about_to_write_it(tmp_path: Path) -> None:
    environ = {"ROOST_HOME": str(tmp_path), "ROOST_CONFIG": "other.json"}
    with pytest.raises(ConfigRefused, match="ROOST_CONFIG names it, and it does not exist") as refused:
        load(environ)
    assert str(tmp_path / "other.json") in str(refused.value)
    assert ConfigSource(environ).draft().sources.exists is False


def test_the_file_lies_in_the_home_folder_unless_named(tmp_path: Path) -> None:
    assert _load(tmp_path, "{gateway: {port: 1}}").settings.gateway.port == 1
    (tmp_path / "other.json").write_text("\ufeff{gateway: {port: 2}}")
    assert _load(tmp_path, ROOST_CONFIG="other.json").settings.gateway.port == 2
    assert _load(tmp_path, ROOST_CONFIG=str(tmp_path / "other.json")).settings.gateway.port == 2


@pytest.mark.requirement("D09")
@pytest.mark.parametrize(
    ("session", "folder"),
    [
        ("{}", None),
        ("{store: '~/agents/{agentId}/sessions/sessions.json'}", "user/agents/ops/sessions"),
        ("{store: 'kept'}", "home/kept"),
        ("{store: 'kept', mirror: '/mirror/{agentId}'}", "/mirror/ops"),
    ],
)
def test_transcripts_lie_where_the_configuration_puts_them(
    tmp_path: Path, session: str, folder: str | None
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    loaded = _load(home, f"{{session: {session}}}", HOME=str(tmp_path / "user"))
    assert loaded.transcript_folder("ops") == (None if folder is None else tmp_path / folder)


@pytest.mark.parametrize(
    ("workspace", "kept"),
    [
        ("/", "home"),
        ("..", "home"),
        ("~", "home"),
        ("{top}", "home"),
        ("{top}/home", "home"),
        (".", "home"),
        ("{top}/linked", "home"),
        ("{top}/etc", "etc/roost.json"),
        ("{top}/elsewhere", "etc/roost.json"),
        ("{top}/data", "home/roost.db"),
        ("{top}/keys", "keys/token"),
        ("{top}/tls", "tls/key.pem"),
    ],
)
def test_a_workspace_that_holds_what_is_the_gateways_own_is_refused(
    tmp_path: Path, workspace: str, kept: str
) -> None:
    for name in ("home", "etc", "elsewhere", "data", "keys", "tls"):
        (tmp_path / name).mkdir()
    (tmp_path / "linked").symlink_to(tmp_path)
    (tmp_path / "home" / "roost.db").symlink_to(tmp_path / "data" / "roost.db")
    (tmp_path / "etc" / "roost.json").symlink_to(tmp_path / "elsewhere" / "roost.json")
    (tmp_path / "keys" / "token").write_text("a-token-of-some-length")
    (tmp_path / "keys" / "token").chmod(0o600)
    document = {
        "gateway": {
            "auth": {"token": {"file": str(tmp_path / "keys" / "token")}},
            "tls": {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "tls" / "key.pem")},
        },
        "agents": {"defaults": {"workspace": workspace.replace("{top}", str(tmp_path))}},
    }
    (tmp_path / "elsewhere" / "roost.json").write_text(json.dumps(document))
    environ = {"HOME": str(tmp_path), "ROOST_CONFIG": str(tmp_path / "etc" / "roost.json")}
    with pytest.raises(ConfigRefused) as refused:
        load({"ROOST_HOME": str(tmp_path / "home"), **environ})
    (problem,) = refused.value.problems
    assert problem.path == "agents.defaults.workspace"
    assert problem.reason.startswith(f"{tmp_path / kept} lies in ")
    assert problem.reason.endswith("name a folder that holds agents' files only")


def test_a_workspace_that_is_refused_is_named_by_its_setting(tmp_path: Path) -> None:
    agents = "{defaults: {workspace: '~/w'}, list: [{id: 'a'}, {id: 'b', workspace: '/'}, {id: 'c', workspace: '~'}]}"
    with pytest.raises(ConfigRefused) as refused:
        _load(tmp_path, f"{{agents: {agents}}}", HOME=str(tmp_path.parent))
    assert [one.path for one in refused.value.problems] == [
        "agents.list.b.workspace",
        "agents.list.c.workspace",
    ]


def test_a_certificate_is_looked_for_where_any_path_is(tmp_path: Path) -> None:
    home, user = tmp_path / "home", tmp_path / "user"
    home.mkdir()
    assert _load(home, "{}").certificate is None
    tls = "{gateway: {tls: {cert: 'tls/cert.pem', key: '~/key.pem'}}}"
    assert _load(home, tls, HOME=str(user)).certificate == (home / "tls" / "cert.pem", user / "key.pem")


def test_a_workspace_lies_beside_or_below_what_is_the_gateways_own(tmp_path: Path) -> None:
    home, user = tmp_path / "home", tmp_path / "user"
    home.mkdir()
    agents = "[{id: 'a'}, {id: 'b', workspace: '~/b'}, {id: 'c', workspace: 'c'}, {id: 'd', workspace: '/d'}]"
    loaded = _load(home, f"{{agents: {{list: {agents}}}}}", HOME=str(user))
    assert [loaded.workspace(agent) for agent in loaded.settings.agents.list] == [
        home / "workspace" / "a",
        user / "b",
        home / "c",
        Path("/d"),
    ]


def test_state_lives_in_the_users_home_unless_told_otherwise(tmp_path: Path) -> None:
    assert ConfigSource({"HOME": "/people/x"}).home == Path("/people/x/.roost")
    assert ConfigSource({"HOME": "/people/x", "ROOST_HOME": "~"}).home == Path("/people/x")
    assert ConfigSource({"HOME": "/people/x", "ROOST_HOME": "~/r"}).resolve("a/b") == Path("/people/x/r/a/b")
    assert ConfigSource({"HOME": "/people/x"}).resolve("~/a") == Path("/people/x/a")
    assert ConfigSource({}).home == Path.home() / ".roost"
    assert ConfigSource({"ROOST_HOME": "r"}).home.is_absolute()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    text = "{gateway: {auth: {token: 'file', password: 'file'}}, database: 'postgresql://file'}"
    variables = ("ROOST_GATEWAY_TOKEN", "ROOST_GATEWAY_PASSWORD", "ROOST_DATABASE_URL")
    loaded = _load(tmp_path, text, **dict(zip(variables, ("env", "word", "postgresql://env"), strict=True)))
    assert loaded.settings.gateway.auth.token == loaded.token_of_process == Secret("env")
    assert loaded.settings.gateway.auth.password == loaded.password_of_process == Secret("word")
    assert loaded.settings.database == Secret("postgresql://env")
    assert loaded.sources.variables == variables
    loaded = _load(tmp_path, text)
    assert (loaded.token_of_process, loaded.password_of_process) == (None, None)


@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    "name",
    ["ROOST_HOME", "ROOST_CONFIG", "ROOST_GATEWAY_TOKEN", "ROOST_GATEWAY_PASSWORD", "ROOST_DATABASE_URL"],
)
def test_an_empty_variable_is_refused(name: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        load({"HOME": "/nowhere", name: " "})
    assert [problem.path for problem in caught.value.problems] == [name]


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("name", ["ROOST_GATEWAY_TOKEN", "ROOST_GATEWAY_PASSWORD"])
def test_a_credential_in_the_environment_does_not_stand_beside_an_open_gateway(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigRefused, match=r"gateway\.auth\.mode"):
        _load(tmp_path, "{gateway: {auth: {mode: 'none'}}}", **{name: "t"})


@pytest.mark.parametrize("text", ["[]", "{gateway: []}", "{gateway: {auth: 'x'}}"])
def test_an_override_does_not_hide_what_is_wrong_around_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigRefused):
        _load(tmp_path, text, ROOST_GATEWAY_TOKEN="t")


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"{}\xff")
    with pytest.raises(ConfigRefused, match="not UTF-8 at byte 2"):
        _load(tmp_path, ROOST_CONFIG="bytes.json")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ConfigRefused, match="the file: it is not a file"):
            _load(tmp_path, ROOST_CONFIG=str(path))
    with pytest.raises(ConfigRefused, match="the file: it is too large"):
        _load(tmp_path, "{}" + " " * (4 << 20))


def test_an_emptied_file_is_refused_not_taken_for_the_defaults(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="line 1, column 1"):
        _load(tmp_path, "")


def test_a_file_that_is_gone_is_not_taken_for_the_defaults_by_who_went_by_it(tmp_path: Path) -> None:
    started = _load(tmp_path)
    assert started.read_again() == started
    (tmp_path / "roost.json").write_text("{ tools: { deny: ['exec'] } }")
    found = started.read_again()
    assert list(found.settings.tools.deny) == ["exec"]
    (tmp_path / "roost.json").unlink()
    with pytest.raises(ConfigRefused, match="was there and is gone"):
        found.read_again()
    assert _load(tmp_path).settings == started.settings


def test_a_source_reads_its_file_anew_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "roost.json"
    source = ConfigSource({"ROOST_HOME": str(tmp_path)})
    file.write_text("{gateway: {port: 1}}")
    first = source.read()
    file.write_text("{gateway: {port: 2}, cron: {enabled: 1}}")
    with pytest.raises(ConfigRefused):
        source.read()
    assert first.settings.gateway.port == 1
    file.write_text("{gateway: {port: 2}}")
    assert source.read().settings.gateway.port == 2


@pytest.mark.requirement("S24")
def test_a_source_does_not_show_its_environment() -> None:
    assert "planted" not in repr(ConfigSource({"HOME": "/x", "ROOST_GATEWAY_TOKEN": "planted"}))


def test_the_process_environment_is_read_in_one_place() -> None:
    assert from_environment().environ["PATH"] == os.environ["PATH"]  # noqa: TID251 — compared with the real one


def test_importing_the_package_does_not_import_the_settings() -> None:
    code = "import sys, roost; sys.exit(sum(name.startswith(('pydantic', 'roost.config')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_the_command_line_says_holds_when_the_file_is_read_again(tmp_path: Path) -> None:
    def change(settings: Settings) -> Settings:
        flagged = settings.gateway.model_copy(update={"dangerously_allow_clear_text": True})
        return settings.model_copy(update={"gateway": flagged})

    told = load({"ROOST_HOME": str(tmp_path)}).with_change(change)
    (tmp_path / "roost.json").write_text("{ session: { dmScope: 'per-peer' } }")
    again = told.read_again()
    assert again.settings.session.dm_scope == "per-peer"
    for one in (told, again, again.read_again()):
        assert one.settings.gateway.dangerously_allow_clear_text
        assert [str(remark.path) for remark in one.warnings] == ["gateway.dangerouslyAllowClearText"]


@pytest.mark.requirement("S12")
def test_the_command_line_opens_no_gateway_that_asks_for_nothing(tmp_path: Path) -> None:
    def change(settings: Settings) -> Settings:
        bound = {"bind": Bind("lan"), "dangerously_allow_clear_text": True}
        return settings.model_copy(update={"gateway": settings.gateway.model_copy(update=bound)})

    told = load({"ROOST_HOME": str(tmp_path)}).with_change(change)
    (tmp_path / "roost.json").write_text("{ gateway: { auth: { mode: 'none' } } }")
    with pytest.raises(ConfigRefused, match=r"command line says was refused.*\n.*needs auth"):
        told.read_again()


def test_a_key_of_the_certificate_that_others_can_read_is_remarked_on(tmp_path: Path) -> None:
    text = '{ gateway: { tls: { cert: "cert.pem", key: "key.pem" } } }'
    assert _load(tmp_path, text).warnings == ()
    key = tmp_path / "key.pem"
    key.touch(mode=0o600)
    assert _load(tmp_path, text).warnings == ()
    key.chmod(0o640)
    assert [str(one) for one in _load(tmp_path, text).warnings] == [
        f"{key} can be read by others: chmod 600 {key}"
    ]
