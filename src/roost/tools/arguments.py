"""The arguments of a call, checked: unknown, missing or wrong ones are refused in words a model can act on.

Names may be written in camelCase or snake_case, whole numbers as numeric text.
"""

import re
from collections.abc import Mapping, Sequence

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.models import ToolSpec

LONGEST_AGENT = 64

_UNDERSCORE = re.compile(r"_+([a-z0-9])")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")


def object_schema(properties: JsonObject, *, required: tuple[str, ...] = ()) -> JsonObject:
    """A JSON Schema object that takes these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class Arguments:
    """What a model gave, by the names its schema has."""

    def __init__(self, spec: ToolSpec, given: JsonObject) -> None:
        properties = spec.parameters["properties"]
        assert isinstance(properties, Mapping)
        self._given: dict[str, JsonValue] = {}
        for written, value in given.items():
            name = _UNDERSCORE.sub(lambda found: found[1].upper(), written)
            if name not in properties:
                raise InvalidInput(
                    f"`{spec.name}` takes no `{written}`", hint=f"it takes {', '.join(sorted(properties))}"
                )
            if name in self._given:
                raise InvalidInput(f"`{name}` was given twice", hint="give it once")
            if isinstance(value, Mapping):
                raise InvalidInput(
                    f"`{name}` cannot be an object", hint=f"give it as the schema of `{spec.name}` says"
                )
            if value is not None:
                self._given[name] = value

    def text(self, name: str) -> str:
        """A text that must be there; it may be empty."""
        if name not in self._given:
            raise InvalidInput(f"`{name}` is missing", hint=f"call again with `{name}`")
        value = self._given[name]
        if not isinstance(value, str):
            raise InvalidInput(f"`{name}` must be text", hint="call again with a JSON string")
        return value

    def text_or(self, name: str, default: str) -> str:
        return self.text(name) if name in self._given else default

    def agent(self) -> str | None:
        """The id of an agent, which nobody has to spell in lower case."""
        agent = self.text_or("agentId", "").strip().lower()
        if len(agent) > LONGEST_AGENT:
            raise InvalidInput(f"`agentId` is longer than {LONGEST_AGENT} characters", hint="give less of it")
        return agent or None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or a single one; empty when it was left out."""
        value = self._given.get(name, ())
        listed = (value,) if isinstance(value, str) else value
        if not isinstance(listed, Sequence):
            raise InvalidInput(
                f"`{name}` must be a list of texts", hint="call again with a JSON array of strings"
            )
        found = tuple(one for one in listed if isinstance(one, str))
        if len(found) < len(listed):
            raise InvalidInput(
                f"`{name}` must hold texts only", hint="call again with a JSON array of strings"
            )
        return found

    def has(self, name: str) -> bool:
        return name in self._given

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number; one above `most` means `most`, so that a generous request is no mistake."""
        value = self._given.get(name, default)
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(
                f"`{name}` must be a whole number, {least} or more", hint="call again with such a number"
            )
        return min(value, most)

    def flag(self, name: str) -> bool:
        """True or false; false when it was left out."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise InvalidInput(f"`{name}` must be true or false", hint="call again with a JSON boolean")
        return value
