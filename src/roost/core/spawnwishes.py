"""What a session asks for when it spawns another, and what of it is granted: agent, rights, model, context, thread.

How many children there may be is decided again by `core.spawning`, where it is certain.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from roost.core import spawning
from roost.core.addresses import Address
from roost.core.delegation import Delegation
from roost.core.effects import Effects
from roost.core.errors import Forbidden, InvalidInput
from roost.core.exchanges import Cleanup, Completion
from roost.core.labels import Namesake, passed_on
from roost.core.models import ModelSpec
from roost.core.rights import Rights, of_child
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.spawning import FORK_TOKENS, THREADS_HINT, SpawnOrder, ThreadTerms
from roost.core.terms import SpawnContext, SpawnMode, Terms
from roost.core.thinking import levels
from roost.core.threads import ThreadBinding, ThreadPolicy, ThreadSettings

SHOWN_TASK = 72
REQUIRE_SETTING = "agents.defaults.subagents.requireAgentId"
ALLOW_SETTING = "subagents.allowAgents"
SANDBOX_SETTING = "agents.defaults.sandbox.mode"
THREADS_SETTING = "session.threadBindings"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRules:
    """What may be bound to the thread it is asked for in, and which places have threads at all."""

    policy: ThreadPolicy = field(default_factory=ThreadPolicy)
    known: Callable[[Address], bool] = lambda address: False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAgent:
    """An agent as a child at some depth: what it may do by itself, the model of its children, and its own."""

    rights: Rights
    model: str | None
    own_model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """`ask_for` finds a model that may be asked for by name, `find` any; both raise what is wrong with a name."""

    ask_for: Callable[[str], ModelSpec]
    find: Callable[[str], ModelSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnRules:
    """What is configured for the agent that spawns. `child` describes a configured agent at a depth."""

    delegation: Delegation
    agents: Collection[str]
    child: Callable[[str, int], ChildAgent]
    models: Models
    max_depth: int = 1
    max_children: int = 5
    limit_seconds: int = 0
    require_agent: bool = False
    threads: ThreadRules = field(default_factory=ThreadRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The arguments of a spawn, each in its form."""

    task: str
    label: str | None = None
    task_name: str | None = None
    agent: str | None = None
    model: str | None = None
    thinking: str | None = None
    limit_seconds: int | None = None
    cleanup: Cleanup = Cleanup.KEEP
    mode: SpawnMode | None = None
    thread: bool = False
    sandboxed: bool = False
    context: SpawnContext | None = None
    folder: str | None = None

    @property
    def may_fork(self) -> bool:
        return self.context is SpawnContext.FORK or self.thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The session that asks, its run under way with the rights and the model it has, what it is owed, whose the thread
    is that the run answers in, and how large the context is that it would pass on, and whom a child of it might
    be called like."""

    session: Session
    run: Run
    rights: Rights
    owed: tuple[Completion, ...] = ()
    model: str | None = None
    bound: ThreadBinding | None = None
    context_tokens: int = 0
    namesakes: tuple[Namesake, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """`model` is the one that will be asked; `note` says what was not done as wished. `frees`: whose label it gets."""

    order: SpawnOrder
    model: ModelSpec
    note: str | None = None
    frees: Effects = ()


def grant(wish: Wish, rules: SpawnRules, asked: Requester, *, call_id: str, at: int) -> Granted:
    """What a wish comes to. Refusals come in a fixed order and name their setting."""
    spawning.refuse_depth(asked.rights.spawns, rules.max_depth)
    spawning.refuse_crowd(asked.owed, rules.max_children)
    agent = _agent(wish, rules)
    own = rules.child(agent, asked.session.lineage.depth + 1)
    rights = of_child(asked.rights, own.rights)
    _refuse_place(wish, rules, agent, rights)
    given, spec = _model(wish, rules, agent, own, asked)
    if wish.thinking is not None and wish.thinking not in levels(spec):
        known = ", ".join(levels(spec))
        raise InvalidInput(
            f"{spec.ref} knows no thinking level {wish.thinking!r}", hint=f"say one of {known}"
        )
    mode = _mode(wish)
    thread = _thread(rules.threads, asked, at) if wish.thread else None
    context, note = _context(wish, rules, agent, asked, thread)
    seconds = rules.limit_seconds if wish.limit_seconds is None else wish.limit_seconds
    terms = Terms(
        rights=rights,
        mode=mode,
        max_depth=rules.max_depth,
        task=" ".join(wish.task.split())[:SHOWN_TASK],
        task_name=wish.task_name,
        model=given,
        thinking=wish.thinking,
        folder=wish.folder,
    )
    order = SpawnOrder(
        run_id=asked.run.id,
        call_id=call_id,
        agent=agent,
        task=wish.task,
        terms=terms,
        at=at,
        max_children=rules.max_children,
        label=wish.label,
        cleanup=Cleanup.KEEP if thread else wish.cleanup,
        limit_ms=seconds * 1_000 or None,
        context=context,
        binding=ThreadTerms(idle_ms=thread.idle_ms, max_age_ms=thread.max_age_ms) if thread else None,
    )
    parent, speaker = asked.session.key, asked.run.cause.principal
    frees = passed_on(wish.label, asked.namesakes, parent, speaker) if wish.label else ()
    return Granted(order=order, model=spec, note=note, frees=frees)


def _agent(wish: Wish, rules: SpawnRules) -> str:
    own = rules.delegation.agent
    if wish.agent is None:
        if rules.require_agent:
            raise Forbidden(f"{REQUIRE_SETTING} asks for an agent by name", hint="call again with `agentId`")
        return own
    named = rules.delegation.among(rules.agents)
    if wish.agent not in named:
        may = ", ".join(named) or "none"
        raise Forbidden(
            f"{ALLOW_SETTING} of agent {own} does not allow {wish.agent!r}; allowed: {may}",
            hint="name one of these, or leave `agentId` out",
        )
    return wish.agent


def _refuse_place(wish: Wish, rules: SpawnRules, agent: str, rights: Rights) -> None:
    if wish.sandboxed and not rights.sandboxed:
        raise Forbidden(
            f"agent {agent} does not run in a sandbox ({SANDBOX_SETTING})",
            hint="leave `sandbox` out, or name another agent",
        )
    if wish.folder is None:
        return
    if rights.sandboxed:
        raise Forbidden("`cwd` cannot be given to a child in a sandbox", hint="leave `cwd` out")
    if agent != rules.delegation.agent:
        raise Forbidden("`cwd` is a folder of your own workspace", hint="leave `cwd` or `agentId` out")
    if wish.folder.startswith("/") or ".." in wish.folder.split("/") or "\0" in wish.folder:
        raise InvalidInput(
            "`cwd` must be a folder inside the workspace", hint="give it relative to the workspace"
        )


def _model(
    wish: Wish, rules: SpawnRules, agent: str, own: ChildAgent, asked: Requester
) -> tuple[str | None, ModelSpec]:
    """What the child is given by name, and the model that it comes to: wished, configured for children, the caller's,
    the agent's."""
    if wish.model is not None:
        spec = rules.models.ask_for(wish.model)
        return str(spec.ref), spec
    if own.model is not None:
        return None, rules.models.find(own.model)
    if agent == rules.delegation.agent and asked.model is not None:
        return asked.model, rules.models.find(asked.model)
    return None, rules.models.find(own.own_model)


def _mode(wish: Wish) -> SpawnMode:
    mode = wish.mode or (SpawnMode.SESSION if wish.thread else SpawnMode.RUN)
    if mode is SpawnMode.SESSION and not wish.thread:
        raise InvalidInput('`mode: "session"` needs `thread: true`', hint=THREADS_HINT)
    return mode


def _thread(threads: ThreadRules, asked: Requester, at: int) -> ThreadSettings:
    """What holds for the thread that a run answers in, if a child may have it."""
    address = spawning.thread_of(asked.run)
    settings = threads.policy.of(address)
    if not (settings.enabled and settings.spawns):
        raise Forbidden(
            f"{THREADS_SETTING} does not let a spawn bind a thread of {address.channel}", hint=THREADS_HINT
        )
    if not threads.known(address):
        raise Forbidden("this channel has no threads that could be bound", hint=THREADS_HINT)
    bound = threads.policy.living(asked.bound, at)
    if bound is not None:
        _refuse_bound(bound, asked)
    return settings


def _refuse_bound(bound: ThreadBinding, asked: Requester) -> None:
    """Of two that a turn spawns for one thread, the second takes nothing from the first."""
    if not bound.is_changed_by(asked.run.cause.principal):
        raise Forbidden(
            f"this thread is bound to {bound.key}: only who bound it, or the owner, may change that",
            hint=THREADS_HINT,
        )
    if any(one.child == bound.key and one.batch == asked.run.id for one in asked.owed):
        raise Forbidden(f"you have bound this thread to {bound.key} just now", hint=THREADS_HINT)


def _context(
    wish: Wish, rules: SpawnRules, agent: str, asked: Requester, thread: ThreadSettings | None
) -> tuple[SpawnContext, str | None]:
    """A fork that was not asked for is left out where it cannot be; one that is too long is left out with a word."""
    same = agent == rules.delegation.agent
    wanted = wish.context or (thread.context if thread and same else SpawnContext.ISOLATED)
    if wanted is SpawnContext.ISOLATED:
        return wanted, None
    if not same:
        raise Forbidden(
            "only your own agent can begin with this conversation", hint='use `context: "isolated"`'
        )
    if spawning.too_large(asked.session, asked.context_tokens):
        note = f"this conversation has more than {FORK_TOKENS} tokens, so the child begins without it"
        return SpawnContext.ISOLATED, note
    return wanted, None
