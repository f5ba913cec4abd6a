"""A conversation on the terminal."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from roost.app.serving import Served
from roost.cli.main import main
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say
from tests.unit.cli.conftest import Screen, Typed


def test_what_is_typed_is_answered_before_the_command_ends(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        typed("what is a session?\n\n")
        assert main(["chat"]) == 0
        assert "A session is one conversation" in capsys.readouterr().out


def test_sessions_are_shown_and_gone_to(
    served: Served, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("hello\n/switch\n/switch other\n/status\n/quit\nnever said\n")
    assert main(["chat"]) == 0
    said = capsys.readouterr().out
    assert "agent:main:main  done" in said
    assert "Session: agent:main:other" in said
    assert "never said" not in said


def test_a_model_that_is_not_there_is_told_before_anything_is_asked(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (home / "roost.json").read_text().strip().removesuffix("}")
    (home / "roost.json").write_text(
        before + ', agents: { defaults: { model: { primary: "nobody/nothing" } } } }'
    )
    typed("hello\n")
    assert main(["chat"]) == 1
    assert "there is no model nobody/nothing" in capsys.readouterr().err


@pytest.fixture
def provider() -> Iterator[FakeOpenAI]:
    """One who begins an answer and never ends it."""
    fake = FakeOpenAI(reply_of((Say("Once upon a time"), Hang())))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(fake):
        yield fake


def test_an_interrupt_stops_the_answer_and_not_the_conversation(
    home: Path, provider: FakeOpenAI, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (home / "roost.json").read_text().strip().removesuffix("}")
    (home / "roost.json").write_text(
        f"""{before},
          messages: {{ queue: {{ debounceMs: 0 }} }},
          agents: {{ defaults: {{ model: {{ primary: "local/small" }} }} }},
          models: {{ providers: {{ local: {{
            api: "openai-completions", baseUrl: "{provider.base_url}", models: [{{ id: "small" }}] }} }} }} }}"""
    )
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    typed("tell me a long story\n/status\n")

    def interrupt() -> None:
        screen.shows("Once upon a time")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    watching = threading.Thread(target=interrupt)
    watching.start()
    assert main(["chat"]) == 0
    watching.join()
    assert "no answer" in screen.getvalue()
    assert "Session: agent:main:main" in screen.getvalue()
