"""Save points in SQL."""

from roost.core.keys import SessionKey
from roost.core.points import Point
from roost.stores.codec import encode, key_text
from roost.stores.sql.rows import Rows


class PointRows(Rows):
    async def points(self, key: SessionKey) -> tuple[Point, ...]:
        return await self._bodies("points", (key_text(key),), Point)

    async def insert_point(self, point: Point) -> None:
        values = (key_text(point.key), point.name, str(point.by), point.base.session_id, point.at)
        await self._do("insert_point", (*values, encode(point), self._tenant))

    async def delete_point(self, key: SessionKey, name: str) -> None:
        await self._do("delete_point", (key_text(key), name))
