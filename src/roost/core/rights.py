"""What an agent may do in a session. A child has the meet of its parent's rights and its own."""

from dataclasses import dataclass, replace

from roost.core.visibility import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """`allow` None is every tool; a deny wins. `network` is whether programs may reach it where they are sandboxed.
    `spawns` is how many levels of children may still follow."""

    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    sandboxed: bool = False
    network: bool = True
    level: Level = Level.TREE
    spawns: int = 0

    def permits(self, tool: str) -> bool:
        return tool not in self.deny and (self.allow is None or tool in self.allow)


def meet(one: Rights, other: Rights) -> Rights:
    """The rights that both have."""
    return Rights(
        allow=_intersection(one.allow, other.allow),
        deny=one.deny | other.deny,
        sandboxed=one.sandboxed or other.sandboxed,
        network=one.network and other.network,
        level=min(one.level, other.level),
        spawns=min(one.spawns, other.spawns),
    )


def of_child(parent: Rights, own: Rights) -> Rights:
    """The rights of a session this parent spawns, one level further down."""
    return meet(replace(parent, spawns=max(parent.spawns - 1, 0)), own)


def _intersection(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
