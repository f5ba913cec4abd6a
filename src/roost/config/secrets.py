"""Which secrets a configuration holds, for whoever must keep them out of texts."""

from collections.abc import Iterator, Mapping

from roost.config.problems import path_text
from roost.config.section import Loc, Section
from roost.config.settings import Settings
from roost.core.secrets import Secret


def configured_secrets(settings: Settings) -> Mapping[str, Secret]:
    """Every secret by the key that gave it; those a program would print are not known yet."""
    return {path_text(loc): secret for loc, secret in _within(settings, ())}


def _within(value: object, loc: Loc) -> Iterator[tuple[Loc, Secret]]:
    match value:
        case Secret():
            yield loc, value
        case Section():
            for name, info in type(value).model_fields.items():
                yield from _within(getattr(value, name), (*loc, str(info.alias)))
        case Mapping():
            for name, item in value.items():
                yield from _within(item, (*loc, str(name)))
        case tuple():
            for index, item in enumerate(value):
                yield from _within(item, (*loc, index))
        case _:
            pass
