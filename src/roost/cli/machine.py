"""What the machine refuses, in a line that says what to do."""

import errno
from types import MappingProxyType

from roost.core.errors import RoostError

_ROOM = "make room, and do it again"
_RIGHTS = "see whose it is, and as whom you run this"
_PATH = "see that the path is right"
_LIMITS = "see `ulimit -a`"

_TOLD = MappingProxyType(
    {
        errno.ENOSPC: ("no space is left on the disk", _ROOM),
        errno.EDQUOT: ("the disk gives you no more space", _ROOM),
        errno.EFBIG: ("a file may not become so large", _LIMITS),
        errno.EROFS: (
            "the disk can be read only",
            "have it written to, or set ROOST_HOME to a folder elsewhere",
        ),
        errno.EACCES: ("the system does not allow it", _RIGHTS),
        errno.EPERM: ("the system does not allow it", _RIGHTS),
        errno.EIO: ("the disk cannot be read or written", "see the system's log for what is wrong with it"),
        errno.EMFILE: ("too many files are open", _LIMITS),
        errno.ENFILE: ("too many files are open", _LIMITS),
        errno.ENOENT: ("there is no such file", _PATH),
        errno.EEXIST: ("there is such a file already", _PATH),
        errno.ENOTDIR: ("that is no folder", _PATH),
        errno.EISDIR: ("that is a folder", _PATH),
        errno.ELOOP: ("links lead in a circle", _PATH),
        errno.ENAMETOOLONG: ("the name is too long", _PATH),
    }
)


class MachineError(RoostError):
    """The machine refused something."""

    code = "machine"


def told(error: OSError) -> MachineError | None:
    """None for what is no matter of files and disks."""
    found = _TOLD.get(error.errno or 0)
    if found is None:
        return None
    what, hint = found
    return MachineError(f"{what}{f': {error.filename}' if error.filename else ''}", hint=hint)
