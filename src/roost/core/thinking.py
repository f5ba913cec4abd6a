"""How long a model thinks before it answers: the levels there are, and those a model knows."""

from enum import StrEnum

from roost.core.models import ModelSpec


class ThinkingLevel(StrEnum):
    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    ADAPTIVE = "adaptive"
    MAX = "max"
    ULTRA = "ultra"


def levels(spec: ModelSpec) -> tuple[ThinkingLevel, ...]:
    """What may be asked of a model; one that does not reason can only be left alone."""
    return tuple(ThinkingLevel) if spec.reasoning else (ThinkingLevel.OFF,)
