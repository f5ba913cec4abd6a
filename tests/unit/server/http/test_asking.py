"""What a caller is told of an answer that is still being given."""

import pytest

from roost.core.previews import SpokenText
from roost.server.http.asking import Spoken
from roost.testing.builders import MAIN


class Heard:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spoken = Spoken(self.hear)

    async def hear(self, text: str) -> None:
        self.parts.append(text)

    async def say(self, answer: int, offset: int, text: str) -> None:
        await self.spoken.add(SpokenText(key=MAIN, run_id="r", answer=answer, offset=offset, text=text))


async def test_pieces_are_told_once_though_they_come_again() -> None:
    heard = Heard()
    await heard.say(1, 0, "Once ")
    await heard.say(1, 5, "upon")
    await heard.say(1, 0, "Once upon a")
    await heard.spoken.end("Once upon a time")
    assert heard.parts == ["Once ", "upon", " a", " time"]


async def test_answers_stand_apart() -> None:
    heard = Heard()
    await heard.say(1, 0, "Let me look.")
    await heard.say(2, 0, "Here.")
    await heard.spoken.end("Here.")
    assert heard.parts == ["Let me look.", "\n\nHere."]


async def test_what_was_taken_back_is_followed_by_what_holds() -> None:
    heard = Heard()
    await heard.say(1, 0, "No, ")
    await heard.say(1, 0, "Yes")
    await heard.spoken.end("Yes.")
    assert heard.parts == ["No, ", "\n\nYes."]


async def test_spaces_around_are_no_difference_and_silence_is_silent() -> None:
    heard = Heard()
    await heard.say(1, 0, " done ")
    await heard.spoken.end("done")
    assert heard.parts == [" done "]
    silent = Heard()
    await silent.spoken.end("")
    assert silent.parts == []


@pytest.mark.parametrize(
    ("told", "reply", "more"),
    [
        pytest.param("Four.<|im_end|>", "Four.", [], id="all of it was told"),
        pytest.param(
            "Well.\n<think>2 + 2</think>\nIt is", "Well.\n\nIt is 4.", [" 4."], id="a part was told"
        ),
        pytest.param("<think>2 + 2</think>", "Four.", ["\n\nFour."], id="nothing was told"),
    ],
)
async def test_what_leaked_between_has_nothing_told_twice(told: str, reply: str, more: list[str]) -> None:
    heard = Heard()
    await heard.say(1, 0, told)
    await heard.spoken.end(reply)
    assert heard.parts == [told, *more]
