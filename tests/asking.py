"""A small request to a model."""

from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.models import ModelRef, ModelRequest, ModelSpec, ToolSpec
from roost.testing.clock import NOON

SPEC = ModelSpec(ref=ModelRef("local", "small"), context_window=8_000, max_tokens=500)
READ = ToolSpec(name="read", description="Reads a file.", parameters={"type": "object", "properties": {}})


def request(text: str = "hello") -> ModelRequest:
    heard = UserMessage(content=(Text(text),), at=NOON, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    return ModelRequest(spec=SPEC, system="Be kind.", messages=(heard,), tools=(READ,))
