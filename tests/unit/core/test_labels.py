from dataclasses import replace

import pytest

from roost.core.effects import ChangeSession
from roost.core.errors import Forbidden, InvalidInput
from roost.core.exchanges import CompletionStatus
from roost.core.keys import SessionKey
from roost.core.labels import (
    LONGEST_LABEL,
    Namesake,
    called_by,
    namesakes,
    passed_on,
    read_label,
    refuse_namer,
    refuse_taken,
)
from roost.core.principals import OWNER, Principal, person
from roost.core.rights import Rights
from roost.core.sessions import Labels, Lineage, Session, SessionStatus
from roost.core.terms import SpawnMode, Terms
from roost.core.visibility import AgentCaller, Level, Operation, PersonCaller, VisibleScope
from roost.testing.builders import MAIN, session
from tests import samples


def test_a_label_has_one_spelling_and_a_longest() -> None:
    assert read_label("  The \t kitchen\n") == "The kitchen"
    assert read_label(" \n") is None
    assert read_label(" x" * (LONGEST_LABEL // 2)) == " ".join("x" * (LONGEST_LABEL // 2))
    assert read_label("x" * LONGEST_LABEL) == "x" * LONGEST_LABEL
    with pytest.raises(InvalidInput, match="at most 512"):
        read_label("x" * (LONGEST_LABEL + 1))


@pytest.mark.parametrize("owner", [OWNER, person("telegram", "7")])
def test_a_name_is_one_sessions_among_all_of_its_owner(owner: Principal) -> None:
    query = namesakes("Trip", owner)
    assert query.scope == VisibleScope(owner=owner, agents=None)
    assert (query.label, query.archived) == ("Trip", None)


@pytest.mark.parametrize("principal", [OWNER, person("telegram", "7")])
def test_a_label_means_what_is_ones_own_or_hangs_below_it(principal: Principal) -> None:
    seen = called_by(Operation.LIST, PersonCaller(principal=principal))
    assert seen == VisibleScope(owner=principal, agents=None)
    agent = AgentCaller(agent="main", key=MAIN, principal=principal, level=Level.AGENT)
    assert called_by(Operation.SEND, agent) == VisibleScope(
        owner=principal, self_key=MAIN, tree_of=MAIN, agents=frozenset({"main"})
    )


def test_a_label_is_one_sessions_alone() -> None:
    refuse_taken("Trip", MAIN, [])
    refuse_taken("Trip", MAIN, [session()])
    with pytest.raises(InvalidInput, match="already in use"):
        refuse_taken("Trip", SessionKey.named("main", "other"), [session()])


def test_a_session_is_named_by_its_owner_and_the_gateways() -> None:
    alice = person("telegram", "7")
    refuse_namer(PersonCaller(principal=OWNER), alice)
    refuse_namer(PersonCaller(principal=alice), alice)
    for owner in (OWNER, person("telegram", "8")):
        with pytest.raises(Forbidden, match="only its owner"):
            refuse_namer(PersonCaller(principal=alice), owner)


CHILD = SessionKey.parse("agent:main:subagent:one")
AT_WORK, OVER = samples.completion("one"), replace(samples.completion("one"), status=CompletionStatus.OK)


def named(
    key: SessionKey, mode: SpawnMode = SpawnMode.RUN, status: SessionStatus = SessionStatus.DONE
) -> Session:
    lineage = Lineage(parent=MAIN, depth=1, terms=Terms(rights=Rights(), mode=mode))
    labels = Labels(label="research", subject="bees")
    return samples.session(key)._replace(labels=labels, lineage=lineage, status=status)


@pytest.mark.parametrize(
    ("namesake", "over"),
    [
        (Namesake(session=named(CHILD), task=OVER), True),
        (Namesake(session=named(CHILD)), True),
        (Namesake(session=named(CHILD), task=AT_WORK), False),
        (Namesake(session=named(CHILD, status=SessionStatus.RUNNING), task=OVER), False),
        (Namesake(session=named(CHILD, SpawnMode.SESSION), task=OVER), False),
        (Namesake(session=named(MAIN)), False),
    ],
    ids=["done", "its task long told", "at work", "asked again", "in a thread", "no child"],
)
def test_a_label_goes_from_a_child_whose_task_is_over_to_the_next(namesake: Namesake, over: bool) -> None:
    assert namesake.is_over is over
    if over:
        (freed,) = passed_on("research", [namesake], MAIN, OWNER)
        assert freed == ChangeSession(key=CHILD, labels=Labels(subject="bees"))
    else:
        with pytest.raises(InvalidInput, match="already in use: research"):
            passed_on("research", [namesake], MAIN, OWNER)
    assert passed_on("other", [namesake], MAIN, OWNER) == ()


@pytest.mark.parametrize("parent", [MAIN, SessionKey.named("main", "other")])
@pytest.mark.parametrize("speaker", [OWNER, person("telegram", "7")])
def test_a_child_gets_its_label_from_others_of_its_parent_or_by_the_word_of_their_owner(
    parent: SessionKey, speaker: Principal
) -> None:
    namesake = Namesake(session=named(CHILD), task=OVER)
    assert namesake.session.owner == OWNER
    assert namesake.yields_to(parent, speaker) is (parent == MAIN or speaker == OWNER)
