import pytest

from roost.core.commandaccess import CommandPolicy, Granted, Ignored, Withheld, decide
from roost.core.commandlines import Line
from roost.core.commands import COMMANDS, Command, Name, named
from roost.core.grants import EVERY, Scope
from roost.core.identities import Identity
from roost.core.principals import OWNER, person

ADA, BOB = Identity(channel="telegram", id="1"), Identity(channel="telegram", id="2")
STATUS, SEND = named(Name.STATUS), named(Name.SEND)


def as_bob(policy: CommandPolicy, name: Name = Name.STATUS) -> object:
    return decide(line(named(name)), person("telegram", "2"), EVERY, BOB, policy)


def line(command: Command, argument: str = "") -> Line:
    return Line(command=command, word=f"/{command.name}", argument=argument)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_owner_may_use_every_command_whatever_the_lists_say(command: Command) -> None:
    assert isinstance(decide(line(command), OWNER, EVERY, ADA, CommandPolicy(allow_from={})), Granted)


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
    assert isinstance(refused, Withheld)
    assert "telegram:2 to commands.ownerAllowFrom" in refused.message


def test_who_may_use_no_commands_does_not_hear_of_the_owners() -> None:
    assert isinstance(as_bob(CommandPolicy(allow_from={}), Name.SEND), Ignored)


@pytest.mark.requirement("S6")
def test_a_small_credential_withholds_from_the_owner_what_it_does_not_hold() -> None:
    withheld = decide(line(named(Name.RESET)), OWNER, (Scope.WRITE,), ADA, CommandPolicy())
    assert isinstance(withheld, Withheld)
    assert withheld.rule == "missing scope: operator.admin"
    assert withheld.message.startswith("/reset needs the scope operator.admin")
    assert isinstance(decide(line(named(Name.STOP)), OWNER, (Scope.WRITE,), ADA, CommandPolicy()), Granted)


def test_who_may_use_no_commands_is_not_told_of_scopes() -> None:
    access = decide(line(named(Name.STATUS)), person("telegram", "2"), (), BOB, CommandPolicy(allow_from={}))
    assert isinstance(access, Ignored)


def test_to_be_shown_a_setting_needs_less_than_to_change_it() -> None:
    verbose = named(Name.VERBOSE)
    policy = CommandPolicy()
    assert isinstance(decide(line(verbose), OWNER, (Scope.READ,), ADA, policy), Granted)
    assert isinstance(decide(line(verbose, "on"), OWNER, (Scope.READ,), ADA, policy), Withheld)
