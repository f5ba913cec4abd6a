"""Save points, in memory."""

from roost.core.keys import SessionKey
from roost.core.points import Point
from roost.stores.memory.state import State


class PointTables(State):
    async def points(self, key: SessionKey) -> tuple[Point, ...]:
        return tuple(
            sorted((one for one in self._points if one.key == key), key=lambda one: (one.at, one.name))
        )

    async def insert_point(self, point: Point) -> None:
        self._points.put((point.key, point.name), point)

    async def delete_point(self, key: SessionKey, name: str) -> None:
        self._points.drop((key, name))
