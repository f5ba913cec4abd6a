import io
import logging

import pytest

from roost.core.redaction import ExactValues
from roost.logs import logging_to
from roost.scanners.stdlib import StdlibScanner

SECRET = "plain words of the owner"
FORMED = "ghp_" + "a1B2" * 9


@pytest.mark.requirement("P24")
def test_no_secret_is_in_a_line_or_its_trace() -> None:
    stream = io.StringIO()
    log = logging.getLogger("roost.somewhere")
    with logging_to(stream, ExactValues([SECRET], StdlibScanner())):
        log.warning("the token is %s", FORMED)
        log.error("it broke", exc_info=ValueError(SECRET))
    said = stream.getvalue()
    assert "WARNING roost.somewhere: the token is ghp_a1" in said
    assert "ValueError: plain" in said
    assert FORMED not in said
    assert SECRET not in said


def test_lines_go_there_from_a_level_on_and_only_within_the_block() -> None:
    stream = io.StringIO()
    log = logging.getLogger("roost.somewhere")
    level = logging.getLogger("roost").level
    with logging_to(stream, StdlibScanner()):
        log.info("unheard")
        log.error("heard")
    log.error("after")
    assert stream.getvalue().count("\n") == 1
    assert "heard" in stream.getvalue()
    assert logging.getLogger("roost").level == level


@pytest.mark.requirement("P29")
def test_a_line_ends_with_what_it_is_found_by() -> None:
    stream = io.StringIO()
    log = logging.getLogger("roost.somewhere")
    with logging_to(stream, StdlibScanner()):
        log.warning("one", extra={"trace": "t-1", "run": "r-1"})
        log.warning("two", extra={"trace": "", "run": None})
    first, second = stream.getvalue().splitlines()
    assert first.endswith("roost.somewhere: one trace=t-1 run=r-1")
    assert second.endswith("two")
