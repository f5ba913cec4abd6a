"""What the machine refuses, as people read it."""

import errno

import pytest

from roost.cli.machine import told


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "no space is left on the disk: /a/b (make room, and do it again)"),
        (errno.EROFS, "the disk can be read only: /a/b (have it written to, or set ROOST_HOME"),
        (errno.EACCES, "the system does not allow it: /a/b (see whose it is"),
    ],
)
def test_it_says_what_is_wrong_with_which_file_and_what_to_do(code: int, words: str) -> None:
    assert str(told(OSError(code, "as the system says it", "/a/b"))).startswith(words)


def test_output_has_no_name() -> None:
    assert (
        str(told(OSError(errno.ENOSPC, "x"))) == "no space is left on the disk (make room, and do it again)"
    )


def test_what_is_no_matter_of_files_is_not_told() -> None:
    assert told(ConnectionResetError(errno.ECONNRESET, "x")) is None
    assert told(OSError("a defect")) is None
