"""The stage of the tool policy that goes by the chat."""

import pytest

from roost.core.chattools import Chat, ChatTools, chat_of, scopes
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.runs import Request
from roost.core.sessions import Facts, SessionKind
from roost.core.toolpolicy import ToolRules
from tests import samples

ROOM, BOSS, BOB, REST = (ToolRules(deny=(name,)) for name in ("room", "boss", "bob", "rest"))
LEVEL = ChatTools(tools=ROOM, by_sender={"owner": BOSS, "2": BOB, "*": REST})
SEVERAL = Principal(PrincipalKind.AGENT, "main")


@pytest.mark.parametrize(
    ("speaker", "said"),
    [
        (OWNER, (BOSS,)),
        (person("telegram", "2"), (BOB,)),
        (person("telegram", "3"), (REST,)),
        (SEVERAL, (BOSS, BOB, REST)),
    ],
)
def test_what_is_said_of_who_speaks_comes_after_what_is_said_of_the_chat(
    speaker: Principal, said: tuple[ToolRules, ...]
) -> None:
    assert scopes((LEVEL,), speaker) == (ROOM, *said)


def test_a_sender_may_be_named_with_the_channel_and_need_not_be_named() -> None:
    named = ChatTools(by_sender={"telegram:2": BOB})
    assert scopes((named,), person("telegram", "2")) == (ToolRules(), BOB)
    assert scopes((named, ChatTools()), person("discord", "2")) == (ToolRules(), ToolRules())


def test_the_chat_is_where_a_run_answers_or_where_its_session_belongs() -> None:
    group = samples.session(samples.GROUP, facts=samples.GROUP_FACTS)
    here = samples.run("r", request=Request(reply_to=samples.OTHER_CHAT))
    nowhere = samples.run("r", request=Request())
    assert chat_of(group, here) == Chat("discord", "default", "9")
    assert chat_of(group, nowhere) == Chat("telegram", "default", "-100")
    assert chat_of(group._replace(facts=Facts(kind=SessionKind.OTHER)), nowhere) is None
