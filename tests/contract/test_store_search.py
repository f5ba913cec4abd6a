"""Search: every phrase, newest first, in the sessions that may be seen."""

import asyncio
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.effects import AppendEntries, DeleteSession, OpenGeneration
from roost.core.entries import EntryDraft
from roost.core.errors import InvalidInput, NotFound
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import AssistantMessage, Compaction, Notice, Text, Thinking, ToolCall
from roost.core.principals import person
from roost.core.queries import SearchQuery
from roost.core.search import matches, parse_query, segment
from roost.core.visibility import VisibleScope
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import SHARED, STORES, Home
from tests.contract.scenes import change, opened, reset
from tests.scale import examples

ALICE = person("telegram", "1")
ALICES = SessionKey.parse("agent:main:telegram:direct:1")
CHILD = SessionKey.parse("agent:ops:subagent:one")


async def found(store: Store, text: str, **more: object) -> list[str]:
    query = replace(SearchQuery(query=parse_query(text)), **more)  # type: ignore[arg-type]
    return [hit.entry.id for hit in await store.search(query)]


@pytest.mark.parametrize(
    ("text", "query", "hit"),
    [
        ("The quick brown fox", "fox", True),
        ("The quick brown fox", "FOX Quick", True),
        ("The quick brown fox", '"brown fox"', True),
        ("The quick brown fox", '"fox brown"', False),
        ("The quick brown fox", '"quick fox"', False),
        ("The quick brown fox", '"quick brown" "the quick"', True),
        ("The quick brown fox", "qui", False),
        ("The quick brown fox", "fox wolf", False),
        ("Grüße aus der Straße", "STRASSE grüsse", True),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full width", True),
        ("café", "cafe", False),
        ("see a_b.c in file-name", "a_b file name", True),
        ('it\'s 100% "quoted" AND NOT OR NEAR(*)', "and near 100", True),
    ],
)
async def test_an_entry_is_found_by_every_word_and_phrase_of_the_query(
    store: Store, text: str, query: str, hit: bool
) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", text),))
    assert await found(store, query) == (["e-1"] if hit else [])


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们明天下午讨论项目预算的问题", "预算"),
        ("昨日は東京で会議がありました", "会議"),
        ("내일 회의실에서 만나요", "회의"),
        ("deploy前先跑测试,then报告", "测试"),
        ("他说：“预算” 已经批准", "预算"),
    ],
)
async def test_a_word_of_two_characters_is_found_inside_prose_without_spaces(
    store: Store, text: str, query: str
) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", text), builders.said("e-2", "算预 other")))
    assert await found(store, query) == ["e-1"]


@pytest.mark.requirement("P26")
async def test_what_tools_were_given_and_what_they_answered_is_found(store: Store) -> None:
    await opened(store)
    call = ToolCall(id="c", name="exec", arguments={"command": "grep zebra", "env": [{"A": "okapi"}]})
    await store.append(
        MAIN,
        (
            EntryDraft(id="e-1", body=AssistantMessage(content=(call,), at=NOON)),
            builders.returned("e-2", "c", "exec", "giraffe.txt:1"),
        ),
    )
    assert await found(store, "zebra") == ["e-1"]
    assert await found(store, "okapi") == ["e-1"]
    assert await found(store, "giraffe") == ["e-2"]
    assert await found(store, "command") == []


async def test_thoughts_summaries_and_notices_are_not_searched(store: Store) -> None:
    await opened(store)
    await store.append(
        MAIN,
        (
            EntryDraft(
                id="e-1",
                body=AssistantMessage(content=(Thinking(thinking="zebra"), Text("horse")), at=NOON),
            ),
            EntryDraft(id="e-2", body=Compaction(summary="zebra", first_kept_id=None, tokens_before=0, at=1)),
            EntryDraft(id="e-3", body=Notice(kind="zebra", at=1, data={"text": "zebra"})),
        ),
    )
    assert await found(store, "zebra") == []
    assert await found(store, "horse") == ["e-1"]


async def test_hits_come_newest_first_across_generations_and_up_to_the_limit(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "zebra one"), builders.said("e-2", "zebra two")))
    await change(
        store, OpenGeneration(generation=replace(builders.generation(MAIN, "left", 2), archived=True))
    )
    await store.append(MAIN, (builders.said("e-3", "zebra three"),))
    await reset(store, 3)
    await store.append(MAIN, (builders.said("e-4", "zebra four"),))
    assert await found(store, "zebra") == ["e-4", "e-3", "e-2", "e-1"]
    assert await found(store, "zebra", limit=2) == ["e-4", "e-3"]
    assert await found(store, "zebra", limit=2, offset=1) == ["e-3", "e-2"]
    assert await found(store, "zebra", offset=4) == []


async def test_a_search_in_one_generation_finds_nothing_of_the_others(store: Store) -> None:
    first = (await opened(store)).session_id
    await store.append(MAIN, (builders.said("e-1", "zebra one"),))
    second = await reset(store, 2)
    await store.append(MAIN, (builders.said("e-2", "zebra two"),))
    assert await found(store, "zebra", key=MAIN, session_id=first) == ["e-1"]
    assert await found(store, "zebra", session_id=second) == ["e-2"]
    assert await found(store, "zebra", session_id="nowhere") == []


async def test_a_hit_names_its_session_and_holds_the_entry(store: Store) -> None:
    session_id = (await opened(store)).session_id
    await store.append(MAIN, (builders.said("e-1", "horse"), builders.said("e-2", "zebra")))
    (hit,) = await store.search(SearchQuery(query=parse_query("zebra")))
    assert hit.key == MAIN
    assert (hit.entry,) == await store.entries(session_id, after=1)


@pytest.mark.requirement("P2", "P26")
async def test_only_sessions_in_scope_are_searched_and_counted(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(ALICES, owner=ALICE))
    await opened(store, row=builders.session(CHILD, owner=ALICE, parent=ALICES))
    for number, key in enumerate((MAIN, ALICES, CHILD)):
        await store.append(key, (builders.said(f"e-{number}", "zebra"),))
    assert await found(store, "zebra") == ["e-2", "e-1", "e-0"]
    assert await found(store, "zebra", scope=VisibleScope()) == []
    assert await found(store, "zebra", scope=VisibleScope(agents=None, owner=ALICE)) == ["e-2", "e-1"]
    assert await found(store, "zebra", scope=VisibleScope(agents=None, owner=ALICE), limit=1) == ["e-2"]
    assert await found(store, "zebra", scope=VisibleScope(self_key=MAIN, tree_of=ALICES)) == ["e-2", "e-0"]
    assert await found(store, "zebra", scope=VisibleScope(agents=frozenset({"main"}))) == ["e-1", "e-0"]
    assert await found(store, "zebra", scope=VisibleScope(agents=frozenset({"main"})), key=ALICES) == ["e-1"]
    assert await found(store, "zebra", scope=VisibleScope(self_key=MAIN), key=ALICES) == []


@pytest.mark.requirement("D05")
async def test_sessions_whose_key_is_of_a_hidden_shape_are_not_searched(store: Store) -> None:
    for number, key in enumerate((MAIN, SessionKey.parse("global"), CHILD)):
        await opened(store, key)
        await store.append(key, (builders.said(f"e-{number}", "zebra"),))
    hidden = frozenset({KeyKind.GLOBAL, KeyKind.UNKNOWN})
    assert await found(store, "zebra", hidden=hidden) == ["e-2", "e-0"]
    assert await found(store, "zebra", hidden=hidden, limit=1, offset=1) == ["e-0"]


async def test_what_was_deleted_is_not_found(store: Store) -> None:
    await opened(store)
    await opened(store, ALICES)
    await store.append(MAIN, (builders.said("e-1", "zebra"),))
    await store.append(ALICES, (builders.said("e-2", "zebra"),))
    await change(store, DeleteSession(key=MAIN))
    assert await found(store, "zebra") == ["e-2"]
    await change(store, DeleteSession(key=ALICES), key=ALICES)
    await opened(store)
    await store.append(MAIN, (builders.said("e-3", "horse"), builders.said("e-4", "okapi")))
    assert await found(store, "zebra") == []


async def test_what_was_undone_is_not_found(store: Store) -> None:
    await opened(store)
    nowhere = SessionKey.named("main", "nowhere")
    drafts = (builders.said("e-1", "zebra"),)
    with pytest.raises(NotFound):
        await change(store, AppendEntries(key=MAIN, drafts=drafts), AppendEntries(key=nowhere, drafts=drafts))
    assert await found(store, "zebra") == []


# Alphabets that tokenizers disagree about: case without pairs, marks, joiners, digits, new scripts, CJK.
LETTERS = st.sampled_from(
    "aAßıİſÅéе́яЯ\u0301\u00ad\u200d\u200b_-.\"'*() 0９٣中文かガ한한𞤀𞤢𐒰𠀀🙂ǅﬁ½ᾳ\x00\x1f\n"
)
TEXTS = st.text(LETTERS | st.characters(codec="utf-8"), max_size=20)


@pytest.fixture(params=STORES, scope="module")
def server(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """Which store, and where its server is if it has one."""
    return request.param, request.getfixturevalue("postgres_server") if request.param in SHARED else None


@settings(max_examples=examples(25, 300))
@given(texts=st.lists(TEXTS, min_size=1, max_size=6), query=TEXTS)
def test_search_finds_exactly_what_the_reference_accepts(
    server: tuple[str, str | None], texts: list[str], query: str
) -> None:
    """Every store means by a query what `core.search.matches` says."""
    kind, address = server
    with TemporaryDirectory() as folder:
        asyncio.run(compare(Home(kind, address or Path(folder), FakeClock()), texts, query))


async def compare(home: Home, texts: list[str], query: str) -> None:
    await home.open()
    await home.store.change_session(MAIN, lambda now: (DeleteSession(key=MAIN),) if now.session else ())
    await opened(home.store)
    await home.store.append(
        MAIN, tuple(builders.said(f"e-{number}", text) for number, text in enumerate(texts))
    )
    for text in (query, *texts, *(f'"{text}"' for text in texts), *(text[:3] for text in texts)):
        try:
            parsed = parse_query(text)
        except InvalidInput:
            continue
        hits = await home.store.search(SearchQuery(query=parsed))
        expected = {f"e-{number}" for number, one in enumerate(texts) if matches(parsed, segment(one))}
        assert {hit.entry.id for hit in hits} == expected, parsed
    await home.close()
