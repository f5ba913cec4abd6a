"""A conversation on the terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from roost.app.serving import Served
from roost.cli.chat import BROKEN_OFF
from roost.cli.main import main
from roost.core.messages import ToolCall, Usage
from roost.core.models import FailureKind
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Fail, Hang, Say, Script, Spend, Think, Until
from tests.unit.cli.conftest import Screen, Typed
from tests.unit.cli.grids import Grid
from tests.unit.cli.terminals import Terminal


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


def test_a_number_that_is_not_on_the_list_goes_nowhere_and_a_new_session_is_announced(
    served: Served, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("hello\n/switch\n/switch 9\n/status\n/switch other\n/switch 1\n/quit\n")
    assert main(["chat"]) == 0
    said = capsys.readouterr().out
    assert "there is no 9 on the list; /switch shows it\n" in said
    assert "Session: agent:main:main" in said
    assert said.count("begins with the first message") == 1
    assert "a new session other begins with the first message\n" in said


def test_a_gateway_that_is_named_is_talked_to(
    served: Served, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert served.token_file is not None
    typed("what is a session?\n")
    token = served.token_file.read_text().strip()
    assert main(["chat", "--url", served.url, "--token", token]) == 0
    assert "A session is one conversation" in capsys.readouterr().out


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


def test_a_conversation_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--json"]) == 1
    assert "roost agent --message TEXT --json" in capsys.readouterr().err


@contextmanager
def answering(home: Path, *scripts: Script) -> Iterator[BlockingPortal]:
    """The model is one who answers like this, in the thread of the portal."""
    fake = FakeOpenAI(*map(reply_of, scripts))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(fake):
        before = (home / "roost.json").read_text().strip().removesuffix("}")
        (home / "roost.json").write_text(
            f"""{before},
              messages: {{ queue: {{ debounceMs: 0 }} }},
              agents: {{ defaults: {{ model: {{ primary: "local/small" }} }} }},
              models: {{ providers: {{ local: {{
                api: "openai-completions", baseUrl: "{fake.base_url}", models: [{{ id: "small" }}] }} }} }} }}"""
        )
        yield portal


@pytest.mark.parametrize("level", ["on", "stream"])
def test_reasoning_and_figures_are_shown_around_an_answer_where_they_were_asked_for(
    level: str, home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = Usage(input=1_200, output=3, total=1_203)
    script = (Think("two "), Think("and two"), Say("four"), Spend(usage))
    with answering(home, script, script):
        typed(f"/reasoning {level}\n/usage full\ntwo and two?\n/reasoning off\n/usage tokens\nagain?\n")
        assert main(["chat"]) == 0
    figures = "1.2k tokens in, 3 out"
    assert capsys.readouterr().out.partition("Figures below answers: full.\n")[2] == (
        f"Reasoning:\ntwo and two\n\nfour\n\n[local/small: {figures}, $0.0000]\n"
        f"Reasoning: off.\nFigures below answers: tokens.\nfour\n\n[{figures}]\n"
    )


SPACED = (Say("\n "), Say("echo "), Say("hello"), Say(" \n\n"), Say("world "), Say("\n"))


def test_an_answer_with_space_around_it_is_shown_once(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(home, SPACED, SPACED):
        assert main(["agent", "--message", "hello"]) == 0
        assert capsys.readouterr().out == "echo hello \n\nworld\n"
        typed("again\n")
        assert main(["chat"]) == 0
    assert capsys.readouterr().out.endswith("\necho hello \n\nworld\n")


def test_reasoning_with_space_around_it_is_shown_once_and_not_at_all_where_it_is_nothing_else(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(home, (Think("two "), Think("\n"), Say("four")), (Think(" \n"), Say("five"))):
        typed("/reasoning stream\ntwo and two?\nand one?\n")
        assert main(["chat"]) == 0
    assert capsys.readouterr().out.endswith("Reasoning:\ntwo\n\nfour\nfive\n")


def test_an_answer_that_begins_with_space_stands_below_what_was_said_before_a_tool(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(
        home,
        (Say("Well"), CallTool(ToolCall(id="c1", name="session_status", arguments={}))),
        (Say("\n"), Say("Well done")),
    ):
        assert main(["agent", "--message", "hello"]) == 0
    assert capsys.readouterr().out == "Well\nWell done\n"


def test_that_there_is_no_answer_is_told_on_the_error_output(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(home, (Fail(FailureKind.AUTH, "out of order"),)):
        assert main(["agent", "--message", "hello"]) == 1
    said = capsys.readouterr()
    assert "no answer" not in said.out
    assert said.err.startswith("roost: no answer: ")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_turn_whose_time_is_over_is_a_failure_for_programs_too(
    form: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(home, (Hang(),)):
        assert main(["agent", "--message", "hello", "--timeout", "1", *form]) == 1
    assert bool(capsys.readouterr().out) == bool(form)


@pytest.mark.parametrize(("level", "shown"), [("on", "· session_status\n"), ("off", "")])
def test_tools_are_shown_as_they_begin_where_the_session_is_verbose(
    level: str, shown: str, home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(
        home,
        (Say("Well"), CallTool(ToolCall(id="c1", name="session_status", arguments={}))),
        (Say("done"),),
    ):
        typed(f"/verbose {level}\nhello\n")
        assert main(["chat"]) == 0
    assert capsys.readouterr().out.endswith(f"Verbose: {level}.\nWell\n{shown}done\n")


@pytest.fixture
def endless(home: Path) -> Iterator[None]:
    """One who begins an answer and never ends it."""
    with answering(home, (Say("Once upon a time"), Hang())):
        yield


@pytest.mark.usefixtures("endless")
def test_an_interrupt_stops_the_answer_and_not_the_conversation(
    home: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_on_a_terminal_commands_and_sessions_are_completed_gone_to_and_remembered(home: Path) -> None:
    environ = {"ROOST_HOME": str(home)}
    with Terminal(["chat"], environ) as terminal:
        terminal.shows("main> ")
        terminal.types("what is a session?\n")
        terminal.shows("A session is one conversation")
        terminal.shows("main> ")
        terminal.types("/sta\t\n")
        terminal.shows("Session: agent:main:main")
        terminal.shows("main> ")
        terminal.types("/switch other\n")
        terminal.shows("other> ")
        terminal.types("hello\n")
        terminal.shows("demo model")
        terminal.shows("other> ")
        terminal.types("/switch\n")
        terminal.shows("1  agent:main:other")
        terminal.shows("2  agent:main:main")
        terminal.shows("other> ")
        terminal.types("/switch 2\n")
        terminal.shows("assistant: A session is")
        terminal.shows("agent:main:main> ")
        terminal.types("/switch agent:main:o\t")
        terminal.shows("agent:main:other")
        terminal.types("\n")
        terminal.shows("agent:main:other> ")
        terminal.types("\x04")
        assert terminal.ends() == 0
    with Terminal(["chat"], environ) as terminal:
        terminal.shows("user: what is a session?")
        terminal.shows("main> ")
        terminal.types("\x1b[A")
        terminal.shows("/switch agent:main:other")
        terminal.types("\n")
        terminal.shows("agent:main:other> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0


def on_screen(terminal: Terminal, first: str) -> list[str]:
    """The rows from one on."""
    rows = Grid().rows(terminal.text)
    return rows[rows.index(first) :]


def test_on_a_terminal_commands_are_answered_and_stop_stops_while_an_answer_comes(home: Path) -> None:
    with (
        answering(home, (Say("Once upon"), Hang()), (Say("The end."),)),
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("tell me a story\n")
        terminal.shows("Once upon")
        terminal.types("/status\n")
        terminal.shows("Work: a turn for")
        terminal.shows("main> ")
        terminal.types("stop\n")
        terminal.shows("no answer: ")
        terminal.shows("main> ")
        terminal.types("go on\n")
        terminal.shows("The end.")
        terminal.shows("main> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0
    rows = on_screen(terminal, "main> tell me a story")
    assert rows.count("Once upon") == 1
    assert rows.count("The end.") == 1
    assert rows.index("main> /status") < rows.index("main> stop") < rows.index("main> go on")


def test_on_a_terminal_what_is_said_during_an_answer_is_answered_after_it(home: Path) -> None:
    rest = anyio.Event()
    with (
        answering(home, (Say("One "), Until(rest), Say("and only")), (Say("Two and three"),)) as portal,
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("/queue followup\n")
        terminal.shows("Queue: followup")
        terminal.shows("main> ")
        terminal.types("first\n")
        terminal.shows("One")
        terminal.types("second\n")
        terminal.shows("main> second\r\nOne\r\n")
        terminal.shows("main> ")
        terminal.types("/status\n")
        terminal.shows("Queue: followup, 1 message waiting")
        portal.call(rest.set)
        terminal.shows("Two and three")
        terminal.shows("main> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0
    rows = on_screen(terminal, "main> first")
    said = [row for row in rows if row in ("One", "and only", "One and only", "Two and three")]
    assert said == ["One", "and only", "Two and three"]


def test_on_a_terminal_pasted_lines_are_one_message_and_stay_under_what_comes(home: Path) -> None:
    more = anyio.Event()
    with (
        answering(home, (Say("Once"), Until(more), Say(" upon a time")), (Say("Twice."),)) as portal,
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("tell me a story\n")
        terminal.shows("Once")
        terminal.types("\x1b[200~of a cat\rand a dog\x1b[201~,")
        terminal.shows("and a dog,")
        portal.call(more.set)
        terminal.shows("upon a time")
        terminal.shows("main> of a cat")
        terminal.types(" please\n")
        terminal.shows("Twice.")
        terminal.shows("main> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0
    rows = on_screen(terminal, "main> tell me a story")
    assert rows[rows.index("main> of a cat") + 1] == "and a dog, please"
    assert [row for row in rows if row in ("Once", "Once upon a time", "Twice.")] == [
        "Once upon a time",
        "Twice.",
    ]


def test_on_a_terminal_an_interrupt_stops_the_answer_and_keeps_the_line(home: Path) -> None:
    more = anyio.Event()
    with (
        answering(home, (Say("Once "), Until(more), Say("upon a time"), Hang())) as portal,
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("tell me a story\n")
        terminal.shows("Once")
        terminal.types("/sta")
        terminal.shows("/sta")
        # When this has come, the line editor waits for a key again.
        portal.call(more.set)
        terminal.shows("Once upon a time")
        terminal.types("\x03")
        terminal.shows("no answer: ")
        terminal.shows("main> /sta")
        terminal.types("tus\n")
        terminal.shows("Session: agent:main:main")
        terminal.shows("main> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0


def test_on_a_terminal_who_leaves_before_the_answer_is_out_at_once_and_told_what_becomes_of_it(
    home: Path,
) -> None:
    with (
        answering(home, (Say("Once upon a time"), Hang())),
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("tell me a story\n")
        terminal.shows("Once upon a time")
        terminal.types("/st\t\t")
        terminal.shows("Once upon a time\r\n/status  /steer  /stop\r\nmain> /st")
        terminal.types("\x15\x04")
        terminal.shows(BROKEN_OFF)
        assert terminal.ends() == 0


class Interrupted:
    """A line that is given up by Ctrl-C, and what is typed after it."""

    def __init__(self, *lines: str) -> None:
        self._lines = iter(lines)
        self._begun = False

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        if not self._begun:
            self._begun = True
            raise KeyboardInterrupt
        return next(self._lines, "")


def test_an_interrupt_at_the_prompt_gives_up_the_line_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Interrupted("/status\n"))
    assert main(["chat"]) == 0
    assert "Session: agent:main:main" in capsys.readouterr().out
