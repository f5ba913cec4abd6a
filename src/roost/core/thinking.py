"""How long a model thinks before it answers: the levels there are, and those a model knows."""

from enum import StrEnum

from roost.core.models import ModelSpec


class Level(StrEnum):
    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    ADAPTIVE = "adaptive"
    MAX = "max"
    ULTRA = "ultra"


def levels(spec: ModelSpec) -> tuple[Level, ...]:
    """What may be asked of a model; one that does not reason can only be left alone."""
    return tuple(Level) if spec.reasoning else (Level.OFF,)
