"""Who may do what to whose session, as it is promised, and a world with one session in every relation.

Written from the promises and not from the guard: what is expected here must not change with the code.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from roost.core.keys import SessionKey
from roost.core.principals import OWNER, Principal, person
from roost.core.visibility import Level, Operation
from roost.ports import Store
from roost.testing import builders
from tests.contract.scenes import change

BOB, CAROL = person("loopback", "bob"), person("loopback", "carol")


class Who(Enum):
    """For whom an agent acts: the owner or a person in a session of their own, or a person in the owner's group."""

    OWNER = OWNER
    PERSON = BOB
    GUEST = "guest"

    @property
    def principal(self) -> Principal:
        return BOB if self is Who.GUEST else self.value

    @property
    def family(self) -> Principal:
        """Whose their session is, and all below it."""
        return OWNER if self is Who.GUEST else self.value


class Relation(StrEnum):
    """What a session is to the one that acts; the last four are rows of the same principal but for the very last."""

    SELF = "self"
    CHILD = "child"
    GRANDCHILD = "grandchild"
    PARENT = "parent"
    SIBLING = "sibling"
    SAME_AGENT = "same agent"
    ALLOWED_AGENT = "other agent, allowed"
    OTHER_AGENT = "other agent, not allowed"
    OTHER_PERSON = "other person"


class Box(StrEnum):
    """`LIFTED` is a sandbox under `sessionToolsVisibility: all`."""

    NONE = "none"
    CLAMPED = "clamped"
    LIFTED = "lifted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who acts: from their own session, or from a sub-agent of it."""

    who: Who
    inner: bool
    level: Level
    box: Box

    @property
    def key(self) -> SessionKey:
        return INNER[self.who] if self.inner else TOP[self.who]

    @property
    def targets(self) -> dict[Relation, SessionKey]:
        return relatives(self.who, self.inner)


TOP = {
    Who.OWNER: SessionKey.named("main", "main"),
    Who.PERSON: SessionKey.parse("agent:main:loopback:direct:bob"),
    Who.GUEST: SessionKey.parse("agent:main:loopback:group:g1"),
}
INNER = {who: SessionKey.parse(f"agent:main:subagent:{who.name.lower()}-inner") for who in Who}
NOWHERE = SessionKey.parse("agent:main:explicit:nowhere")
CAROLS = SessionKey.parse("agent:main:explicit:of-carol")


def relatives(who: Who, inner: bool) -> dict[Relation, SessionKey]:
    """Children live under an agent that nobody may reach otherwise: a tree crosses agents."""
    name = who.name.lower()
    child = SessionKey.parse(f"agent:closed:subagent:{name}-child")
    grandchild = SessionKey.parse(f"agent:main:subagent:{name}-grandchild")
    near = {Relation.SELF: TOP[who], Relation.CHILD: INNER[who], Relation.GRANDCHILD: child}
    if inner:
        near = {
            Relation.SELF: INNER[who],
            Relation.CHILD: child,
            Relation.GRANDCHILD: grandchild,
            Relation.PARENT: TOP[who],
            Relation.SIBLING: SessionKey.parse(f"agent:main:subagent:{name}-sibling"),
        }
    return {
        **near,
        Relation.SAME_AGENT: SessionKey.parse(f"agent:main:explicit:{name}"),
        Relation.ALLOWED_AGENT: SessionKey.parse(f"agent:ops:explicit:{name}"),
        Relation.OTHER_AGENT: SessionKey.parse(f"agent:closed:explicit:{name}"),
        Relation.OTHER_PERSON: CAROLS,
    }


def id_of(key: SessionKey) -> str:
    return f"id-{key}".replace(":", "-")


async def plant(store: Store) -> None:
    """Every session of the table, with a word in it that only who may read it should see."""
    await open_for(store, CAROLS, CAROL)
    for who in Who:
        mine = relatives(who, inner=True)
        await open_for(store, TOP[who], who.family)
        await open_for(store, INNER[who], who.family, TOP[who])
        await open_for(store, mine[Relation.SIBLING], who.family, TOP[who])
        await open_for(store, mine[Relation.CHILD], who.family, INNER[who])
        await open_for(store, mine[Relation.GRANDCHILD], who.family, mine[Relation.CHILD])
        for relation in (Relation.SAME_AGENT, Relation.ALLOWED_AGENT, Relation.OTHER_AGENT):
            await open_for(store, mine[relation], who.principal)


async def open_for(store: Store, key: SessionKey, owner: Principal, parent: SessionKey | None = None) -> None:
    row = builders.session(key, owner=owner, parent=parent)
    await change(store, builders.opening(row, id_of(key)), key=key)
    await store.append(key, (builders.said(f"entry-{key}", "canary"),))


# -- what is promised --------------------------------------------------------------------------------

_BELOW = frozenset({Relation.CHILD, Relation.GRANDCHILD})
_GROUPS = frozenset({Relation.CHILD, Relation.GRANDCHILD, Relation.PARENT, Relation.SIBLING})


def is_elses(relation: Relation, asker: Asker) -> bool:
    """Rows that do not exist for the asker: other people's, but for where a run is and what its tree holds."""
    match asker.who:
        case Who.OWNER:
            return False
        case Who.PERSON:
            return relation is Relation.OTHER_PERSON
        case Who.GUEST:
            in_tree = relation in _BELOW and asker.level >= Level.TREE
            return relation is Relation.OTHER_PERSON or (relation in _GROUPS and not in_tree)


def needed(relation: Relation) -> Level | None:
    """The lowest level that reaches a relation, if any does."""
    match relation:
        case Relation.SELF:
            return Level.SELF
        case Relation.CHILD | Relation.GRANDCHILD:
            return Level.TREE
        case Relation.ALLOWED_AGENT:
            return Level.ALL
        case Relation.OTHER_AGENT:
            return None
        case Relation.PARENT | Relation.SIBLING | Relation.SAME_AGENT | Relation.OTHER_PERSON:
            return Level.AGENT


def reached(relation: Relation, asker: Asker) -> bool:
    level = min(asker.level, Level.TREE) if asker.box is Box.CLAMPED else asker.level
    lowest = needed(relation)
    return lowest is not None and level >= lowest and not is_elses(relation, asker)


def promised(operation: Operation, relation: Relation, asker: Asker) -> bool:
    """Whether an agent may do this to a session in that relation."""
    if not reached(relation, asker):
        return False
    own = relation is Relation.SELF
    # What hangs below a guest's group is the group's owner's: it may be seen, and not be changed.
    theirs = asker.who is not Who.GUEST or relation not in _BELOW
    match operation:
        case Operation.LIST:
            return not (own and asker.box is Box.CLAMPED and not asker.inner)
        case Operation.HISTORY | Operation.SEARCH | Operation.SEND | Operation.STATUS:
            return True
        case Operation.SPAWN:
            return own
        case Operation.STOP:
            return relation in _BELOW
        case Operation.PATCH:
            return theirs
        case Operation.RESET:
            return theirs and not own
        case Operation.EXPORT | Operation.DELETE:
            return False


def setting_named(relation: Relation, asker: Asker) -> str | None:
    """What an agent without a sandbox is told to have changed; None: it is told nothing but that there is no such
    session, or why nobody may."""
    if reached(relation, asker) or is_elses(relation, asker):
        return None
    crosses = relation is Relation.OTHER_AGENT and asker.level is Level.ALL
    return "tools.agentToAgent.allow" if crosses else "tools.sessions.visibility"
