"""An audit of a home on this machine."""

from pathlib import Path

import pytest

from roost.app.auditing import audited, close_files
from roost.config import load


def test_files_that_others_can_read_are_found_and_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "roost.json").write_text("{ gateway: { auth: { token: { file: 'secret' } } } }")
    (tmp_path / "secret").write_text("a-token-that-is-long-enough")
    for name, mode in (("roost.db", 0o644), ("roost.json", 0o664), ("secret", 0o640)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    loaded = load({"ROOST_HOME": str(tmp_path)})
    assert {one.id for one in audited(loaded)} == {
        "fs.state_dir.perms_readable",
        "fs.config.perms_readable",
        "fs.config.perms_writable",
        "fs.credential.perms_readable",
        "fs.sessions_store.perms_readable",
    }
    done = close_files(loaded)
    assert f"chmod 600 {tmp_path / 'roost.db'}" in done
    assert audited(loaded) == ()
    assert close_files(loaded) == ()


def test_rights_are_only_ever_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    file = tmp_path / "roost.db"
    file.touch()
    file.chmod(0o444)
    assert close_files(load({"ROOST_HOME": str(tmp_path)})) == (f"chmod 400 {file}",)


@pytest.mark.requirement("S26")
def test_clear_text_beyond_this_machine_is_found_by_its_flag(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    file = tmp_path / "roost.json"
    file.write_text('{ gateway: { bind: "lan", dangerouslyAllowClearText: true } }')
    file.chmod(0o600)
    (found,) = audited(load({"ROOST_HOME": str(tmp_path)}))
    assert (found.id, found.setting) == ("gateway.bind_clear_text", "gateway.dangerouslyAllowClearText")


def test_the_key_of_the_certificate_and_the_transcripts_are_looked_at_wherever_they_lie(
    tmp_path: Path,
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder, mode in ((home, 0o700), (elsewhere, 0o755), (elsewhere / "main", 0o755)):
        folder.mkdir()
        folder.chmod(mode)
    for name in ("cert.pem", "key.pem"):
        (elsewhere / name).touch(mode=0o644)
    file = home / "roost.json"
    file.write_text(
        f'{{ gateway: {{ tls: {{ cert: "{elsewhere}/cert.pem", key: "{elsewhere}/key.pem" }} }}, '
        f'session: {{ mirror: "{elsewhere}/{{agentId}}" }} }}'
    )
    file.chmod(0o600)
    loaded = load({"ROOST_HOME": str(home)})
    assert [(one.id, one.setting) for one in audited(loaded)] == [
        ("fs.tls_key.perms_readable", str(elsewhere / "key.pem")),
        ("fs.transcripts.perms_readable", str(elsewhere / "main")),
    ]
    close_files(loaded)
    assert audited(loaded) == ()
    assert (elsewhere / "cert.pem").stat().st_mode & 0o077


def test_a_key_where_no_file_can_be_hides_nothing_else_from_the_audit(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "roost.json"
    file.write_text("{ gateway: { tls: { cert: 'roost.json/cert.pem', key: 'roost.json/key.pem' } } }")
    file.chmod(0o600)
    (found,) = audited(load({"ROOST_HOME": str(tmp_path)}))
    assert found.id == "fs.state_dir.perms_readable"
