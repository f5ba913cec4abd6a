import pytest

from roost.core.commandaccess import CommandPolicy, Granted, Ignored, OwnerOnly, decide
from roost.core.commands import COMMANDS, Command, Name, named
from roost.core.identities import Identity
from roost.core.principals import OWNER, person

ADA, BOB = Identity(channel="telegram", id="1"), Identity(channel="telegram", id="2")
STATUS, SEND = named(Name.STATUS), named(Name.SEND)


def as_bob(policy: CommandPolicy, name: Name = Name.STATUS) -> object:
    return decide(named(name), person("telegram", "2"), BOB, policy)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_owner_may_use_every_command_whatever_the_lists_say(command: Command) -> None:
    assert isinstance(decide(command, OWNER, ADA, CommandPolicy(allow_from={})), Granted)


def test_without_a_list_whoever_is_let_in_may_use_commands() -> None:
    assert as_bob(CommandPolicy()) == Granted(rule="the channel let the sender in")


@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    "allow_from", [{}, {"telegram": ()}, {"*": ()}, {"telegram": ("",)}, {"discord": ("2",)}]
)
def test_an_empty_list_names_nobody(allow_from: dict[str, tuple[str, ...]]) -> None:
    assert isinstance(as_bob(CommandPolicy(allow_from=allow_from)), Ignored)


@pytest.mark.parametrize(
    ("allow_from", "rule"),
    [
        ({"telegram": ("2",)}, "commands.allowFrom.telegram"),
        ({"telegram": ("telegram:2",)}, "commands.allowFrom.telegram"),
        ({"telegram": ("*",)}, "commands.allowFrom.telegram"),
        ({"*": ("2",)}, "commands.allowFrom.*"),
    ],
)
def test_the_rule_that_let_somebody_use_commands_is_named(
    allow_from: dict[str, tuple[str, ...]], rule: str
) -> None:
    assert as_bob(CommandPolicy(allow_from=allow_from)) == Granted(rule=rule)


def test_the_list_of_a_channel_takes_the_place_of_the_general_one() -> None:
    assert as_bob(CommandPolicy(allow_from={"telegram": ("3",), "*": ("2",)})) == Ignored(
        rule="commands.allowFrom.telegram"
    )


@pytest.mark.parametrize("name", [Name.NEW, Name.RESET, Name.BACK])
def test_starting_afresh_needs_no_list(name: Name) -> None:
    assert isinstance(as_bob(CommandPolicy(allow_from={}), name), Granted)


@pytest.mark.requirement("D47", "S6")
@pytest.mark.parametrize("name", [Name.SEND, Name.ACTIVATION, Name.EXPORT])
def test_an_owners_command_is_refused_to_others_with_the_setting(name: Name) -> None:
    refused = as_bob(CommandPolicy(), name)
    assert isinstance(refused, OwnerOnly)
    assert "telegram:2 to commands.ownerAllowFrom" in refused.message


def test_who_may_use_no_commands_does_not_hear_of_the_owners() -> None:
    assert isinstance(as_bob(CommandPolicy(allow_from={}), Name.SEND), Ignored)
