"""A conversation on the terminal."""

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from roost.cli.console import talk
from roost.cli.main import main
from roost.clock import SystemClock
from roost.config import load
from roost.core.errors import LeaseHeld
from roost.core.events import EventKind
from roost.core.leases import Gateway
from roost.core.queries import SessionQuery
from roost.stores.sqlite import SqliteStore
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say
from tests.unit.cli.conftest import Typed


def test_what_is_typed_is_answered_before_the_command_ends(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n\n")
    assert main(["chat"]) == 0
    assert "A session is one conversation" in capsys.readouterr().out


def test_the_same_words_in_a_later_conversation_are_answered_again(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        typed("what is a session?\n")
        assert main(["chat"]) == 0
        assert "A session is one conversation" in capsys.readouterr().out


def test_a_model_that_is_not_there_is_told_before_anything_is_asked(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ agents: { defaults: { model: { primary: "nobody/nothing" } } } }')
    typed("hello\n")
    assert main(["chat"]) == 1
    assert "there is no model nobody/nothing" in capsys.readouterr().err


async def test_a_second_terminal_on_the_same_store_is_told_who_has_it(home: Path) -> None:
    store = SqliteStore.open(home / "roost.db", SystemClock())
    try:
        await store.acquire_lease(Gateway(name="terminal-1", holder="process 1"))
        with pytest.raises(LeaseHeld, match="process 1"):
            await talk(load({"ROOST_HOME": str(home)}))
    finally:
        await store.close()


class Pipe:
    """Input that goes on until it is closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reading, self._writing = os.pipe()
        self.file = os.fdopen(reading, encoding="utf-8")
        monkeypatch.setattr("sys.stdin", self.file)

    def type(self, line: str) -> None:
        os.write(self._writing, f"{line}\n".encode())

    def close(self) -> None:
        os.close(self._writing)
        self.file.close()


@pytest.fixture
def pipe(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    pipe = Pipe(monkeypatch)
    yield pipe
    pipe.close()


class Screen(io.StringIO):
    """Output that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = anyio.Event()

    def write(self, text: str) -> int:
        self._changed.set()
        self._changed = anyio.Event()
        return super().write(text)

    async def shows(self, words: str) -> None:
        while words not in self.getvalue():
            await self._changed.wait()


CONFIGURATION = """{
  messages: { queue: { debounceMs: 0 } },
  agents: { defaults: { model: { primary: "local/small" } } },
  models: { providers: { local: { api: "openai-completions", baseUrl: "%s", models: [{ id: "small" }] } } },
}"""


async def test_an_interrupt_stops_the_answer_and_the_next_one_leaves(
    home: Path, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(20):
        async with FakeOpenAI(reply_of((Say("Once upon a time"), Hang()))) as provider:
            (home / "roost.json").write_text(CONFIGURATION % provider.base_url)
            async with anyio.create_task_group() as group:
                group.start_soon(talk, load({"ROOST_HOME": str(home)}))
                pipe.type("tell me a long story")
                await screen.shows("Once upon a")
                os.kill(os.getpid(), signal.SIGINT)
                await screen.shows("[stopped]")
                await screen.shows("Stopped")
                os.kill(os.getpid(), signal.SIGINT)
    assert screen.getvalue().startswith("Once upon a time\n")
    store = SqliteStore.open(home / "roost.db", SystemClock())
    try:
        (session,) = (await store.list_sessions(SessionQuery(limit=10))).rows
        events = await store.events(session.key, after=0, limit=100)
        (ended,) = [event.ref for event in events if event.kind is EventKind.RUN_ENDED]
        run = await store.run(ended)
    finally:
        await store.close()
    assert run is not None
    assert run.stop is not None
