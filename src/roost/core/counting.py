"""The tokens of a model call: as its provider counted them, else estimated."""

from roost.core.contextsize import overhead_tokens
from roost.core.ledger import Counted
from roost.core.messages import AssistantMessage, Message, Text, Usage
from roost.core.models import ModelRequest
from roost.core.pricing import priced
from roost.core.tokens import estimate_message

_CHARS_PER_TOKEN = 4


def usage_of(request: ModelRequest, answer: AssistantMessage) -> Counted:
    """What a call used. A provider that says nothing leaves every count at 0."""
    if answer.usage != Usage():
        return Counted(answer.usage, estimated=False)
    return Counted(priced(estimated(request, answer), request.spec.prices), estimated=True)


def at_least(request: ModelRequest) -> Usage:
    """About what a call costs of which no more is heard: what it was told, by its length, and no answer."""
    told = len(request.system) + sum(map(_length, request.messages))
    tokens = told // _CHARS_PER_TOKEN
    return priced(Usage(input=tokens, total=tokens), request.spec.prices)


def _length(message: Message) -> int:
    return sum([len(block.text) for block in message.content if isinstance(block, Text)])


def estimated(request: ModelRequest, answer: AssistantMessage) -> Usage:
    told = overhead_tokens(request.system, request.tools) + sum(map(estimate_message, request.messages))
    said = estimate_message(answer)
    return Usage(input=told, output=said, total=told + said)
