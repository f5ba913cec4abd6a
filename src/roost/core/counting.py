"""The tokens of a model call: as its provider counted them, else estimated."""

from typing import NamedTuple

from roost.core.jsonvalue import compact
from roost.core.messages import AssistantMessage, Usage
from roost.core.models import ModelRequest
from roost.core.pricing import cost_micros
from roost.core.tokens import estimate, estimate_message


class Counted(NamedTuple):
    usage: Usage
    estimated: bool


def counted(request: ModelRequest, answer: AssistantMessage) -> Counted:
    """What a call used. A provider that says nothing leaves every count at 0."""
    if answer.usage != Usage():
        return Counted(answer.usage, estimated=False)
    usage = estimated(request, answer)
    return Counted(usage._replace(cost_micros=cost_micros(usage, request.spec.prices)), estimated=True)


def estimated(request: ModelRequest, answer: AssistantMessage) -> Usage:
    told = estimate(request.system) + sum(map(estimate_message, request.messages))
    told += sum(
        estimate(f"{tool.name} {tool.description} {compact(tool.parameters)}") for tool in request.tools
    )
    said = estimate_message(answer)
    return Usage(input=told, output=said, total=told + said)
