"""Couriers, with time that passes when a test says so."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

import anyio
import pytest

from roost.core.effects import PutExchange
from roost.core.errors import Fenced, Undelivered
from roost.core.exchanges import Exchange, ExchangeState, Sent
from roost.core.remotes import RemoteSession, Taken
from roost.engine.couriers import BROKEN, EACH, Couriers
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Housekeeping, Rules
from roost.ports import Unreached
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.scenes import change, opened
from tests.unit.engine.timing import no_cast
from tests.waiting import until_all_wait

pytestmark = pytest.mark.requirement("F6")

HOUR = 3_600_000
MOST_STEPS = 2_000
Carry = Callable[[Exchange, int, Callable[[Taken], Awaitable[None]]], Awaitable[str | None]]


class Office:
    """Another gateway that does as a test says; `asked` is what it was asked, and with how much time left."""

    def __init__(self, *answers: Carry | str | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def carry(
        self, exchange: Exchange, limit_ms: int, taken: Callable[[Taken], Awaitable[None]]
    ) -> str | None:
        self.asked.append((exchange.id, limit_ms))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else await answer(exchange, limit_ms, taken)


class Hesitant(MemoryStore):
    """Answers what is under way when it is let, as it was when it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.let = anyio.Event()
        self.let.set()

    async def remote_exchanges(self, limit: int, but_to: Collection[str] = ()) -> tuple[Exchange, ...]:
        found = await super().remote_exchanges(limit, but_to)
        await self.let.wait()
        return found


class Desk:
    def __init__(self, office: Office, **others: Office) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(self.clock)
        self.couriers = self.couriers_to(office=office, **others)

    def couriers_to(self, **remotes: Office) -> Couriers:
        rules = Rules(cast=no_cast, house=Housekeeping(remotes=remotes))  # type: ignore[arg-type]
        return Couriers(self.store, self.clock, Rulebook(rules), lambda: 0.0)

    async def post(self, name: str = "x-1", gateway: str = "office", deadline: int = NOON + HOUR) -> None:
        if await self.store.session(MAIN) is None:
            await opened(self.store)
        exchange = Exchange(
            id=name,
            requester=MAIN,
            target=MAIN,
            request="hi",
            created_at=NOON,
            max_turns=0,
            deadline=deadline,
            hops=(MAIN,),
            sent=Sent(remote=RemoteSession(gateway=gateway, session="main")),
        )
        await change(self.store, PutExchange(exchange=exchange))

    async def ended(self, name: str = "x-1") -> Exchange:
        """The exchange when it is over; until then time passes."""
        for _ in range(MOST_STEPS):
            found = await self.store.exchange(name)
            assert found is not None
            if found.state.ended:
                return found
            await until_all_wait()
            self.clock.advance(2_000)
        raise AssertionError("it did not end")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self.couriers.serve)
            yield
            group.cancel_scope.cancel()


async def test_a_message_is_carried_as_soon_as_it_is_there_and_its_receipts_are_kept() -> None:
    states: list[ExchangeState] = []

    async def answer(exchange: Exchange, _: int, taken: Callable[[Taken], Awaitable[None]]) -> str | None:
        for begun in (False, True):
            await taken(Taken(key="agent:main:main", begun=begun))
            found = await desk.store.exchange(exchange.id)
            states.append(found.state if found else ExchangeState.FAILED)
        return "three"

    office = Office(answer)
    desk = Desk(office)
    async with desk.serving():
        await until_all_wait()
        await desk.post()
        await until_all_wait()
        found = await desk.store.exchange("x-1")
    assert found is not None
    assert (found.state, found.first_reply) == (ExchangeState.REPLIED, "three")
    assert states == [ExchangeState.DELIVERED, ExchangeState.RUNNING]
    assert office.asked == [("x-1", HOUR)]


async def test_who_cannot_be_reached_is_tried_ever_more_rarely_until_the_time_is_over() -> None:
    office = Office(Unreached("nobody is there"))
    desk = Desk(office)
    await desk.post()
    async with desk.serving():
        ended = await desk.ended()
        told = await desk.store.active_runs(MAIN)
    assert (ended.state, ended.error) == (ExchangeState.EXPIRED, "nobody is there")
    assert desk.clock.now() >= NOON + HOUR
    assert 20 < len(office.asked) < HOUR / 30_000 + 20
    assert office.asked[0] == ("x-1", HOUR)
    assert [run.request.exchange_id for run in told] == [None]


async def test_who_takes_a_message_and_never_answers_is_given_up_at_its_time() -> None:
    async def hang(_: Exchange, __: int, taken: Callable[[Taken], Awaitable[None]]) -> str | None:
        await taken(Taken(key="agent:main:main"))
        await anyio.sleep_forever()
        return None

    desk = Desk(Office(hang))
    await desk.post()
    async with desk.serving():
        ended = await desk.ended()
    assert (ended.state, ended.error) == (ExchangeState.EXPIRED, "no answer came in time")
    assert ended.sent.remote is not None
    assert ended.sent.remote.key == "agent:main:main"


async def test_a_message_whose_time_was_over_before_it_was_taken_up_is_not_sent() -> None:
    desk = Desk(Office("too late"))
    await desk.post(deadline=NOON)
    async with desk.serving():
        ended = await desk.ended()
    assert ended.state is ExchangeState.EXPIRED


async def test_a_refusal_is_the_end() -> None:
    office = Office(Unreached("away"), Undelivered("FORBIDDEN, no"))
    desk = Desk(office)
    await desk.post()
    async with desk.serving():
        ended = await desk.ended()
    assert (ended.state, ended.error) == (ExchangeState.FAILED, "FORBIDDEN, no")
    assert len(office.asked) == 2


async def test_a_gateway_that_is_not_configured_may_be_until_the_time_is_over() -> None:
    desk = Desk(Office("never"))
    await desk.post(gateway="lab")
    async with desk.serving():
        ended = await desk.ended()
    assert (ended.state, "there is no gateway lab" in (ended.error or "")) == (ExchangeState.EXPIRED, True)
    assert desk.clock.now() >= NOON + HOUR


async def test_who_does_not_know_a_gateway_ends_nothing_that_another_carries_there() -> None:
    async def slow(_: Exchange, __: int, taken: Callable[[Taken], Awaitable[None]]) -> str | None:
        await taken(Taken(key="agent:main:main", begun=True))
        await desk.clock.sleep(60_000)
        return "three"

    desk = Desk(Office(slow))
    await desk.post()
    async with desk.serving(), anyio.create_task_group() as group:
        group.start_soon(desk.couriers_to().serve)
        ended = await desk.ended()
        group.cancel_scope.cancel()
    assert (ended.state, ended.first_reply) == (ExchangeState.REPLIED, "three")


async def test_an_answer_that_cannot_be_kept_is_the_end_of_its_message_alone() -> None:
    desk = Desk(Office("\ud800", Undelivered("\ud800"), "three"))
    names = ("x-1", "x-2", "x-3")
    for name in names:
        await desk.post(name)
    async with desk.serving():
        reply, refusal, other = [await desk.ended(name) for name in names]
    for broken in (reply, refusal):
        assert (broken.state, "cannot be stored" in (broken.error or "")) == (ExchangeState.FAILED, True)
    assert other.first_reply == "three"


async def test_a_message_that_breaks_something_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(Office(ValueError("a bug"), "three"))
    await desk.post("x-1")
    await desk.post("x-2")
    async with desk.serving():
        broken, answered = await desk.ended("x-1"), await desk.ended("x-2")
    assert (broken.state, broken.error) == (ExchangeState.FAILED, BROKEN)
    assert answered.state is ExchangeState.REPLIED
    assert "a bug" in caplog.text


async def test_a_lost_lease_ends_nothing_of_it() -> None:
    desk = Desk(Office(Fenced("another gateway serves")))
    await desk.post()
    with pytest.raises(ExceptionGroup) as caught:
        await desk.couriers.serve()
    assert caught.group_contains(Fenced)
    assert [one.state for one in await desk.store.remote_exchanges(5)] == [ExchangeState.ACCEPTED]


async def test_many_wait_for_a_place_and_all_are_answered() -> None:
    gate = anyio.Event()

    async def wait(*_: object) -> str | None:
        await gate.wait()
        return "done"

    office = Office(wait)
    desk = Desk(office)
    names = [f"x-{number}" for number in range(EACH + 3)]
    for name in names:
        await desk.post(name)
    async with desk.serving():
        await until_all_wait()
        assert len(office.asked) == EACH
        gate.set()
        await anyio.wait_all_tasks_blocked()
        assert await desk.store.remote_exchanges(1) == ()
        assert {(await desk.ended(name)).state for name in names} == {ExchangeState.REPLIED}
    assert sorted(name for name, _ in office.asked) == sorted(names)


async def test_one_gateway_that_takes_nothing_holds_up_no_message_to_another() -> None:
    async def hang(*_: object) -> str | None:
        await anyio.sleep_forever()
        return None

    office = Office(hang)
    desk = Desk(office, lab=Office("three"))
    for number in range(2 * EACH + 3):
        await desk.post(f"x-{number}")
    await desk.post("y", gateway="lab")
    async with desk.serving():
        await until_all_wait()
        other = await desk.store.exchange("y")
    assert other is not None
    assert (other.state, other.first_reply) == (ExchangeState.REPLIED, "three")
    assert len(office.asked) == EACH


async def test_no_more_than_one_gateway_may_have_are_under_way_to_it_when_they_come_in_turns() -> None:
    async def hang(*_: object) -> str | None:
        await anyio.sleep_forever()
        return None

    office = Office(hang)
    desk = Desk(office)
    desk.store = store = Hesitant(desk.clock)
    desk.couriers = desk.couriers_to(office=office)
    async with desk.serving():
        await desk.post("first")
        await anyio.wait_all_tasks_blocked()
        store.let = anyio.Event()
        for number in range(EACH):
            await desk.post(f"x-{number}")
        store.let.set()
        await anyio.wait_all_tasks_blocked()
    assert len(office.asked) == EACH


async def test_what_is_under_way_hides_no_message_behind_it() -> None:
    async def hang(*_: object) -> str | None:
        await anyio.sleep_forever()
        return None

    desk = Desk(Office(hang), shop=Office(hang), lab=Office("three"))
    for number in range(EACH - 1):
        for gateway in ("office", "shop"):
            await desk.post(f"{gateway}-{number}", gateway=gateway)
    async with desk.serving():
        await anyio.wait_all_tasks_blocked()
        await desk.post("y", gateway="lab")
        await anyio.wait_all_tasks_blocked()
        other = await desk.store.exchange("y")
    assert other is not None
    assert other.state is ExchangeState.REPLIED


async def test_what_ends_while_others_are_looked_for_is_not_carried_again() -> None:
    free = anyio.Event()

    async def wait(*_: object) -> str | None:
        await free.wait()
        return "done"

    office = Office(wait)
    desk = Desk(office)
    desk.store = store = Hesitant(desk.clock)
    desk.couriers = desk.couriers_to(office=office)
    await desk.post("x-1")
    async with desk.serving():
        await anyio.wait_all_tasks_blocked()
        store.let = anyio.Event()
        await desk.post("x-2")
        await anyio.wait_all_tasks_blocked()
        free.set()
        await anyio.wait_all_tasks_blocked()
        store.let.set()
        await desk.ended("x-2")
    assert [name for name, _ in office.asked] == ["x-1", "x-2"]
