"""Whatever happens between a message and its answer, the answer is written where the message was."""

from collections import Counter

import pytest

from tests.flows.storm_chats import BEAT, MESSAGE, TASK, TRAFFIC, Crossing
from tests.scale import seeds

INTERLEAVINGS = seeds(100, 5_000)
A_ROUND = 50
MESSAGES = 6


def assert_each_where_it_was_asked(crossing: Crossing) -> None:
    answered: Counter[str] = Counter()
    announced: Counter[str] = Counter()
    for address, texts in crossing.shown().items():
        for text in texts:
            # Nobody in a chat asked for it, so it is said in none.
            assert text != BEAT
            named = MESSAGE.findall(text) if text.startswith("re ") else []
            answered.update(named)
            told = TASK.findall(text) if text.startswith("Status: ") else []
            announced.update(told)
            assert {crossing.asked[name] for name in (*named, *told)} <= {address}, text
    once = Counter(dict.fromkeys(crossing.asked, 1))
    assert answered + announced == once


@pytest.mark.requirement("P7")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", INTERLEAVINGS[::A_ROUND])
async def test_every_answer_is_written_where_its_message_was(first: int) -> None:
    for seed in range(first, first + A_ROUND):
        crossing = Crossing(seed)
        await crossing.pass_by(TRAFFIC, MESSAGES)
        assert_each_where_it_was_asked(crossing)
