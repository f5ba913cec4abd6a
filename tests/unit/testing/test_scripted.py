"""The scripted model; what it shares with every model is in the contract suite."""

import anyio
import pytest

from roost.core.messages import AssistantMessage, text_of
from roost.core.models import Finished, ModelFailed, ModelRequest
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Hang, Say, Script, Until, says
from tests.asking import request


async def answer(model: ScriptedModel, asked: ModelRequest) -> AssistantMessage:
    async with model.stream(asked) as events:
        seen = [event async for event in events]
    assert isinstance(seen[-1], Finished)
    return seen[-1].message


async def test_answers_come_in_order_then_the_one_for_all_others() -> None:
    model = ScriptedModel(says("one"), otherwise=says("more"))
    model.add(says("two"))
    texts = [text_of(await answer(model, request(str(number)))) for number in range(4)]
    assert texts == ["one", "two", "more", "more"]
    assert [text_of(asked.messages[0]) for asked in model.requests] == ["0", "1", "2", "3"]


async def test_an_answer_may_depend_on_what_is_asked() -> None:
    def echo(asked: ModelRequest) -> Script:
        return says(f"you said {text_of(asked.messages[-1])}")

    assert text_of(await answer(ScriptedModel(echo), request("boo"))) == "you said boo"


async def test_a_call_nobody_wrote_a_script_for_fails() -> None:
    with pytest.raises(ModelFailed, match="no script for call 1"):
        await answer(ScriptedModel(), request())


async def test_calls_are_seen_to_come_and_go() -> None:
    model = ScriptedModel([Say("a"), Hang()])
    async with anyio.create_task_group() as group:
        group.start_soon(answer, model, request())
        await model.asked(1)
        assert model.open_calls == 1
        group.cancel_scope.cancel()
    assert model.open_calls == 0


async def test_the_end_of_the_last_call_can_be_waited_for() -> None:
    gate = anyio.Event()
    model = ScriptedModel([Until(gate)])
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(answer, model, request())
            await model.asked(1)
            gate.set()
            await model.left()
    assert model.open_calls == 0
