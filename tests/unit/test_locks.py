import subprocess
import sys
from pathlib import Path

import pytest

from roost.locks import FileLock

HOLDING = """
import sys
from pathlib import Path
from roost.locks import FileLock
print(FileLock(Path(sys.argv[1])).take(), flush=True)
sys.stdin.read()
"""


def test_one_has_it_at_a_time_until_it_lets_go(tmp_path: Path) -> None:
    file = tmp_path / "home" / "lock"
    one, other = FileLock(file), FileLock(file)
    other.release()
    assert one.take()
    assert one.take()
    assert not other.take()
    one.release()
    assert other.take()
    assert file.stat().st_mode & 0o077 == 0


def test_a_process_that_is_killed_holds_it_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        assert not FileLock(file).take()
        holder.kill()
    assert FileLock(file).take()


def test_what_cannot_be_a_lock_is_an_error_and_stays_so(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    lock = FileLock(tmp_path / "link")
    for _ in range(2):
        with pytest.raises(OSError, match="link"):
            lock.take()
