"""The part of a store that keeps save points."""

from typing import Protocol

from roost.core.keys import SessionKey
from roost.core.points import DecidePoints, Point, Pointed


class Points(Protocol):
    async def pointed(self, key: SessionKey) -> Pointed | None:
        """A session with its children and its points, oldest first."""
        ...

    async def change_points(self, key: SessionKey, decide: DecidePoints) -> tuple[Point, ...]:
        """Write the points that `decide` leaves of those there are; the session itself stays as it is. Retention keeps
        what a point names, and they go with their session."""
        ...
