import pytest

from roost.core.authority import Unheard, without_word
from roost.core.entries import Entry
from roost.core.messages import (
    AssistantMessage,
    Body,
    Provenance,
    ProvenanceKind,
    Text,
    ToolResult,
    UserMessage,
)
from roost.core.principals import OWNER, Principal, person
from roost.core.runs import Cause
from roost.testing.clock import NOON

BOB = person("loopback", "bob")
ANSWER = AssistantMessage(content=(Text("ok"),), at=NOON)


def said(kind: ProvenanceKind = ProvenanceKind.HUMAN, by: Principal = OWNER) -> UserMessage:
    return UserMessage(content=(Text("launch"),), at=NOON, provenance=Provenance(kind=kind, principal=by))


def result(tool: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id="c", tool=tool, content=(Text("launch"),), at=NOON, is_error=is_error)


def judged(
    *bodies: Body, kind: ProvenanceKind = ProvenanceKind.HUMAN, by: Principal = OWNER
) -> Unheard | None:
    entries = [Entry(session_id="s", seq=seq, id=str(seq), body=body) for seq, body in enumerate(bodies)]
    return without_word(Cause(principal=by, kind=kind, trace="t"), entries, {"sessions_history"})


@pytest.mark.requirement("P16", "F7")
@pytest.mark.parametrize(
    "bodies",
    [
        (),
        (ANSWER,),
        (said(),),
        (said(), ANSWER, result("read")),
        (said(), result("sessions_history", is_error=True)),
        (said(ProvenanceKind.SUBAGENT), said()),
        (said(), result("sessions_history"), ANSWER, said()),
    ],
)
def test_what_the_owner_said_last_is_his_own_word(bodies: tuple[Body, ...]) -> None:
    assert judged(*bodies) is None


@pytest.mark.requirement("P16", "F7")
@pytest.mark.parametrize(
    "bodies",
    [
        (said(), result("sessions_history")),
        (said(), result("sessions_history"), ANSWER, result("read")),
        *((said(), said(kind)) for kind in ProvenanceKind if kind is not ProvenanceKind.HUMAN),
    ],
)
def test_what_others_were_heard_to_say_since_then_is_not(bodies: tuple[Body, ...]) -> None:
    assert judged(*bodies) is Unheard.SWAYED


@pytest.mark.requirement("P16", "F7")
@pytest.mark.parametrize(
    ("kind", "by"),
    [
        (ProvenanceKind.HUMAN, BOB),
        *((kind, OWNER) for kind in ProvenanceKind if kind is not ProvenanceKind.HUMAN),
    ],
)
def test_what_somebody_else_caused_is_not(kind: ProvenanceKind, by: Principal) -> None:
    assert judged(said(), kind=kind, by=by) is Unheard.CAUSE
