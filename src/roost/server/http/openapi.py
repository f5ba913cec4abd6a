"""The description of the pages in OpenAPI, made from what they offer.

`python -m roost.server.http.openapi > docs/openapi.json` writes it.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from roost.core.hooks import GITHUB, SIGNATURE, TIMESTAMP, TOKENS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.handshake import PROTOCOL
from roost.server.http import completions, hooks, probes, tools
from roost.server.http.entry import ASKED
from roost.server.http.hooks import HOOKS
from roost.server.http.offers import AWAY, BUSY, JSON, Offer, Shape

EVERY = (
    *(probes.LIVE, probes.READY, probes.STARTED, probes.FIGURES),
    *(completions.MODELS, completions.MODEL, completions.COMPLETE),
    tools.INVOKE,
    *(hooks.WAKE, hooks.AGENT, hooks.MAPPED),
)
_ABOUT = (
    "What a gateway answers over plain HTTP, beside its sockets. What answers GET answers HEAD too. A body is "
    "read as JSON, whatever its type is called. `hooks.path` may lay the hooks elsewhere."
)
_BEARER = "bearer"
_SHOWN = (*TOKENS, GITHUB, SIGNATURE, TIMESTAMP)
_SCHEMES: Mapping[str, JsonValue] = {
    _BEARER: {"type": "http", "scheme": "bearer", "description": "The gateway's credential, or a device's."},
    HOOKS: {"type": "http", "scheme": "bearer", "description": "The hooks' own: `hooks.token`."},
    **{name: {"type": "apiKey", "in": "header", "name": name} for name in _SHOWN},
}
_TEXT: JsonObject = {"type": "string"}


class _Closed(GenerateJsonSchema):
    """Of what is answered nothing is left out, and no name is told twice."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return {**super().typed_dict_schema(schema), "additionalProperties": False}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class _Shapes:
    """Every type that goes through a page, as a JSON schema."""

    def __init__(self, offers: Iterable[Offer]) -> None:
        kinds = dict.fromkeys(kind for offer in offers for kind in _kinds(offer))
        found, all_of_them = TypeAdapter.json_schemas(
            [(kind, "validation", TypeAdapter(kind)) for kind in kinds],
            ref_template="#/components/schemas/{model}",
            schema_generator=_Closed,
        )
        self._found = {kind: schema for (kind, _), schema in found.items()}
        self.named: JsonObject = all_of_them["$defs"]

    def __getitem__(self, kind: Shape) -> JsonObject:
        return kind if isinstance(kind, Mapping) else self._found[kind]


def description() -> JsonObject:
    """The whole document."""
    shapes = _Shapes(EVERY)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Roost", "version": str(PROTOCOL), "description": _ABOUT},
        "paths": {
            path.replace(":path", ""): {_verb(offer): _operation(path, offer, shapes)}
            for offer in EVERY
            for path in offer.paths
        },
        "components": {"schemas": shapes.named, "securitySchemes": _SCHEMES},
    }


def text() -> str:
    return json.dumps(description(), indent=1, ensure_ascii=False) + "\n"


def _kinds(offer: Offer) -> Iterator[Shape]:
    asked = () if offer.body is None else (offer.body.schema,)
    told = (kind for answer in offer.answers.values() for kind in answer.values())
    for kind in (*asked, *told):
        if not isinstance(kind, Mapping):
            yield kind


def _verb(offer: Offer) -> str:
    return offer.verbs[0].lower()


def _operation(path: str, offer: Offer, shapes: _Shapes) -> JsonObject:
    told: dict[str, JsonValue] = {"summary": offer.about, "security": [*_security(offer)]}
    if parameters := [*_parameters(path, offer)]:
        told["parameters"] = parameters
    if offer.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": shapes[offer.body.schema]}}}
    told["responses"] = {
        str(status): {
            "description": HTTPStatus(status).phrase,
            **_headers(status),
            "content": {media: {"schema": shapes[kind]} for media, kind in answer.items()},
        }
        for status, answer in offer.answers.items()
    }
    return told


def _security(offer: Offer) -> Iterator[JsonObject]:
    if offer.needs is not None:
        yield {_BEARER: [str(offer.needs)]}
    for proof in offer.proofs:
        yield {name: [] for name in proof}


def _parameters(path: str, offer: Offer) -> Iterator[JsonObject]:
    for name, deep in re.findall(r"{(\w+)(:path)?}", path):
        part = {"minLength": 1} if deep else {"pattern": "^[^/]+$"}
        yield {"name": name, "in": "path", "required": True, "schema": {**_TEXT, **part}}
    scopes = (
        {} if offer.needs is None else {ASKED: "The scopes to ask for, where they are not the usual ones."}
    )
    for name, about in {**scopes, **offer.headers}.items():
        yield {"name": name, "in": "header", "description": about, "schema": _TEXT}


def _headers(status: int) -> JsonObject:
    if status not in (BUSY, AWAY):
        return {}
    return {"headers": {"Retry-After": {"description": "In seconds.", "schema": {"type": "integer"}}}}


if __name__ == "__main__":
    sys.stdout.write(text())
