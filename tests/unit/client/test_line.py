"""A connection that is made anew when it is lost."""

import anyio
import pytest

from roost.client import Absence, Client
from roost.client.errors import ConnectionLost, Refused, Starting, Unreachable
from roost.client.events import Event, Gap
from tests.unit.client.gateways import HELLO, FakeGateway, Refusal


def client(gateway: FakeGateway) -> Client:
    return Client(gateway.dial, sleep=gateway.sleep)


async def test_what_was_subscribed_is_subscribed_again_and_the_gap_is_heard() -> None:
    gateway = FakeGateway(
        sessions_subscribe=lambda params: {"subscribed": True}, health=lambda params: {"ok": True}
    )
    with anyio.fail_after(60):
        async with client(gateway) as one:
            await one.call("sessions.subscribe")
            with one.events() as heard:
                gateway.refusals = [Unreachable("gone"), Starting("soon")]
                gateway.hang_up()
                assert await anext(aiter(heard)) == Gap()
            assert await one.call("health") == {"ok": True}
    assert gateway.count("sessions.subscribe") == 2
    assert gateway.dialled == 4
    assert len(gateway.slept) == 3
    assert gateway.slept == sorted(gateway.slept)


async def test_a_request_that_does_no_harm_twice_survives_the_loss_of_its_connection() -> None:
    gateway = FakeGateway()

    def answer_the_second(params: object) -> object:
        if gateway.count("health") == 1:
            gateway.hang_up()
        return {"ok": True}

    gateway.replies["health"] = answer_the_second
    gateway.replies["sessions.reset"] = lambda params: gateway.hang_up()
    with anyio.fail_after(60):
        async with client(gateway) as one:
            assert await one.call("health") == {"ok": True}
            assert gateway.count("health") == 2
            with pytest.raises(ConnectionLost):
                await one.call("sessions.reset", {"key": "main"})
            assert gateway.count("sessions.reset") == 1


async def test_a_request_that_no_connection_outlives_is_given_up_and_the_pauses_grow() -> None:
    gateway = FakeGateway(health=lambda params: gateway.hang_up())
    with anyio.fail_after(60):
        async with client(gateway) as one:
            with pytest.raises(ConnectionLost):
                await one.call("health")
    assert gateway.count("health") == 5
    assert gateway.slept == sorted(gateway.slept)
    assert gateway.slept[-1] >= 8 * gateway.slept[0] / 1.2


async def test_a_gateway_that_is_not_there_or_refuses_at_first_is_told_at_once() -> None:
    gateway = FakeGateway()
    gateway.refusals = [Unreachable("nobody there")]
    with pytest.raises(Unreachable, match="nobody there"):
        async with client(gateway):
            pass

    def refuse(params: object) -> None:
        raise Refusal(code="INVALID_REQUEST", message="token mismatch")

    gateway.replies["connect"] = refuse
    with pytest.raises(Refused, match="token mismatch"):
        async with client(gateway):
            pass


async def test_a_gateway_that_is_starting_is_waited_for() -> None:
    gateway = FakeGateway()
    gateway.refusals = [Starting("soon"), Starting("soon")]
    with anyio.fail_after(60):
        async with client(gateway) as one:
            assert one.hello.version == "1"
    gateway.refusals = [Starting("soon")] * 99
    with pytest.raises(Starting):
        async with client(gateway):
            pass


@pytest.mark.parametrize(("starting_s", "said"), [(0.0, ["lost", "back"]), (60.0, [])])
async def test_that_a_gateway_goes_on_starting_is_told_after_a_while(
    starting_s: float, said: list[str]
) -> None:
    told: list[str] = []
    absence = Absence(
        lost=lambda: told.append("lost"), back=lambda: told.append("back"), starting_s=starting_s
    )
    gateway = FakeGateway()
    gateway.refusals = [Starting("soon"), Starting("soon")]
    with anyio.fail_after(60):
        async with Client(gateway.dial, sleep=gateway.sleep, absence=absence):
            assert told == said


async def test_who_waits_only_so_long_is_told_that_a_gateway_has_not_started_by_then() -> None:
    gateway = FakeGateway()
    gateway.refusals = [Starting("soon")] * 9
    with anyio.fail_after(60), pytest.raises(Unreachable, match="has been away for 0 s"):
        async with Client(gateway.dial, sleep=gateway.sleep, absence=Absence(longest_s=0.0)):
            pass
    assert gateway.dialled == 2


async def test_a_client_that_is_let_in_no_more_says_so_to_all_who_ask() -> None:
    gateway = FakeGateway(sessions_subscribe=lambda params: {})
    with anyio.fail_after(60):
        async with client(gateway) as one:
            with one.events() as heard:

                def refuse(params: object) -> None:
                    raise Refusal(code="INVALID_REQUEST", message="revoked")

                gateway.replies["connect"] = refuse
                gateway.hang_up()
                assert [item async for item in heard] == []
            with pytest.raises(Refused, match="revoked"):
                await one.call("health")


async def test_an_end_that_is_told_again_and_again_is_told_alike() -> None:
    gateway = FakeGateway(health=lambda params: {"ok": True})
    with anyio.fail_after(60):
        async with client(gateway) as one:
            pass
        depths = set[int]()
        for _ in range(3):
            with pytest.raises(ConnectionLost, match="closed") as raised:
                await one.call("health")
            depths.add(len(raised.traceback))
    assert len(depths) == 1


async def test_a_subscription_that_is_refused_the_second_time_is_let_go() -> None:
    gateway = FakeGateway(sessions_subscribe=lambda params: {}, health=lambda params: {})
    with anyio.fail_after(60):
        async with client(gateway) as one:
            await one.call("sessions.subscribe")

            def refuse(params: object) -> None:
                raise Refusal(code="FORBIDDEN", message="no")

            gateway.replies["sessions.subscribe"] = refuse
            with one.events() as heard:
                gateway.hang_up()
                assert await anext(aiter(heard)) == Gap()


async def test_a_subscription_that_cannot_be_had_now_is_asked_for_until_it_can() -> None:
    gateway = FakeGateway()

    def fail_the_second_time(params: object) -> object:
        if gateway.count("sessions.subscribe") == 2:
            raise Refusal(code="UNAVAILABLE", message="the store is away", retryable=True)
        return {}

    gateway.replies["sessions.subscribe"] = fail_the_second_time
    with anyio.fail_after(60):
        async with client(gateway) as one:
            await one.call("sessions.subscribe")
            with one.events() as heard:
                gateway.hang_up()
                assert await anext(aiter(heard)) == Gap()
    assert (gateway.count("sessions.subscribe"), gateway.dialled) == (3, 3)


async def test_a_client_that_is_to_come_again_later_does() -> None:
    gateway = FakeGateway(health=lambda params: {"ok": True})

    def slow_down(params: object) -> object:
        if gateway.count("connect") == 2:
            raise Refusal(code="INVALID_REQUEST", message="too many attempts", retryable=True)
        return HELLO

    gateway.replies["connect"] = slow_down
    with anyio.fail_after(60):
        async with client(gateway) as one:
            with one.events() as heard:
                gateway.hang_up()
                assert await anext(aiter(heard)) == Gap()
            assert await one.call("health") == {"ok": True}
    assert gateway.dialled == 3


async def test_a_connection_that_dies_while_it_subscribes_again_is_made_once_more() -> None:
    gateway = FakeGateway()

    def die_the_second_time(params: object) -> object:
        if gateway.count("sessions.subscribe") == 2:
            gateway.hang_up()
        return {}

    gateway.replies["sessions.subscribe"] = die_the_second_time
    with anyio.fail_after(60):
        async with client(gateway) as one:
            await one.call("sessions.subscribe")
            with one.events() as heard:
                gateway.hang_up()
                assert await anext(aiter(heard)) == Gap()
    assert gateway.count("sessions.subscribe") >= 3


async def test_a_number_that_was_left_out_is_a_gap() -> None:
    gateway = FakeGateway()
    with anyio.fail_after(60):
        async with client(gateway) as one:
            with one.events() as heard:
                for seq in (1, 2, 4):
                    await gateway.tell("tick", {}, seq)
                items = aiter(heard)
                told = [await anext(items) for _ in range(4)]
    assert [item.seq if isinstance(item, Event) else None for item in told] == [1, 2, None, 4]


async def test_a_loss_is_told_once_and_so_is_the_return() -> None:
    told: list[str] = []
    absence = Absence(lost=lambda: told.append("lost"), back=lambda: told.append("back"))
    gateway = FakeGateway(health=lambda params: {"ok": True})
    with anyio.fail_after(60):
        async with Client(gateway.dial, sleep=gateway.sleep, absence=absence) as one:
            assert await one.call("health") == {"ok": True}
            assert told == []
            for number in (1, 2):
                gateway.refusals = [Unreachable("gone"), Unreachable("gone")]
                gateway.hang_up()
                with one.events() as heard:
                    assert await anext(aiter(heard)) == Gap()
                assert await one.call("health") == {"ok": True}
                assert told == ["lost", "back"] * number


async def test_a_gateway_that_stays_away_too_long_ends_the_client() -> None:
    gateway = FakeGateway()
    with anyio.fail_after(60):
        async with Client(gateway.dial, sleep=gateway.sleep, absence=Absence(longest_s=0.0)) as one:
            gateway.refusals = [Unreachable("gone")] * 9
            with one.events() as heard:
                gateway.hang_up()
                assert [item async for item in heard] == []
            with pytest.raises(Unreachable, match="has been away for 0 s"):
                await one.call("health")
    assert gateway.dialled == 2
