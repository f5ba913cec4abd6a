"""Questions over HTTP that are asked again, and those whose caller loses his credential meanwhile."""

from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
import pytest

from roost.clock import SystemClock
from roost.core.errors import StoreUnavailable
from roost.core.keys import SessionKey
from roost.core.queries import SessionQuery
from roost.core.trees import DecideTree
from roost.ports import Topic, TopicKind
from roost.server.callers import REVOKED, UNCHECKED, Dismissal
from roost.stores.memory import MemoryStore
from roost.testing.scripts import Hang, Say, Until
from tests.flows.gateways import Bench
from tests.flows.served import Opened, gate_of
from tests.flows.test_http import COMPLETIONS, asked, enable


async def test_the_same_question_again_is_answered_by_the_same_run(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": "k"}) as http:
        await enable(gate)
        gate.bench.model.add((Say("once"),))
        for stream in (False, True):
            answer = await http.post(COMPLETIONS, json=asked("hi", user="ada", stream=stream))
            assert "once" in answer.text
        assert len(gate.bench.model.requests) == 1


async def test_a_named_question_without_a_user_is_answered_once_too(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": "k"}) as http:
        await enable(gate)
        gate.bench.model.add((Say("once"),))
        for stream in (False, True, False):
            answer = await http.post(COMPLETIONS, json=asked("hi", stream=stream))
            assert "once" in answer.text
        assert len(gate.bench.model.requests) == 1
        async with gate.browser("alice-token", **{"Idempotency-Key": "k"}) as other:
            assert "once" not in (await other.post(COMPLETIONS, json=asked("hi"))).text


async def test_a_named_question_goes_on_when_its_caller_hangs_up_and_is_told_when_he_asks_again(
    opened: Opened,
) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": "k"}) as http:
        await enable(gate)
        thought = anyio.Event()
        gate.bench.model.add((Until(thought), Say("at last")))
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await http.post(COMPLETIONS, json=asked("hi"))

            group.start_soon(ask)
            await gate.bench.model.asked(1)
            group.cancel_scope.cancel()
        thought.set()
        assert "at last" in (await http.post(COMPLETIONS, json=asked("hi"))).text
        assert len(gate.bench.model.requests) == 1


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("why", [REVOKED, UNCHECKED], ids=["revoked", "unchecked"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_credential_that_is_taken_back_or_cannot_be_checked_ends_what_is_under_way_with_it(
    opened: Opened, stream: bool, why: Dismissal
) -> None:
    async with opened() as (gate, _), gate.browser() as http, anyio.create_task_group() as group:
        await enable(gate)
        gate.bench.model.add((Hang(),))
        told: list[httpx2.Response] = []

        async def ask() -> None:
            told.append(await http.post(COMPLETIONS, json=asked("hi", stream=stream)))
            group.cancel_scope.cancel()

        group.start_soon(ask)
        await gate.bench.model.asked(1)
        (stay,) = gate.house.callers
        assert stay.admitted is not None
        assert stay.admitted.principal.is_owner
        stay.dismiss(why)
        await gate.bench.model.left()
        await anyio.sleep_forever()
    (answer,) = told
    assert answer.status_code == (200 if stream else why.status)
    assert why.reason in answer.text


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_named_question_ends_too_when_its_credential_is_taken_back(
    opened: Opened, stream: bool
) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": "k"}) as http:
        await enable(gate)
        gate.bench.model.add((Hang(),))

        async def ask() -> None:
            await http.post(COMPLETIONS, json=asked("hi", user="ada", stream=stream))

        async with anyio.create_task_group() as group:
            # The second one only waits for the run of the first.
            group.start_soon(ask)
            await gate.bench.model.asked(1)
            group.start_soon(ask)
            while len(list(gate.house.callers)) < 2:
                await anyio.lowlevel.checkpoint()
            for stay in gate.house.callers:
                stay.dismiss(REVOKED)
        await gate.bench.model.left()
        store = gate.house.store
        (row,) = (await store.list_sessions(SessionQuery())).rows

        async def over() -> bool | None:
            return None if await store.active_runs(row.key) else True

        assert await store.wait_for(Topic(TopicKind.SESSION, str(row.key)), over)


class Away(MemoryStore):
    """A store from which no session can be removed."""

    async def change_tree(self, key: SessionKey, decide: DecideTree) -> None:
        raise StoreUnavailable("the disk is full")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_is_given_though_nothing_can_be_tidied_up_after_it(
    tmp_path: Path, stream: bool
) -> None:
    clock = SystemClock()
    with anyio.fail_after(60):
        async with gate_of(Bench(Away(clock), clock), tmp_path) as gate, gate.browser() as http:
            await enable(gate)
            gate.bench.model.add((Say("forty-two"),))
            answer = await http.post(COMPLETIONS, json=asked("hi", stream=stream))
            assert answer.status_code == 200
            assert "forty-two" in answer.text
            assert "disk" not in answer.text
