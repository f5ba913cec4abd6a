"""The generations of a key as one timeline: what the model may be shown of them.

A generation that names a base goes on from there; one that names none starts with an empty context. Every
generation holds only its own entries.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from roost.core.errors import Conflict
from roost.core.keys import SessionKey
from roost.core.sessions import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The entries of one generation with `after` < seq <= `through`; None means to its end."""

    session_id: str
    after: int = 0
    through: int | None = None


def context(
    generations: Iterable[Generation], current: str, through: int | None = None
) -> tuple[Segment, ...]:
    """What the context of a generation is made of, oldest first; `through` is up to where, if not to its end.

    A base that is not among the generations, or leads back to one already visited, ends the chain.
    """
    known = {generation.session_id: generation for generation in generations}
    segments: list[Segment] = []
    session_id = current
    while generation := known.pop(session_id, None):
        if through != 0:
            segments.append(Segment(session_id=session_id, through=through))
        if generation.base is None:
            break
        session_id, through = generation.base.session_id, generation.base.seq
    return tuple(reversed(segments))


def continued(key: SessionKey, by: Iterable[SessionKey] = ()) -> Conflict:
    """Why a session stays: others would lose their beginning. Those that may be named are."""
    named = ", ".join(str(one) for one in by)
    first = f"delete first what goes on from it: {named}" if named else "delete first what goes on from it"
    return Conflict(
        f"another session goes on from what was said in {key}", hint=f"archive it instead, or {first}"
    )
