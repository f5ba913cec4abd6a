"""Transcripts without secrets, as files that leave the store have them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, JsonValue, compact
from roost.core.redaction import SecretScanner, redact
from roost.core.seals import Sealing
from roost.core.secretfields import concealed, is_secret_field

Clean: TypeAlias = Callable[[str], str]


def masking(scanner: SecretScanner, seals: Sealing | None = None) -> Clean:
    """Texts without secrets: those that are configured by their names, if `seals` know them, others masked."""

    def clean(text: str) -> str:
        return redact(text if seals is None else seals.sealed(text), scanner)[0]

    return clean


def masked(line: bytes, clean: Clean) -> bytes:
    """A line with the secrets in its texts masked; one that is no JSON is masked as it stands. Without any it is as it was."""
    text = line.decode("utf-8", "replace")
    found = read_object(text)
    if isinstance(found, Malformed):
        shown = clean(text)
        return line if shown == text else shown.encode()
    fields = masked_fields(found, clean)
    written = compact(fields).encode() + (b"\n" if text.endswith("\n") else b"")
    if written == line or fields != found:
        return written
    return line if _says_no_more(text, clean) else written


def _says_no_more(text: str, clean: Clean) -> bool:
    """Whether also what is not kept of a line, the first of two fields of one name and numbers that are too large, is no
    secret."""
    try:
        whole = json.loads(text, object_pairs_hook=_each_once)
    except ValueError:
        return False
    return bool(masked_fields(whole, clean) == whole)


def _each_once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name stands twice")
    return fields


def masked_fields(fields: JsonObject, clean: Clean) -> JsonObject:
    return {
        clean(name): _masked_value(concealed(value) if is_secret_field(name) else value, clean)
        for name, value in fields.items()
    }


def _masked_value(value: JsonValue, clean: Clean) -> JsonValue:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return masked_fields(value, clean)
    if isinstance(value, Sequence):
        return [_masked_value(one, clean) for one in value]
    return value
