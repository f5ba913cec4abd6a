from dataclasses import replace
from datetime import UTC

import pytest

from roost.core.heartbeats import PROMPT, Beat, Hours, acknowledged, beat_text, rests
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.messages import Image, Provenance, ProvenanceKind, Text
from roost.core.snapshots import Snapshot
from roost.testing.builders import MAIN, inbound, run, session
from roost.testing.clock import NOON

DAY = 86_400_000
BEAT = Beat(pause_ms=DAY)
HOME = Snapshot(key=MAIN, session=session())


def minutes(hour: int, minute: int = 0) -> int:
    return hour * 60 + minute


# NOON is 15:06 in Greenwich.
@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [
        (minutes(8), minutes(22), True),
        (minutes(15, 6), minutes(15, 7), True),
        (minutes(15, 7), minutes(22), False),
        (minutes(8), minutes(15, 6), False),
        (minutes(22), minutes(8), False),
        (minutes(15), minutes(8), True),
        (minutes(22), minutes(16), True),
        (0, minutes(24), True),
    ],
)
def test_hours_hold_from_their_start_to_their_end(start: int, end: int, inside: bool) -> None:
    assert Hours(start=start, end=end, zone=UTC).hold(NOON) is inside


def test_it_looks_around_while_somebody_uses_the_session() -> None:
    assert rests(HOME, BEAT, NOON + DAY) is None
    assert rests(HOME, BEAT, NOON + DAY + 1) == "nobody uses the session"
    assert rests(Snapshot(key=MAIN), BEAT, NOON) == "nobody uses the session"


def test_it_rests_when_it_is_not_wanted() -> None:
    assert rests(HOME, None, NOON) == "it is not configured any more"
    night = Hours(start=minutes(22), end=minutes(6), zone=UTC)
    assert rests(HOME, replace(BEAT, hours=night), NOON) == "outside its hours"
    day = Hours(start=minutes(6), end=minutes(22), zone=UTC)
    assert rests(HOME, replace(BEAT, hours=day), NOON) is None
    assert rests(replace(HOME, running=run("r")), BEAT, NOON) == "the session is busy"
    assert rests(replace(HOME, queued=(run("r"),)), BEAT, NOON) == "the session is busy"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("HEARTBEAT_OK", "HEARTBEAT_OK"),
        (" HEARTBEAT_OK, all is well", "HEARTBEAT_OK"),
        ("All is well.\nHEARTBEAT_OK", "HEARTBEAT_OK"),
        ("HEARTBEAT_OK but your train is late today", "but your train is late today"),
        ("Your train is late.", "Your train is late."),
    ],
)
def test_a_few_words_beside_its_sign_are_silence_too(reply: str, said: str) -> None:
    assert acknowledged(reply, replace(BEAT, ack_chars=20)) == said
    assert acknowledged(reply, None) == reply


def test_it_is_told_of_events_that_wait() -> None:
    assert beat_text(PROMPT, HOME) == PROMPT
    event = replace(
        inbound("e"),
        provenance=Provenance(kind=ProvenanceKind.HOOK, source_tool="hook:ci"),
        content=(Text("the build broke"), Image(mime="image/png", data="")),
    )
    waits = InboundRecord(inbound=event, state=InboundState.PENDING, mode=InputMode.WAIT)
    text = beat_text(PROMPT, replace(HOME, pending=(waits,)))
    assert text.startswith(PROMPT)
    assert "An event waits: [Hook event] sourceTool=hook:ci isUser=false\nthe build broke" in text
