"""What the demo model knows about Roost."""

import pytest

from roost.models.demo_answers import NOT_A_MODEL, answer_to


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("What is Roost?", "session gateway"),
        ("who are you", "session gateway"),
        ("Which commands are there?", "/status"),
        ("How do I configure it?", "roost.json"),
        ("Where is my data?", "roost.db"),
        ("where are the transcripts", "ROOST_HOME"),
        ("How do I use a real model?", "models.providers"),
        ("where do I put my API key", "apiKey"),
        ("what is a session", "one conversation"),
        ("what are helpers", "report comes back"),
        ("Hello!", "spawn a helper"),
        ("What is the capital of France?", "nothing fitting"),
        ("", "nothing fitting"),
    ],
)
def test_questions_find_their_answer_and_each_says_that_this_is_no_model(asked: str, said: str) -> None:
    assert said in answer_to(asked)
    assert NOT_A_MODEL in answer_to(asked)


def test_it_says_clearly_what_it_is() -> None:
    assert "no language model" in NOT_A_MODEL
