"""Save points as clients read them."""

from dataclasses import fields

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.points import Changed, Point
from roost.core.sessions import Overrides


def point_row(point: Point) -> JsonObject:
    settings: dict[str, JsonValue] = {
        one.name: value
        for one in fields(Overrides)
        if (value := getattr(point.overrides, one.name)) is not None
    }
    return {
        "name": point.name,
        "at": point.at,
        "by": str(point.by),
        "sessionId": point.base.session_id,
        "seq": point.base.seq,
        "model": point.model,
        "settings": settings,
        "children": [str(one.key) for one in point.children],
    }


def changed_row(one: Changed) -> JsonObject:
    return {"name": one.name, "before": one.before, "after": one.after}
