"""Which model plays, how long it thinks, and the reason that is kept."""

from dataclasses import replace

import pytest

from roost.core.casting import ModelChain, Persona, Player, answering, cast, fallback_reason, helps
from roost.core.catalogue import Catalogue
from roost.core.errors import Forbidden, NotFound
from roost.core.keys import SessionKey
from roost.core.models import FailureKind, ModelFailed, ModelRef, ModelSpec
from roost.core.runs import Request
from roost.core.sessions import Counters, Lineage, Overrides, Session
from roost.core.terms import Terms
from roost.core.thinking import ThinkingLevel
from roost.testing import builders
from tests.samples import CHILD


def spec(name: str, *, reasoning: bool = True) -> ModelSpec:
    return ModelSpec(ref=ModelRef("p", name), context_window=1000, max_tokens=100, reasoning=reasoning)


ONE, TWO, THREE, PLAIN = spec("one"), spec("two"), spec("three"), spec("plain", reasoning=False)
ALL = Catalogue((ONE, TWO, THREE, PLAIN))
MAIN = Persona(
    agent="main",
    models=ModelChain(primary="one", fallbacks=("two", "plain")),
    reason="the model of agent main",
)
PARENT = replace(
    MAIN, child_models=ModelChain(primary="two", fallbacks=("three",)), child_thinking=ThinkingLevel.LOW
)


def session(
    key: SessionKey = builders.MAIN, *, model: str | None = None, thinking: str | None = None
) -> Session:
    return builders.session(key)._replace(overrides=Overrides(model=model, thinking=thinking))


@pytest.mark.requirement("P18")
@pytest.mark.parametrize(
    ("request_", "override", "chosen", "reason"),
    [
        (Request(), None, ONE, "the model of agent main"),
        (Request(), "two", TWO, "set on this session"),
        (Request(model="three"), "two", THREE, "asked for by this run"),
    ],
)
def test_the_first_that_is_named_plays_and_the_reason_says_who_named_it(
    request_: Request, override: str | None, chosen: ModelSpec, reason: str
) -> None:
    found = cast(request_, session(model=override), MAIN, ALL)
    assert (found.player.spec, found.reason) == (chosen, reason)


@pytest.mark.requirement("D62", "P18")
@pytest.mark.parametrize(
    "asked",
    [
        session(),
        session(model="two"),
        session(CHILD),
        session(replace(builders.MAIN, heartbeat=True)),
        session(CHILD)._replace(lineage=Lineage(parent=builders.MAIN, terms=Terms(model="three"))),
    ],
    ids=["its agent's", "set", "of children", "of heartbeats", "given"],
)
def test_who_answers_next_is_told_as_the_run_will_have_it(asked: Session) -> None:
    known = Catalogue((ONE, TWO, THREE), allowed=[TWO.ref])
    who = replace(PARENT, models=ModelChain(primary="one"), heartbeat_models=ModelChain(primary="three"))
    who = replace(who, child_models=ModelChain(primary="two"))
    told, plays = answering(asked, who, known), cast(Request(), asked, who, known)
    assert (told.name, told.reason) == (str(plays.player.spec.ref), plays.reason)
    assert told.window == plays.player.spec.context_window


def test_a_model_that_cannot_be_had_is_told_as_such() -> None:
    known = Catalogue((ONE, TWO), allowed=[ONE.ref])
    for name in ("two", "gone"):
        asked = session(model=name)._replace(counters=Counters(context_window=50))
        told = answering(asked, replace(MAIN, models=ModelChain(primary="one")), known)
        assert (told.name, told.reason, told.window) == (
            name,
            "set on this session; it cannot be used now",
            50,
        )


def test_a_child_has_the_model_its_agent_gives_to_children() -> None:
    found = cast(Request(), session(CHILD), PARENT, ALL)
    assert found.player == Player(spec=TWO, thinking="low")
    assert found.reason == "the model of children of agent main"
    assert [one.spec for one in found.fallbacks] == [THREE]
    assert cast(Request(), session(), PARENT, ALL).player == Player(spec=ONE)


def test_a_child_whose_agent_says_nothing_about_children_has_the_agents_model() -> None:
    assert cast(Request(), session(CHILD), MAIN, ALL).player.spec == ONE
    assert cast(Request(model="three"), session(CHILD), PARENT, ALL).player.spec == THREE


def test_a_heartbeat_has_the_model_its_agent_gives_to_heartbeats() -> None:
    thrifty = replace(MAIN, heartbeat_models=ModelChain(primary="plain"))
    beat = session(replace(builders.MAIN, heartbeat=True))
    found = cast(Request(), beat, thrifty, ALL)
    assert (found.player.spec, found.reason) == (PLAIN, "the model of heartbeats of agent main")
    assert cast(Request(), beat, MAIN, ALL).player.spec == ONE
    assert cast(Request(), session(), thrifty, ALL).player.spec == ONE


def test_fallbacks_are_in_order_and_never_the_model_itself() -> None:
    assert [one.spec for one in cast(Request(), session(), MAIN, ALL).fallbacks] == [TWO, PLAIN]
    assert [one.spec for one in cast(Request(model="two"), session(), MAIN, ALL).fallbacks] == [PLAIN]
    again = replace(MAIN, models=ModelChain(primary="one", fallbacks=("two", "p/two")))
    assert [one.spec for one in cast(Request(), session(), again, ALL).fallbacks] == [TWO]


def test_thinking_is_asked_of_those_who_know_the_level() -> None:
    found = cast(Request(thinking="high"), session(thinking="low"), MAIN, ALL)
    assert found.player.thinking == "high"
    assert [one.thinking for one in found.fallbacks] == ["high", None]
    assert cast(Request(), session(thinking="low"), MAIN, ALL).player.thinking == "low"
    assert cast(Request(thinking="much"), session(), MAIN, ALL).player.thinking is None
    assert cast(Request(model="plain", thinking="high"), session(), MAIN, ALL).player.thinking is None


@pytest.mark.requirement("P18")
def test_what_nobody_has_or_is_not_allowed_is_refused_not_replaced() -> None:
    with pytest.raises(NotFound):
        cast(Request(model="four"), session(), MAIN, ALL)
    some = Catalogue((ONE, TWO, THREE, PLAIN), allowed=(TWO.ref,))
    with pytest.raises(Forbidden):
        cast(Request(), session(model="three"), MAIN, some)
    assert cast(Request(), session(), MAIN, some).player.spec == ONE


@pytest.mark.parametrize("kind", FailureKind)
def test_another_model_helps_with_every_failure_but_a_conversation_too_long(kind: FailureKind) -> None:
    assert helps(ModelFailed("no", kind=kind)) is (kind is not FailureKind.OVERFLOW)


def test_the_reason_of_a_fallback_names_what_was_asked_and_what_happened() -> None:
    failed = ModelFailed("p answered 401", kind=FailureKind.AUTH)
    said = fallback_reason(ONE, "set on this session", failed)
    assert said == "fallback because p/one (set on this session) failed: auth, p answered 401"
