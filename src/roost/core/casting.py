"""Which model plays a run, how long it thinks, and why: decided here and nowhere else."""

from dataclasses import dataclass

from roost.core.catalogue import Catalogue
from roost.core.keys import CHILD_KINDS
from roost.core.models import FailureKind, ModelFailed, ModelSpec
from roost.core.runs import Request
from roost.core.sessions import Session
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


def cast(request: Request, session: Session, persona: Persona, catalogue: Catalogue) -> Casting:
    """Who plays a run. What the run or the session names must be on the allow list; a name nobody has is refused."""
    models, reason = _configured(session, persona)
    terms = session.lineage.terms or Terms()
    if asked := request.model or session.overrides.model:
        spec = catalogue.ask_for(asked)
        reason = "asked for by this run" if request.model else "set on this session"
    elif terms.model:
        spec, reason = catalogue.find(terms.model), "given to this session when it was spawned"
    else:
        spec = catalogue.find(models.primary)
    spare = [catalogue.find(name) for name in models.fallbacks]
    level = request.thinking or session.overrides.thinking or terms.thinking
    if level is None and session.key.kind in CHILD_KINDS:
        level = persona.child_thinking

    def player(one: ModelSpec) -> Player:
        return Player(spec=one, thinking=level if level in levels(one) else None)

    others = dict.fromkeys(one for one in spare if one.ref != spec.ref)
    return Casting(player=player(spec), reason=reason, fallbacks=tuple(map(player, others)))


def helps(failed: ModelFailed) -> bool:
    """Whether another model may answer where this one failed. A conversation that is too long is condensed instead."""
    return failed.kind is not FailureKind.OVERFLOW


def fallback_reason(asked: ModelSpec, reason: str, failed: ModelFailed) -> str:
    return f"fallback because {asked.ref} ({reason}) failed: {failed.kind}, {failed.message}"


def _configured(session: Session, persona: Persona) -> tuple[ModelChain, str]:
    if session.key.heartbeat and persona.heartbeat_models:
        return persona.heartbeat_models, f"the model of heartbeats of agent {persona.agent}"
    if session.key.kind in CHILD_KINDS and persona.child_models:
        return persona.child_models, f"the model of children of agent {persona.agent}"
    return persona.models, persona.reason
