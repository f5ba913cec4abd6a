import asyncio

import asyncpg
import pytest

from roost.core.effects import DeleteSession
from roost.core.keys import SessionKey
from roost.core.topics import Topic, TopicKind
from roost.stores.codec import to_text
from roost.stores.postgres import PostgresStore
from roost.stores.postgres.connection import PostgresOptions, open_pool
from roost.stores.postgres.notices import LONGEST_NOTICE, RECENT_MS, Notices
from roost.stores.postgres.transactions import Transactions
from roost.stores.topics import Topics
from roost.testing.builders import MAIN, said
from roost.testing.clock import FakeClock
from tests import postgres
from tests.contract.scenes import opened
from tests.postgres_line import line_to


async def test_what_is_committed_meanwhile_is_told_at_once_and_by_name_only(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    heard: asyncio.Queue[str] = asyncio.Queue()
    listener = await asyncpg.connect(postgres_server)
    await listener.add_listener("roost", lambda *news: heard.put_nowait(news[-1]))
    store = await PostgresStore.open(postgres_server, FakeClock())
    await opened(store)
    async with asyncio.timeout(30):
        await heard.get()
        await asyncio.gather(*(store.append(MAIN, (said(f"e-{n}", "a secret"),)) for n in range(20)))
        told = [await heard.get()]
        await store.close()
    await asyncio.sleep(0)
    while not heard.empty():
        told.append(heard.get_nowait())
    assert len(told) <= 20
    assert all(str(MAIN) in one and "secret" not in one for one in told)
    await listener.close()


async def test_more_names_than_one_notice_holds_are_told_in_several(postgres_server: str) -> None:
    options = PostgresOptions()
    transactions = Transactions(await open_pool(postgres_server, options, 1), options, "here")
    notices = Notices(postgres_server, options, transactions, Topics(), FakeClock())
    topics = [Topic(TopicKind.SESSION, f"agent:main:{number:040d}") for number in range(300)]
    found = list(notices._notices(topics))
    assert len(found) > 1
    assert max(len(one.encode()) for one in found) <= LONGEST_NOTICE
    assert sum(one.count("agent:main") for one in found) == 300
    await notices.close()
    await transactions.close()


async def test_what_this_version_does_not_know_is_passed_over_and_the_rest_of_a_notice_heard(
    postgres_server: str,
) -> None:
    options, topics = PostgresOptions(), Topics()
    transactions = Transactions(await open_pool(postgres_server, options, 1), options, "here")
    notices = Notices(postgres_server, options, transactions, topics, FakeClock())
    told: list[SessionKey] = []
    with topics.watching(Topic(TopicKind.SESSION), told.append):
        notices._heard(to_text(["another", [("tomorrow", ""), (TopicKind.SESSION, str(MAIN))]]))
    assert told == [MAIN]
    await notices.close()
    await transactions.close()


async def test_after_a_lost_line_everybody_looks_again(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    writer = await PostgresStore.open(postgres_server, FakeClock())
    async with line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())

        async def there() -> bool | None:
            return True if await store.session(MAIN) else None

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            waiting = group.create_task(store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), there))
            await asyncio.sleep(0)
            line.hang_up()
            await opened(writer)
            assert await waiting
        await store.close()
    await writer.close()


async def test_what_is_deleted_while_a_line_is_lost_is_told_to_who_watches_all_sessions(
    postgres_server: str,
) -> None:
    await postgres.empty(postgres_server)
    writer = await PostgresStore.open(postgres_server, FakeClock())
    await opened(writer)
    told: asyncio.Queue[SessionKey] = asyncio.Queue()
    async with asyncio.timeout(30), line_to(postgres_server) as (address, line):
        store = await PostgresStore.open(address, FakeClock())
        with store.watch(None, told.put_nowait):
            assert await told.get() == MAIN
            line.hang_up()
            await writer.change_session(MAIN, lambda snapshot: (DeleteSession(key=MAIN),))
            assert await told.get() == MAIN
        await store.close()
    await writer.close()


async def test_behind_a_pooler_who_waits_looks_by_itself(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    joined = f"{postgres_server}&pooler=true"
    one, other = [await PostgresStore.open(joined, FakeClock()) for _ in range(2)]

    async def there() -> bool | None:
        return True if await other.session(MAIN) else None

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        waiting = group.create_task(other.wait_for(Topic(TopicKind.SESSION, str(MAIN)), there))
        await asyncio.sleep(0)
        await opened(one)
        assert await waiting
    await one.close()
    await other.close()


async def test_who_watches_all_sessions_is_told_of_changes_that_nobody_told(postgres_server: str) -> None:
    await postgres.empty(postgres_server)
    joined = f"{postgres_server}&pooler=true"
    one, other = [await PostgresStore.open(joined, FakeClock()) for _ in range(2)]
    told: asyncio.Queue[SessionKey] = asyncio.Queue()
    async with asyncio.timeout(60):
        with other.watch(None, told.put_nowait):
            await opened(one)
            assert await told.get() == MAIN
            await one.append(MAIN, (said("e-1", "words"),))
            assert await told.get() == MAIN
            await one.change_session(MAIN, lambda snapshot: (DeleteSession(key=MAIN),))
            assert await told.get() == MAIN
    await one.close()
    await other.close()


@pytest.mark.parametrize("key", [MAIN, SessionKey.parse("agent:main:subagent:1")])
async def test_who_watches_all_sessions_is_told_that_one_is_gone_in_which_nothing_happened_lately(
    postgres_server: str, key: SessionKey
) -> None:
    await postgres.empty(postgres_server)
    joined, clock = f"{postgres_server}&pooler=true", FakeClock()
    one = await PostgresStore.open(joined, clock)
    await opened(one, key)
    clock.advance(RECENT_MS + 1)
    other = await PostgresStore.open(joined, clock)
    told: asyncio.Queue[SessionKey] = asyncio.Queue()
    async with asyncio.timeout(30):
        with other.watch(None, told.put_nowait):
            await one.change_session(key, lambda snapshot: (DeleteSession(key=key),))
            assert await told.get() == key
    await one.close()
    await other.close()
