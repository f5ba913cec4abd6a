import asyncio
import io
import json
import logging
import stat
from pathlib import Path

import pytest

from roost.core.redaction import ExactValues, Span
from roost.logs import Form, logging_into, logging_to
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


@pytest.mark.requirement("P24", "S24", "P29")
def test_a_line_of_json_says_the_same_in_fields_without_secrets() -> None:
    stream = io.StringIO()
    log = logging.getLogger("roost.somewhere")
    quoted = 'a "quoted" secret'
    with logging_to(stream, ExactValues([SECRET, quoted], StdlibScanner()), form=Form.JSON):
        log.warning("with %s and %s", quoted, FORMED, extra={"trace": "t-1", "run": "r-1", "session": "main"})
        log.error("it\nbroke", exc_info=ValueError(SECRET))
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert {
        "level": "warning",
        "logger": "roost.somewhere",
        "trace": "t-1",
        "run": "r-1",
    }.items() <= first.items()
    assert first["time"].endswith("Z")
    assert second["message"] == "it\nbroke"
    assert "ValueError" in second["error"]
    for planted in (SECRET, quoted, FORMED, '\\"quoted\\" secret'):
        assert planted not in stream.getvalue()


@pytest.mark.requirement("S24")
def test_a_file_is_its_owners_is_put_aside_when_full_and_hears_what_others_warn_of(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "gateway.log"
    with logging_into(file, ExactValues([SECRET], StdlibScanner()), logging.INFO, 2_000):
        logging.getLogger("uvicorn.error").warning("of another: %s", SECRET)
        logging.getLogger("uvicorn.error").info("unheard")
        for number in range(40):
            logging.getLogger("roost.somewhere").info("line %s %s", number, "x" * 100)
        logging.getLogger("roost.somewhere").debug("unheard")
    logging.getLogger("roost.somewhere").error("after")
    files = sorted(file.parent.glob("gateway.log*"))
    assert [one.name for one in files] == ["gateway.log", *(f"gateway.log.{n}" for n in (1, 2, 3))]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert all(one.stat().st_size <= 2_000 for one in files)
    text = "".join(one.read_text() for one in files)
    assert '"line 39 ' in text
    assert "unheard" not in text
    assert "after" not in text


class Counting:
    """Finds nothing, and counts how often it looks."""

    def __init__(self) -> None:
        self.looks = 0

    def find(self, text: str) -> tuple[Span, ...]:
        self.looks += 1
        return ()


def test_a_line_is_written_once_and_looked_through_once(tmp_path: Path) -> None:
    scanner = Counting()
    with logging_into(tmp_path / "logs" / "gateway.log", scanner, logging.INFO, 4_000):
        logging.getLogger("roost.somewhere").info("one", extra={"trace": "t-1", "run": "r-1"})
        logging.getLogger("roost.somewhere").info("two", extra={"trace": "t-2", "run": "r-2"})
    assert scanner.looks == 2


class Noticing:
    """Finds nothing, and tells that it looked."""

    def __init__(self) -> None:
        self.looked = asyncio.Event()

    def find(self, text: str) -> tuple[Span, ...]:
        self.looked.set()
        return ()


async def test_good_news_comes_a_moment_later_and_a_warning_at_once_behind_it(tmp_path: Path) -> None:
    file, scanner = tmp_path / "logs" / "gateway.log", Noticing()
    log = logging.getLogger("roost.somewhere")
    with logging_into(file, scanner, logging.INFO, 10_000):
        await asyncio.to_thread(log.info, "of a thread that has no loop")
        assert _messages(file) == ["of a thread that has no loop"]
        log.info("one")
        assert len(_messages(file)) == 1
        log.warning("two")
        assert _messages(file)[1:] == ["one", "two"]
        scanner.looked.clear()
        log.info("three")
        assert len(_messages(file)) == 3
        await scanner.looked.wait()
        assert len(_messages(file)) == 4
        log.info("the last")
    assert _messages(file)[3:] == ["three", "the last"]


def _messages(file: Path) -> list[str]:
    return [json.loads(line)["message"] for line in file.read_text().splitlines()]


def test_of_several_who_write_one_file_one_puts_it_aside_and_no_line_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "gateway.log"
    log = logging.getLogger("roost.somewhere")
    with (
        logging_into(file, StdlibScanner(), logging.INFO, 4_000),
        logging_into(file, StdlibScanner(), logging.INFO, 4_000),
    ):
        for number in range(60):
            log.info("line %s.", number)
    text = "".join(one.read_text() for one in file.parent.glob("gateway.log*"))
    assert [text.count(f"line {number}.") for number in range(60)] == [2] * 60
    assert all(json.loads(line) for line in text.splitlines())


def test_a_file_that_was_taken_away_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "gateway.log"
    with logging_into(file, StdlibScanner(), logging.INFO, 4_000):
        file.unlink()
        logging.getLogger("roost.somewhere").info("it is here")
    assert "it is here" in file.read_text()


@pytest.mark.requirement("S24")
def test_what_others_warn_of_is_masked_too(tmp_path: Path) -> None:
    file = tmp_path / "gateway.log"
    with logging_into(file, ExactValues([SECRET], StdlibScanner()), logging.INFO, 10_000):
        logging.getLogger("uvicorn.error").warning("of another: %s", SECRET)
    assert "of another: " in file.read_text()
    assert SECRET not in file.read_text()


def test_a_file_that_could_not_be_made_anew_is_made_when_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    file = tmp_path / "state" / "logs" / "gateway.log"
    with logging_into(file, StdlibScanner(), logging.INFO, 1_000):
        logging.getLogger("roost.x").info("first")
        file.unlink()
        file.mkdir()
        logging.getLogger("roost.x").info("lost")
        file.rmdir()
        logging.getLogger("roost.x").info("second")
    assert '"second"' in file.read_text()
