import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.core.commandlines import read, unmentioned
from roost.core.commands import COMMANDS, Command, Form, Name
from tests.scale import examples


def parts(text: str) -> tuple[str, str, str] | None:
    line = read(text)
    return None if line is None else (line.command.name, line.argument, line.message)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("/status", ("status", "", "")),
        ("  /Status  ", ("status", "", "")),
        ("/status@roost_bot", ("status", "", "")),
        ("/queue: collect cap:3", ("queue", "collect cap:3", "")),
        ("/queue : collect", ("queue", "collect", "")),
        ("/compact keep\nthe names", ("compact", "keep\nthe names", "")),
        ("/tell faster", ("steer", "faster", "")),
        ("/export-session --raw", ("export-session", "--raw", "")),
        ("/v on", ("verbose", "on", "")),
    ],
)
def test_a_command_is_the_whole_message(text: str, read_as: tuple[str, str, str]) -> None:
    assert parts(text) == read_as


@pytest.mark.parametrize(
    "text",
    ["/foo", "/status/page", "/stopping now", "stop it", "please stop", "and/status", "/", "", "/ status"],
)
def test_what_names_no_command_is_ordinary_text(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("hello /status there", ("status", "", "hello there")),
        ("/status and go on", ("status", "", "and go on")),
        ("/help model", ("help", "model", "")),
        ("/help me write", ("help", "", "me write")),
        ("so /WHOAMI", ("whoami", "", "so")),
    ],
)
def test_a_shortcut_may_stand_inside_a_message(text: str, read_as: tuple[str, str, str]) -> None:
    assert parts(text) == read_as


@pytest.mark.parametrize("text", ["see `/status`", "```\n/help\n```", "the page /stat", "/tmp/help"])
def test_code_and_longer_words_hold_no_shortcut(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("/think high what is it?", ("think", "high", "what is it?")),
        ("what is it? /think high", ("think", "high", "what is it?")),
        ("/t:low", ("think", "low", "")),
        ("/think", ("think", "", "")),
        ("/model one do it", ("model", "one", "do it")),
        ("I think high of it", None),
        ("what /think deeply of it", None),
    ],
)
def test_a_directive_takes_one_word_and_leaves_the_message(
    text: str, read_as: tuple[str, str, str] | None
) -> None:
    assert parts(text) == read_as


@pytest.mark.parametrize("text", ["stop", "Stop!", " ABORT. "])
def test_a_lone_stop_word_is_marked_as_bare(text: str) -> None:
    line = read(text)
    assert line is not None
    assert (line.command.name, line.bare) == (Name.STOP, True)
    slashed = read("/stop")
    assert slashed is not None
    assert not slashed.bare


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("@roost /status", "/status"),
        ("<@U123>: /new x", "/new x"),
        ("@roost stop!", "stop!"),
        ("@roost", "@roost"),
        ("hello @roost /status", "hello @roost /status"),
    ],
)
def test_a_leading_mention_is_taken_off(text: str, left: str) -> None:
    assert unmentioned(text) == left


@settings(deadline=None, max_examples=examples(50, 2_000))
@given(st.sampled_from(COMMANDS), st.text(max_size=40))
def test_nothing_that_was_written_is_lost(command: Command, rest: str) -> None:
    assume(not rest.lstrip().startswith(":"))
    line = read(f"/{command.name} {rest}")
    assert line is not None
    assert line.command is command
    said = f"{line.argument} {line.message}" if command.form is not Form.ALONE else line.argument
    assert said.split() == rest.split()


@pytest.mark.parametrize(
    ("text", "all_of_it"),
    [
        ("/status", True),
        ("/new hello", True),
        ("/think high", True),
        ("/think high why?", False),
        ("why? /status", False),
    ],
)
def test_a_command_is_all_of_a_message_unless_something_besides_it_is_left_to_say(
    text: str, all_of_it: bool
) -> None:
    line = read(text)
    assert line is not None
    assert line.is_all is all_of_it
