from dataclasses import replace

import pytest

from roost.core.counting import at_least, estimated, usage_of
from roost.core.messages import AssistantMessage, Text, Usage
from roost.core.models import Prices
from tests.asking import SPEC, request

ANSWER = AssistantMessage(content=(Text("four words are here"),), at=0)


@pytest.mark.requirement("P19")
def test_what_the_provider_counted_is_taken_as_it_is() -> None:
    usage = Usage(input=3, output=4, total=7, cost_micros=11)
    assert usage_of(request(), replace(ANSWER, usage=usage)) == (usage, False)


def test_a_call_nobody_counted_is_estimated_priced_and_marked() -> None:
    asked = replace(request(), spec=replace(SPEC, prices=Prices(input=1, output=2)))
    found = usage_of(asked, ANSWER)
    assert found.estimated
    assert found.usage.cost_micros == found.usage.input + 2 * found.usage.output > 0
    assert found.usage._replace(cost_micros=0) == estimated(asked, ANSWER)


def test_everything_that_is_sent_counts() -> None:
    plain = replace(request("hello"), system="", tools=())
    sizes = [
        estimated(asked, ANSWER).input
        for asked in (
            plain,
            replace(plain, system="Be kind."),
            request("hello"),
            request("hello there, friend"),
        )
    ]
    assert sizes == sorted(set(sizes))


@pytest.mark.requirement("P19")
def test_a_call_nobody_hears_of_again_costs_about_what_it_was_told() -> None:
    asked = replace(request("x" * 400), system="y" * 40, spec=replace(SPEC, prices=Prices(input=2, output=9)))
    assert at_least(asked) == Usage(input=110, total=110, cost_micros=220)
