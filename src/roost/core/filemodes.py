"""Which of a gateway's files others on the machine could read or write."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from roost.core.findings import Finding, Severity

_READ, _WRITE, _OTHERS = 0o044, 0o022, 0o077


class FileRole(StrEnum):
    """What a file is for, as its findings name it."""

    HOME = "state_dir"
    CONFIG = "config"
    STORE = "sessions_store"
    TOKEN = "token"  # noqa: S105 — a kind of file
    CREDENTIAL = "credential"
    TLS_KEY = "tls_key"
    TRANSCRIPTS = "transcripts"


_FOLDERS = frozenset({FileRole.HOME, FileRole.TRANSCRIPTS})
_FOR_ITS_OWNER = frozenset({FileRole.TOKEN, FileRole.CREDENTIAL, FileRole.CONFIG, FileRole.TLS_KEY})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    """One file or folder as the machine has it: its permission bits, and whether it is this user's own."""

    role: FileRole
    path: str
    mode: int
    own: bool = True
    is_link: bool = False

    @property
    def wanted(self) -> int:
        return 0o700 if self.role in _FOLDERS else 0o600

    @property
    def is_private(self) -> bool:
        return self.own and not self.mode & _OTHERS

    @property
    def can_be_closed(self) -> bool:
        """Whether taking rights from others mends it."""
        return self.own and bool(self.mode & _OTHERS)


def exposed(files: Iterable[KeptFile]) -> Iterator[Finding]:
    for file in files:
        yield from _exposed(file)


def _exposed(file: KeptFile) -> Iterator[Finding]:
    close = f"chmod {file.wanted:o} {file.path}"
    if not file.own:
        yield _finding(file, "not_owned", Severity.CRITICAL, "belongs to somebody else", "make it your own")
    if file.is_link:
        yield _finding(
            file, "symlink", Severity.WARN, "is a link; where it leads may be changed", "keep it here"
        )
    if file.mode & _WRITE:
        yield _finding(file, "perms_writable", Severity.CRITICAL, "can be written by others", close)
    if file.mode & _READ:
        worst = Severity.CRITICAL if file.role in _FOR_ITS_OWNER else Severity.WARN
        yield _finding(file, "perms_readable", worst, "can be read by others", close)


def _finding(file: KeptFile, name: str, severity: Severity, what: str, fix: str) -> Finding:
    return Finding(
        id=f"fs.{file.role}.{name}",
        severity=severity,
        text=f"{file.path} {what}.",
        setting=file.path,
        fix=fix,
    )
