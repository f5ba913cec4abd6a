from dataclasses import replace

import anyio

from roost.core.guests import admit
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Rules
from tests.unit.core.test_guests import asked, knocking
from tests.unit.engine.scenes import Scene
from tests.waiting import until_all_wait

OLD = Rules(cast=Scene().cast)
NEW = replace(OLD, most_steps=7)


async def test_who_asks_later_gets_the_new_rules_and_who_reads_keeps_the_old_ones() -> None:
    book = Rulebook(OLD)
    with book.reading() as kept:
        book.replace(NEW)
        assert kept is OLD
        assert book.current is NEW
        with book.reading() as later:
            assert later is NEW


async def test_an_edition_is_out_of_use_when_it_and_all_before_it_are_read_no_more() -> None:
    book, seen = Rulebook(OLD), list[str]()

    async def read(name: str, until: anyio.Event) -> None:
        with book.reading():
            await until.wait()
        seen.append(name)

    async def wait(edition: int) -> None:
        await book.out_of_use(edition)
        seen.append(f"out of use {edition}")

    first, second = anyio.Event(), anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(read, "first", first)
        await until_all_wait()
        assert book.replace(NEW) == 0
        group.start_soon(read, "second", second)
        await until_all_wait()
        assert book.replace(OLD) == 1
        group.start_soon(wait, 0)
        group.start_soon(wait, 1)
        await until_all_wait()
        second.set()
        await until_all_wait()
        assert seen == ["second"]
        first.set()
    assert sorted(seen[1:]) == ["first", "out of use 0", "out of use 1"]


async def test_an_edition_that_nobody_reads_is_out_of_use_at_once() -> None:
    book = Rulebook(OLD)
    with book.reading():
        pass
    with anyio.fail_after(60):
        await book.out_of_use(book.replace(NEW))


async def test_who_waits_for_other_rules_hears_when_they_are_in_force() -> None:
    book, heard = Rulebook(OLD), list[Rules]()

    async def listen() -> None:
        await book.replaced(OLD)
        heard.append(book.current)

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await until_all_wait()
        book.replace(OLD)
        await until_all_wait()
        assert heard == []
        book.replace(NEW)
    assert heard == [NEW]
    with anyio.fail_after(60):
        await book.replaced(OLD)


async def test_who_is_let_in_stays_so_through_other_rules_and_ends_no_edition() -> None:
    book, people = Rulebook(OLD), admit(asked(knocking()), "CODE7", 1)[0].let_in
    with book.reading():
        book.let_in(people)
        with anyio.fail_after(5):
            await book.replaced(OLD)
        assert book.replace(NEW) == 0
    now = book.current
    assert now == replace(NEW, let_in=people)
    book.let_in(dict(people))
    assert book.current is now
