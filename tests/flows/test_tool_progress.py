"""What is shown of tools while they run: to whoever listens, and in the chat where it was asked for."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.feeds import FeedItem
from roost.core.keys import SessionKey
from roost.core.messages import ToolCall
from roost.core.previews import RunOver, ToolBegan, ToolOver, ToolPrinted
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.runs import Run
from roost.core.sendpolicy import SendAction, SendPolicy
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.core.visibility import PersonCaller
from roost.engine.rules import CommandRules, Part
from roost.sandboxes.processes import Processes
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import CallTool, Say, Until
from roost.tools.exec import Exec
from tests.credentials import mixed
from tests.flows.gateways import ADA, Bench, benches, place

MAIN = SessionKey.named("main", "main")
ME = PersonCaller(principal=OWNER)
SECRET = f"sk-proj-{mixed(48)}"


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(request.param, tmp_path) as bench:
        bench.tools = (Exec(Processes(), sandboxed=False),)
        cast = bench.cast

        def in_folder(session: Session, run: Run) -> Part:
            return replace(cast(session, run), place=Place(workspace=str(tmp_path)))

        bench.change(cast=in_folder, commands=CommandRules(scanner=StdlibScanner()))
        yield bench


def runs(command: str, name: str = "c1") -> CallTool:
    return CallTool(ToolCall(id=name, name="exec", arguments={"command": command}))


async def heard(items: AsyncIterator[FeedItem], last: type[FeedItem]) -> list[FeedItem]:
    """All that comes until one of this kind."""
    found = [await anext(items)]
    while not isinstance(found[-1], last):
        found.append(await anext(items))
    return found


async def test_a_listener_sees_what_a_program_prints_while_it_still_runs(
    bench: Bench, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    bench.model.add((runs("echo one; read word < go; echo $word"),), (Say("done"),))
    async with bench.serving() as (engine, _), engine.feed.subscribe(MAIN, ME) as items:
        await bench.say("run it")
        with anyio.fail_after(60):
            found = await heard(items, ToolPrinted)
            # Only now may it go on.
            await anyio.to_thread.run_sync((tmp_path / "go").write_text, "two\n")
            found += await heard(items, RunOver)
    shown = [item for item in found if isinstance(item, ToolBegan | ToolPrinted | ToolOver)]
    assert [type(item) for item in shown] == [ToolBegan, ToolPrinted, ToolPrinted, ToolOver]
    assert [(item.offset, item.text) for item in shown if isinstance(item, ToolPrinted)] == [
        (0, "one\n"),
        (4, "two\n"),
    ]


async def test_a_flood_reaches_listeners_in_few_pieces_and_up_to_a_measure(bench: Bench) -> None:
    bench.model.add((runs("yes | head -c 3000000"),), (Say("done"),))
    async with bench.serving() as (engine, _), engine.feed.subscribe(MAIN, ME) as items:
        await bench.say("run it")
        with anyio.fail_after(60):
            found = await heard(items, RunOver)
    pieces = [item.text for item in found if isinstance(item, ToolPrinted)]
    assert len("".join(pieces)) < 70_000
    assert pieces[-1].endswith("[more output is not shown]\n")
    page = await bench.store.history(HistoryQuery(key=MAIN, limit=100))
    assert len(page.entries) == 4


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("off", []),
        ("on", ["exec: echo first; exit 1", "exec: echo second"]),
        (
            "full",
            [
                "exec: echo first; exit 1",
                "exec failed:\nfirst\n[exit status 1]",
                "exec: echo second",
                "exec is done:\nsecond",
            ],
        ),
    ],
)
async def test_verbose_shows_tool_calls_in_the_chat_before_the_answer(
    bench: Bench, level: str, shown: list[str]
) -> None:
    bench.model.add((runs("echo first; exit 1"),), (runs("echo second", "c2"),), (Say("done"),))
    async with bench.serving():
        await bench.say(f"/verbose {level}")
        await bench.replies()
        await bench.say("run it")
        replies = await bench.replies(at_least=2 + len(shown))
    assert list(replies) == [f"Verbose: {level}.", *shown, "done"]
    sent = await bench.store.deliveries(DeliveryState.CONFIRMED, 100)
    assert sum(one.kind is DeliveryKind.NOTICE for one in sent) == len(shown)
    page = await bench.store.history(HistoryQuery(key=MAIN, limit=100))
    assert len(page.entries) == 6


async def test_verbose_can_be_set_while_a_run_goes_on_and_masks_secrets(bench: Bench) -> None:
    release = anyio.Event()
    bench.model.add((runs("true"),), (Until(release), runs(f"echo {SECRET}", "c2")), (Say("done"),))
    async with bench.serving():
        await bench.say("run it")
        await bench.model.asked(2)
        await bench.say("/verbose full")
        await bench.replies()
        release.set()
        replies = await bench.replies(at_least=4)
    assert [line.split()[0] for line in replies] == ["Verbose:", "exec:", "exec", "done"]
    assert SECRET not in "".join(replies)


async def test_where_answers_may_not_be_sent_tool_calls_are_not_shown_either(bench: Bench) -> None:
    bench.change(sending=SendPolicy(default=SendAction.DENY))
    bench.model.add((runs("true"),), (Say("done"),))
    async with bench.serving() as (engine, _):
        await bench.say("/verbose full")
        await bench.say("run it")
        await bench.model.asked(2)
        await engine.settled()
    assert not any("exec" in line for line in bench.channel.replies(place(ADA)))
