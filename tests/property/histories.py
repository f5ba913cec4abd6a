"""Transcripts for the laws: any order of events, most of them not what a healthy run would write."""

from collections.abc import Sequence

from hypothesis import strategies as st

from roost.core.entries import Entry
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from roost.core.principals import person

HUMAN = Provenance(kind=ProvenanceKind.HUMAN, principal=person("telegram", "7"))
CALL_IDS = ("a", "b", "call_0", "fc|1:x", "é" * 50, "")

texts = st.sampled_from(
    [
        "",
        "  ",
        "\n",
        "yes",
        "[Inter-session message] sourceSession=agent:x:main isUser=false",
        "漢字",
        "a\x00b",
    ]
) | st.text(max_size=12)
images = st.builds(
    Image, mime=st.sampled_from(["image/png", "image/bmp", ""]), data=st.sampled_from(["", "aGk="])
)
user_blocks = st.builds(Text, texts) | images
provenances = st.builds(
    Provenance,
    kind=st.sampled_from(ProvenanceKind),
    source_session=st.none() | st.sampled_from(["agent:main:main", "a b\nc", ""]),
    source_channel=st.none() | st.just("telegram"),
    source_tool=st.none() | st.sampled_from(["sessions_send", "sessions_spawn"]),
)
calls = st.builds(
    ToolCall,
    id=st.sampled_from(CALL_IDS),
    name=st.sampled_from(["read", "", "1x", "näme", "x" * 80]),
    arguments=st.dictionaries(
        st.text(max_size=4), st.none() | st.integers(-(2**63), 2**63 - 1) | texts, max_size=2
    ),
)
assistant_blocks = (
    st.builds(Text, texts) | st.builds(Thinking, thinking=texts, signature=st.none() | st.just("sig")) | calls
)
user_messages = st.builds(
    UserMessage,
    content=st.lists(user_blocks, max_size=3).map(tuple),
    at=st.just(1),
    provenance=provenances,
    sender=st.none() | st.sampled_from(["Ann", "[Sender: x]\n"]),
)
bodies: st.SearchStrategy[Body] = st.one_of(
    user_messages,
    st.builds(
        AssistantMessage,
        content=st.lists(assistant_blocks, max_size=4).map(tuple),
        at=st.just(2),
        stop=st.sampled_from(StopReason),
    ),
    st.builds(
        ToolResult,
        call_id=st.sampled_from(CALL_IDS),
        tool=st.just("read"),
        content=st.lists(user_blocks, max_size=2).map(tuple),
        at=st.just(3),
        is_error=st.booleans(),
        details=st.none() | st.just({"secret": "detail"}),
    ),
    st.builds(
        Compaction,
        summary=texts,
        first_kept_id=st.none() | st.integers(0, 30).map(lambda n: f"e{n}"),
        tokens_before=st.just(0),
        at=st.just(4),
    ),
    st.builds(
        Notice,
        kind=st.sampled_from(["reset", "label", "custom"]),
        at=st.just(5),
        data=st.just({}) | st.integers(0, 30).map(lambda n: {"firstKeptEntryId": f"e{n}"}),
    ),
)


def placed(parts: Sequence[Body]) -> tuple[Entry, ...]:
    """The bodies as the entries of one generation."""
    return tuple(
        Entry(session_id="s", seq=number, id=f"e{number}", body=body) for number, body in enumerate(parts, 1)
    )


histories = st.lists(bodies, max_size=25).map(placed)


def said(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),), at=1, provenance=HUMAN)


_FILLERS = ("word ", "漢字", "x", "12 ", "{}\n  ")


@st.composite
def working_histories(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Turns of an agent at work, call ids all different, any of them interrupted, one part perhaps huge."""
    bodies: list[Body] = []
    sizes = st.integers(0, 60) | st.integers(0, 400)
    for turn in range(draw(st.integers(1, 12))):
        filler = draw(st.sampled_from(_FILLERS))
        bodies.append(said(f"ask {turn} " + filler * draw(sizes)))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}_{step}_{n}" for n in range(draw(st.integers(0, 2)))]
            made = [
                ToolCall(id=i, name="read", arguments={"path": filler * draw(st.integers(0, 200))})
                for i in ids
            ]
            bodies.append(AssistantMessage(content=(Text(filler * draw(sizes)), *made), at=2))
            bodies += [
                ToolResult(call_id=i, tool="read", content=(Text(filler * draw(sizes)),), at=3)
                for i in ids
                if draw(st.integers(0, 9))
            ]
        if draw(st.booleans()):
            bodies.append(AssistantMessage(content=(Text("done " + filler * draw(sizes)),), at=4))
    if draw(st.booleans()):
        giant = draw(st.sampled_from(["huge ", "巨", "7"])) * draw(st.integers(3_000, 20_000))
        place = draw(st.integers(0, len(bodies)))
        kind = draw(st.integers(0, 2))
        if kind == 0:
            bodies.insert(place, said(giant))
        elif kind == 1:
            bodies.insert(place, AssistantMessage(content=(Text(giant),), at=5))
        else:
            call = ToolCall(id="giant", name="read", arguments={"path": giant})
            bodies.insert(place, AssistantMessage(content=(call,), at=5))
            bodies.insert(place + 1, ToolResult(call_id="giant", tool="read", content=(Text(giant),), at=5))
    return placed(bodies)
