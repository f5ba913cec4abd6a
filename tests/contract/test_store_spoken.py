"""How much was said."""

from roost.core.entries import EntryDraft
from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Body, Text, ToolResult, UserMessage
from roost.core.queries import Span, Spoken
from roost.ports import Store
from roost.testing.builders import HUMAN, MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import opened

SIDE = SessionKey.named("main", "side")


async def test_what_was_said_in_some_sessions_is_counted_day_by_day(store: Store) -> None:
    at = NOON // DAY_MS
    for key in (MAIN, SIDE):
        await opened(store, key)
        said: tuple[Body, ...] = (
            UserMessage(content=(Text("hi"),), at=NOON, provenance=HUMAN),
            AssistantMessage(content=(Text("yes"),), at=NOON + 1),
            ToolResult(call_id="c", tool="t", content=(), at=NOON + 2),
            UserMessage(content=(Text("again"),), at=NOON + DAY_MS, provenance=HUMAN),
        )
        for number, body in enumerate(said):
            await store.append(key, (EntryDraft(id=f"{key}-{number}", body=body),))
    one = frozenset({MAIN})
    assert await store.spoken(one, Span(since=0, until=NOON + 2 * DAY_MS)) == (
        Spoken(day=at, user=1, assistant=1, tools=1),
        Spoken(day=at + 1, user=1),
    )
    both = await store.spoken(frozenset({MAIN, SIDE}), Span(since=NOON + 1, until=NOON + DAY_MS))
    assert both == (Spoken(day=at, assistant=2, tools=2),)
    assert await store.spoken(frozenset(), Span(since=0, until=NOON + DAY_MS)) == ()
    ahead = Span(since=0, until=NOON + DAY_MS, shift=DAY_MS // 2)
    assert [day.day for day in await store.spoken(one, ahead)] == [at + 1]
