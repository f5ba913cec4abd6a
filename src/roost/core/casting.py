"""Which model plays a run, how long it thinks, and why: decided here and nowhere else."""

from dataclasses import dataclass

from roost.core.catalogue import Catalogue
from roost.core.errors import RoostError
from roost.core.keys import CHILD_KINDS
from roost.core.models import FailureKind, ModelFailed, ModelSpec
from roost.core.runs import Request
from roost.core.sessions import Session
from roost.core.statuscard import AnsweringModel
from roost.core.terms import Terms
from roost.core.thinking import ThinkingLevel, levels


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChain:
    """A model and what to ask when it fails, in order."""

    primary: str
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """What is configured for an agent, and for its children and heartbeats where that differs.

    `reason` says where the agent's own model comes from.
    """

    agent: str
    models: ModelChain
    reason: str
    child_models: ModelChain | None = None
    child_thinking: ThinkingLevel | None = None
    heartbeat_models: ModelChain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """`thinking` is None where nothing is asked for or the model does not know the level."""

    spec: ModelSpec
    thinking: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Casting:
    """Who plays and why; `fallbacks` may take over, in order, until the run ends."""

    player: Player
    reason: str
    fallbacks: tuple[Player, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The model that a run should use, by name, and why. One that was `asked` for has to be on the allow list."""

    model: str
    reason: str
    asked: bool = False

    def found(self, catalogue: Catalogue) -> ModelSpec:
        return catalogue.ask_for(self.model) if self.asked else catalogue.find(self.model)


def answering(session: Session, persona: Persona, catalogue: Catalogue) -> AnsweringModel:
    """Who answers next in a session; a model that cannot be had now is told as such."""
    named = _named(Request(), session, persona)
    try:
        spec = named.found(catalogue)
    except RoostError:
        window = session.counters.context_window or None
        reason = f"{named.reason}; it cannot be used now"
        return AnsweringModel(name=named.model, reason=reason, window=window)
    return AnsweringModel(name=str(spec.ref), reason=named.reason, window=spec.context_window)


def cast(request: Request, session: Session, persona: Persona, catalogue: Catalogue) -> Casting:
    """Who plays a run. What the run or the session names must be on the allow list; a name nobody has is refused."""
    named = _named(request, session, persona)
    spec = named.found(catalogue)
    spare = [catalogue.find(name) for name in _configured(session, persona)[0].fallbacks]
    terms = session.lineage.terms or Terms()
    level = request.thinking or session.overrides.thinking or terms.thinking
    if level is None and session.key.kind in CHILD_KINDS:
        level = persona.child_thinking

    def player(one: ModelSpec) -> Player:
        return Player(spec=one, thinking=level if level in levels(one) else None)

    others = dict.fromkeys(one for one in spare if one.ref != spec.ref)
    return Casting(player=player(spec), reason=named.reason, fallbacks=tuple(map(player, others)))


def helps(failed: ModelFailed) -> bool:
    """Whether another model may answer where this one failed. A conversation that is too long is condensed instead."""
    return failed.kind is not FailureKind.OVERFLOW


def fallback_reason(asked: ModelSpec, reason: str, failed: ModelFailed) -> str:
    return f"fallback because {asked.ref} ({reason}) failed: {failed.kind}, {failed.message}"


def _named(request: Request, session: Session, persona: Persona) -> Named:
    terms = session.lineage.terms or Terms()
    if request.model:
        return Named(model=request.model, reason="asked for by this run", asked=True)
    if session.overrides.model:
        return Named(model=session.overrides.model, reason="set on this session", asked=True)
    if terms.model:
        return Named(model=terms.model, reason="given to this session when it was spawned")
    models, reason = _configured(session, persona)
    return Named(model=models.primary, reason=reason)


def _configured(session: Session, persona: Persona) -> tuple[ModelChain, str]:
    if session.key.heartbeat and persona.heartbeat_models:
        return persona.heartbeat_models, f"the model of heartbeats of agent {persona.agent}"
    if session.key.kind in CHILD_KINDS and persona.child_models:
        return persona.child_models, f"the model of children of agent {persona.agent}"
    return persona.models, persona.reason
