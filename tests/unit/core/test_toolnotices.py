from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.deliveries import DeliveryKind
from roost.core.effects import AddDelivery
from roost.core.jsonvalue import JsonObject
from roost.core.messages import Image, Text, ToolCall
from roost.core.principals import OWNER
from roost.core.runs import Request, Run, RunKind, StopRequest
from roost.core.sendpolicy import SendAction, SendPolicy
from roost.core.sessions import Overrides, SendOverride, Session, Verbosity
from roost.core.snapshots import Snapshot
from roost.core.toolnotices import LONGEST_ARGUMENTS, LONGEST_OUTPUT, began_line, level_of, over_line, tell
from roost.core.tools import ToolOutcome
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from tests.credentials import mixed

CHAT = Address(channel="telegram", to="1")
SCANNER = StdlibScanner()
SECRET = f"sk-proj-{mixed(48)}"


def call(arguments: JsonObject | None = None) -> ToolCall:
    return ToolCall(id="c1", name="exec", arguments=arguments or {})


def running(**changes: object) -> Run:
    run = builders.run("r1", request=Request(reply_to=CHAT))
    return replace(run, **changes)  # type: ignore[arg-type]


def verbose(level: str | None) -> Session:
    return builders.session()._replace(overrides=Overrides(verbose=level))


@pytest.mark.parametrize(
    ("level", "found"),
    [(None, Verbosity.OFF), ("on", Verbosity.ON), ("full", Verbosity.FULL), ("loud", Verbosity.OFF)],
)
def test_the_level_is_what_the_session_says(level: str | None, found: Verbosity) -> None:
    assert level_of(running(), verbose(level)) is found


def test_nothing_is_shown_of_a_run_that_answers_to_no_chat() -> None:
    for request in (Request(), Request(reply_to=CHAT, kind=RunKind.FLUSH)):
        assert level_of(running(request=request), verbose("full")) is Verbosity.OFF


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({}, "exec"),
        ({"command": "ls  -l\n| wc"}, "exec: ls -l | wc"),
        (
            {"path": "a b", "limit": 3, "deep": {"x": [True, None]}},
            'exec: path=a b, limit=3, deep={"x": [true, null]}',
        ),
        ({"password": "hunter"}, "exec: ***"),
        ({"user": "ann", "token": {"value": 4711}}, 'exec: user=ann, token={"value": "***"}'),
    ],
)
def test_a_call_is_one_line(arguments: JsonObject, line: str) -> None:
    assert began_line(call(arguments), SCANNER) == line


def test_a_long_call_is_cut() -> None:
    line = began_line(call({"command": "x" * 1_000}), SCANNER)
    assert line == f"exec: {'x' * LONGEST_ARGUMENTS}…"


def test_secrets_are_masked_and_without_a_scanner_nothing_is_shown() -> None:
    arguments: JsonObject = {"command": f"login {SECRET}"}
    outcome = ToolOutcome(content=(Text(f"token {SECRET}"),))
    assert SECRET not in began_line(call(arguments), SCANNER)
    assert SECRET not in (over_line(call(), outcome, Verbosity.FULL, SCANNER) or "")
    assert began_line(call(arguments), None) == "exec"
    assert over_line(call(), outcome, Verbosity.FULL, None) == "exec is done."


def test_a_secret_at_the_cut_is_masked_before_it_is_cut() -> None:
    text = "x" * (LONGEST_OUTPUT - 12) + " " + SECRET
    line = over_line(call(), ToolOutcome(content=(Text(text),)), Verbosity.FULL, SCANNER)
    assert SECRET[:9] not in (line or "")


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (ToolOutcome(content=(Text(" out \n"),)), "exec is done:\nout"),
        (ToolOutcome(content=(Text("no"),), is_error=True), "exec failed:\nno"),
        (ToolOutcome(content=()), "exec is done."),
        (
            ToolOutcome(content=(Image(mime="image/png", data=""), Text("a"), Text("b"))),
            "exec is done:\na\nb",
        ),
    ],
)
def test_what_a_tool_gave_is_shown_in_full_only(outcome: ToolOutcome, line: str) -> None:
    assert over_line(call(), outcome, Verbosity.FULL, SCANNER) == line
    assert over_line(call(), outcome, Verbosity.ON, SCANNER) is None
    assert over_line(call(), outcome, Verbosity.OFF, SCANNER) is None


def snapshot(run: Run | None, session: Session | None = None) -> Snapshot:
    return Snapshot(key=builders.MAIN, session=session or verbose("on"), running=run)


def test_a_run_under_way_is_told_of_once_by_a_notice_outside_the_transcript() -> None:
    run = running()
    first, second = (tell(snapshot(run), run, "exec", policy=None, at=at, about="c1 began") for at in (1, 2))
    (added,) = first
    assert isinstance(added, AddDelivery)
    assert (added.delivery.kind, added.delivery.address, added.delivery.text) == (
        DeliveryKind.NOTICE,
        CHAT,
        "exec",
    )
    assert isinstance(second[0], AddDelivery)
    assert second[0].delivery.id == added.delivery.id


@pytest.mark.parametrize(
    "now",
    [
        None,
        running(id="r2"),
        running(fence=1),
        running(stop=StopRequest(reason="enough", by=OWNER, at=1)),
    ],
)
def test_nothing_is_said_for_a_run_that_was_stopped_or_is_somebody_elses(now: Run | None) -> None:
    assert tell(snapshot(now), running(), "exec", policy=None, at=1, about="c1") == ()


def test_nothing_is_said_where_nobody_is_or_answers_may_not_be_sent() -> None:
    run, silent = running(), verbose("on")._replace(overrides=Overrides(send_policy=SendOverride.DENY))
    alone = running(request=Request())
    refusing = SendPolicy(default=SendAction.DENY)
    assert tell(snapshot(alone), alone, "exec", policy=None, at=1, about="c1") == ()
    assert tell(replace(snapshot(run), session=None), run, "exec", policy=None, at=1, about="c1") == ()
    assert tell(snapshot(run, silent), run, "exec", policy=None, at=1, about="c1") == ()
    assert tell(snapshot(run), run, "exec", policy=refusing, at=1, about="c1") == ()
