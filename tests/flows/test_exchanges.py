"""Agents that talk to each other, step by step over the store, and gateways that die in between."""

from collections.abc import Awaitable, Callable

import pytest

from roost.core.addresses import Address
from roost.core.deliveries import DeliveryKind
from roost.core.errors import Forbidden
from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, UserMessage
from roost.core.runs import Run, RunKind, RunState, Step, StepKind
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from tests.flows.agents import send
from tests.flows.driver import Driver, Said, claim_of, dm, in_group

OPS = SessionKey.parse("agent:main:telegram:group:-100")
GROUP_CHAT = Address(channel="telegram", to="-100")

Pause = Callable[[], Awaitable[None]]


async def no_pause() -> None:
    """Nothing happens at a boundary."""


async def exchanging(driver: Driver, max_turns: int, text: str = "what is up?") -> Exchange:
    """A group that has been spoken in, and an exchange with it that the owner's session began."""
    await driver.hear(in_group("hello", "7"))
    await driver.play(lambda run: Said(text="hello"))
    await driver.hear(dm("ask the group"))
    run = await driver.started()
    await driver.take(run)
    exchange = await send(driver, run, OPS, text, max_turns)
    await driver.finish(run, Said(text="I asked"))
    return exchange


async def answered(
    driver: Driver, replies: list[str], pause: Pause = no_pause
) -> list[tuple[SessionKey, RunKind]]:
    """Play the exchange with these replies, with a pause at every boundary."""
    steps = []
    waiting = list(replies)
    await pause()
    while run := await driver.start():
        run = await _again(driver, run, pause)
        await driver.take(run)
        run = await _again(driver, run, pause)
        await driver.store.begin_step(claim_of(run), Step(kind=StepKind.MODEL, at=driver.clock.now()))
        run = await _again(driver, run, pause)
        await driver.take(run)
        steps.append((run.key, run.request.kind))
        await driver.finish(run, Said(text=waiting.pop(0)))
        await pause()
    assert waiting == []
    return steps


async def _again(driver: Driver, run: Run, pause: Pause) -> Run:
    """The run after a pause: if its gateway died in it, as the next one took it up."""
    await pause()
    now = await driver.store.run(run.id)
    assert now is not None
    return now if now.state is RunState.RUNNING else await driver.started()


async def row(driver: Driver, exchange: Exchange) -> Exchange:
    found = await driver.store.exchange(exchange.id)
    assert found is not None
    return found


class Death:
    """The gateway dies at one of the pauses."""

    def __init__(self, driver: Driver, at: int | None) -> None:
        self._driver, self._at, self.pauses = driver, at, 0

    async def __call__(self) -> None:
        if self.pauses == self._at:
            await self._driver.recover()
        self.pauses += 1


FIVE = ["r1", "t1", "t2", "t3", "t4", "t5", "bye"]
BOUNDARIES = 1 + 4 * len(FIVE)


@pytest.mark.requirement("D17", "D18", "D61", "P10")
@pytest.mark.parametrize("dies_at", [None, *range(BOUNDARIES)])
async def test_five_turns_and_an_announce_are_the_same_whenever_the_gateway_dies(
    driver: Driver, dies_at: int | None
) -> None:
    exchange = await exchanging(driver, max_turns=5)
    death = Death(driver, dies_at)
    steps = await answered(driver, FIVE, death)
    assert death.pauses == BOUNDARIES
    turns = [(OPS, RunKind.EXCHANGE), (MAIN, RunKind.EXCHANGE)] * 3
    assert steps == [*turns, (OPS, RunKind.ANNOUNCE)]
    before = ["hello", "hello", "what is up?"]
    assert await driver.history(OPS) == [*before, "r1", "t1", "t2", "t3", "t4", "bye"]
    assert await driver.history(MAIN) == ["ask the group", "I asked", "r1", "t1", "t2", "t3", "t4", "t5"]
    (announced,) = await driver.deliveries(DeliveryKind.ANNOUNCE)
    assert (announced.text, announced.address) == ("bye", GROUP_CHAT)
    ended = await row(driver, exchange)
    assert (ended.phase, ended.state, ended.turn) == (Phase.DONE, ExchangeState.REPLIED, 5)
    assert (ended.first_reply, ended.latest_reply) == ("r1", "t5")
    assert await driver.deliveries(DeliveryKind.NOTICE) == []


@pytest.mark.requirement("D17", "D18", "D61")
@pytest.mark.parametrize(
    ("max_turns", "replies", "sides", "announced"),
    [
        (2, ["x", "y", "z", "bye"], [OPS, MAIN, OPS, OPS], ["bye"]),
        (2, ["x", "REPLY_SKIP", "bye"], [OPS, MAIN, OPS], ["bye"]),
        (2, ["x", "y", " ANNOUNCE_SKIP\n", "bye"], [OPS, MAIN, OPS, OPS], ["bye"]),
        (2, ["x", "REPLY_SKIP", " ANNOUNCE_SKIP\n"], [OPS, MAIN, OPS], []),
        (2, ["x", "REPLY_SKIP", "announce_skip"], [OPS, MAIN, OPS], ["announce_skip"]),
        (2, ["x", "reply_skip", "z", "bye"], [OPS, MAIN, OPS, OPS], ["bye"]),
        (0, ["x", "bye"], [OPS, OPS], ["bye"]),
        (20, ["x", *(f"t{turn}" for turn in range(20)), "bye"], [*([OPS, MAIN] * 10), OPS, OPS], ["bye"]),
        (5, ["NO_REPLY"], [OPS], []),
    ],
)
async def test_an_exchange_ends_at_a_skip_or_at_its_last_turn(
    driver: Driver, max_turns: int, replies: list[str], sides: list[SessionKey], announced: list[str]
) -> None:
    exchange = await exchanging(driver, max_turns)
    steps = await answered(driver, replies)
    assert [key for key, _ in steps] == sides
    assert [one.text for one in await driver.deliveries(DeliveryKind.ANNOUNCE)] == announced
    assert (await row(driver, exchange)).phase is Phase.DONE


@pytest.mark.requirement("D18")
async def test_the_announce_step_sees_request_first_and_latest_reply(driver: Driver) -> None:
    await exchanging(driver, max_turns=2)
    prompts: list[str] = []

    def script(run: Run) -> Said:
        prompts.append(run.request.prompt or "")
        return Said(text=f"reply {len(prompts)}")

    await driver.play(script)
    for line in ("Original request:\n> what is up?", "Round 1 reply:\n> reply 1", "Latest reply:\n> reply 3"):
        assert line in prompts[-1]


@pytest.mark.requirement("D60", "P16")
async def test_what_an_agent_says_is_never_stored_as_a_persons_words(driver: Driver) -> None:
    await exchanging(driver, max_turns=1)
    await answered(driver, ["x", "y", "bye"])
    for key, own in ((OPS, "hello"), (MAIN, "ask the group")):
        entries = await driver.store.entries((await driver.session(key)).session_id)
        kinds = [entry.body.provenance.kind for entry in entries if isinstance(entry.body, UserMessage)]
        assert kinds == [ProvenanceKind.HUMAN, ProvenanceKind.INTER_SESSION], own


@pytest.mark.requirement("P7")
async def test_no_turn_of_an_exchange_is_delivered_to_a_chat(driver: Driver) -> None:
    await exchanging(driver, max_turns=2)
    before = await driver.deliveries(DeliveryKind.REPLY)
    await answered(driver, ["x", "y", "z", "ANNOUNCE_SKIP"])
    assert await driver.deliveries(DeliveryKind.REPLY) == before


async def test_a_message_in_between_waits_for_its_turn_and_changes_nothing(driver: Driver) -> None:
    exchange = await exchanging(driver, max_turns=1)
    run = await driver.started()
    await driver.hear(in_group("me too", "7"))
    await driver.take(run)
    await driver.finish(run, Said(text="x"))
    await driver.play(lambda run: Said(text="y" if run.request.exchange_id else "hi"))
    assert (await row(driver, exchange)).latest_reply == "y"
    (said,) = (one for one in await driver.deliveries(DeliveryKind.REPLY) if one.text == "hi")
    assert said.address == GROUP_CHAT


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMEOUT, RunState.KILLED])
@pytest.mark.parametrize("reads", [True, False])
async def test_a_target_that_cannot_answer_fails_the_exchange_once(
    driver: Driver, state: RunState, reads: bool
) -> None:
    exchange = await exchanging(driver, max_turns=5)
    run = await driver.started()
    if reads:
        await driver.take(run)
    await driver.finish(run, Said(state=state))
    ended = await row(driver, exchange)
    unread = state is RunState.TIMEOUT and not reads
    word = ExchangeState.EXPIRED if unread else ExchangeState.FAILED
    assert (ended.phase, ended.state, ended.error) == (Phase.DONE, word, "it went wrong")
    told = await driver.play(lambda run: Said(text="who asked?"))
    # What was stopped starts no run.
    assert [run.key for run in told] == ([] if state is RunState.KILLED else [MAIN])
    late = f"There is no reply to the message {exchange.id}: {word}, it went wrong."
    assert (await driver.history(MAIN)).count(late) == 1


@pytest.mark.requirement("P15")
async def test_a_ring_of_agents_stops_where_it_would_close(driver: Driver, clock: FakeClock) -> None:
    ring = [SessionKey.named(f"agent-{number}", "main") for number in range(4)]
    await driver.hear(dm("pass it on"))
    run = await driver.started()
    for key in ring:
        await driver.take(run)
        await send(driver, run, key, "pass it on", max_turns=0)
        await driver.finish(run, Said(text="NO_REPLY"))
        run = await driver.started()
    assert run.cause.hops == (MAIN, *ring[:-1])
    for back in (MAIN, *ring[:-1]):
        with pytest.raises(Forbidden, match="cycle"):
            await send(driver, run, back, "pass it on")


@pytest.mark.requirement("P15")
async def test_a_message_that_was_passed_on_too_often_goes_no_further(driver: Driver) -> None:
    await driver.hear(dm("pass it on"))
    run = await driver.started()
    for number in range(16):
        await driver.take(run)
        await send(driver, run, SessionKey.named(f"agent-{number}", "main"), "pass it on")
        await driver.finish(run, Said(text="NO_REPLY"))
        run = await driver.started()
    with pytest.raises(Forbidden, match="limit"):
        await send(driver, run, SessionKey.named("last", "main"), "pass it on")
