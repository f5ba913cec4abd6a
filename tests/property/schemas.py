"""Values for a JSON schema: most of them as it wants them, some near it, some not at all."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from roost.core.jsonvalue import JsonValue

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.sampled_from([0, 1, 2, 5, 100, 1_000, 2**31, 2**53, 2**63 - 1, 2**63, 2**70, -1, -(2**63)])
ANY: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


class Schema:
    """A schema with its definitions; `words` are what its strings are mostly drawn from."""

    def __init__(self, root: Mapping[str, Any], words: Sequence[str]) -> None:
        self._definitions = root.get("$defs", {})
        self._root = root
        self._words = words

    def values(self) -> st.SearchStrategy[JsonValue]:
        return self._of(self._root)

    def _of(self, part: Mapping[str, Any]) -> st.SearchStrategy[JsonValue]:
        if "$ref" in part:
            return self._of(self._definitions[part["$ref"].rpartition("/")[2]])
        if "anyOf" in part:
            return st.one_of([self._of(one) for one in part["anyOf"]])
        if "enum" in part or "const" in part:
            return st.sampled_from(part.get("enum", [part.get("const")]))
        if part.get("type") == "object":
            return self._object(part)
        if part.get("type") == "array":
            return st.lists(self._of(part.get("items", {})), max_size=3).map(list)
        return self._plain(part.get("type"))

    def _plain(self, kind: str | None) -> st.SearchStrategy[JsonValue]:
        match kind:
            case "string":
                return st.sampled_from(self._words) | TEXT
            case "integer" | "number":
                return NUMBERS | st.integers(0, 50)
            case "boolean":
                return st.booleans()
            case "null":
                return st.none()
            case _:
                return ANY

    def _object(self, part: Mapping[str, Any]) -> st.SearchStrategy[JsonValue]:
        fields = {name: self._of(one) for name, one in part.get("properties", {}).items()}
        required = {name: fields.pop(name) for name in part.get("required", ())}
        return st.fixed_dictionaries(required, optional=fields).map(dict)
