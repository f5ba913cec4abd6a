"""What is said of files that others can get at."""

import pytest

from roost.core.filemodes import FileRole, KeptFile, exposed
from roost.core.findings import Severity


@pytest.mark.parametrize(
    ("role", "mode", "ids"),
    [
        (FileRole.HOME, 0o700, []),
        (FileRole.STORE, 0o600, []),
        (FileRole.HOME, 0o755, ["fs.state_dir.perms_readable"]),
        (FileRole.STORE, 0o640, ["fs.sessions_store.perms_readable"]),
        (FileRole.TRANSCRIPTS, 0o700, []),
        (FileRole.TRANSCRIPTS, 0o750, ["fs.transcripts.perms_readable"]),
        (FileRole.CONFIG, 0o622, ["fs.config.perms_writable"]),
        (FileRole.TOKEN, 0o666, ["fs.token.perms_writable", "fs.token.perms_readable"]),
    ],
)
def test_rights_of_others_are_found(role: FileRole, mode: int, ids: list[str]) -> None:
    file = KeptFile(role=role, path="/f", mode=mode)
    found = list(exposed([file]))
    assert [one.id for one in found] == ids
    assert all(one.setting == "/f" and f"chmod {file.wanted:o} /f" == one.fix for one in found)
    assert file.can_be_closed is bool(ids)
    assert file.is_private is not bool(ids)


def test_a_file_that_holds_a_credential_is_worse_to_read() -> None:
    roles = (FileRole.CREDENTIAL, FileRole.TLS_KEY, FileRole.STORE)
    found = exposed(KeptFile(role=role, path="/f", mode=0o644) for role in roles)
    assert [one.severity for one in found] == [Severity.CRITICAL, Severity.CRITICAL, Severity.WARN]


def test_what_belongs_to_somebody_else_or_leads_elsewhere_is_found() -> None:
    file = KeptFile(role=FileRole.CONFIG, path="/f", mode=0o600, own=False, is_link=True)
    assert [one.id for one in exposed([file])] == ["fs.config.not_owned", "fs.config.symlink"]
    assert not file.can_be_closed
    assert not file.is_private
