import re

import pytest

from roost.core.commands import COMMANDS, Command, Family, Name, find, named
from roost.core.visibility import Operation
from roost.models.demo_answers import answer_to
from tests.meta import tree

ASKED_FOR = """/status /context /stop /compact /new /reset /back /send /model /think /verbose /reasoning /usage /queue
/subagents /agents /session /tools /steer /tell /name /activation /help /commands /whoami /export-session /explain"""


def test_every_name_has_one_row_in_the_table() -> None:
    assert sorted(command.name for command in COMMANDS) == sorted(Name)


@pytest.mark.parametrize("word", ASKED_FOR.split())
def test_every_command_people_were_promised_is_there(word: str) -> None:
    assert find(word) is not None


def test_no_word_means_two_commands() -> None:
    words = [word for command in COMMANDS for word in (command.name, *command.aliases)]
    assert len(words) == len(set(words))


def test_a_command_is_found_by_name_and_alias_whatever_the_case() -> None:
    assert find("/TELL") is find("steer") is named(Name.STEER)
    assert find("t") is named(Name.THINK)
    assert find("/bash") is None


def test_what_reveals_or_mutes_is_the_owners() -> None:
    assert {command.name for command in COMMANDS if command.owner} == {
        Name.SEND,
        Name.ACTIVATION,
        Name.EXPORT,
    }
    assert all((command.family is Family.OWNER) == command.owner for command in COMMANDS)


def test_what_changes_a_session_asks_for_more_than_looking_at_it() -> None:
    looking = {command.name for command in COMMANDS if command.operation is Operation.STATUS}
    assert looking == {
        Name.STATUS, Name.EXPLAIN, Name.CONTEXT, Name.TOOLS, Name.WHOAMI, Name.HELP, Name.COMMANDS, Name.SUBAGENTS, Name.AGENTS,
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_says_what_it_is_for(command: Command) -> None:
    assert command.usage.startswith(f"/{command.name}")
    assert re.fullmatch(r"[a-z`].*[^.]", command.summary)


def test_the_page_about_commands_has_every_one_as_the_table_says_it() -> None:
    page = tree.text_files()["docs/commands.md"]
    for command in COMMANDS:
        usage = command.usage.replace("|", r"\|")
        assert f"| `{usage}` | {command.summary[0].upper()}{command.summary[1:]}. |" in page
    assert page.count("| `/") == len(COMMANDS)


def test_the_demo_model_names_only_commands_there_are() -> None:
    words = re.findall(r"(?<![\w/])/[a-z]+(?![\w/])", answer_to("which commands are there?"))
    assert words
    assert all(find(word) for word in words)
