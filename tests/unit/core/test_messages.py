from dataclasses import replace

from roost.core.messages import (
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
    text_of,
    tool_calls,
    with_new_calls,
)

CALL = ToolCall(id="c1", name="read", arguments={})
ASSISTANT = AssistantMessage(content=(Thinking(thinking="hm"), Text("one"), CALL, Text("two")), at=1)
USER = UserMessage(
    content=(Text("look"), Image(mime="image/png", data="aGk=")),
    at=1,
    provenance=Provenance(kind=ProvenanceKind.HUMAN),
)


def test_the_text_of_a_message_is_what_is_visible_of_it() -> None:
    assert text_of(ASSISTANT) == "one\ntwo"
    assert text_of(USER) == "look"


def test_only_an_assistant_makes_calls() -> None:
    assert tool_calls(ASSISTANT) == (CALL,)
    assert tool_calls(USER) == ()


def test_a_call_that_is_named_like_an_earlier_one_gets_another_name() -> None:
    assert with_new_calls(ASSISTANT, (USER,)) == ASSISTANT
    again = with_new_calls(ASSISTANT, (USER, ASSISTANT))
    assert [call.id for call in tool_calls(again)] == ["c1_2"]
    twins = replace(ASSISTANT, content=(CALL, CALL))
    assert [call.id for call in tool_calls(with_new_calls(twins, (ASSISTANT, again)))] == ["c1_3", "c1_4"]
    silent = replace(ASSISTANT, content=(Text("one"),))
    assert with_new_calls(silent, (ASSISTANT,)) == silent


def test_usage_adds_up_field_by_field() -> None:
    one = Usage(input=1, output=2, cache_read=3, cache_write=4, total=5, cost_micros=6)
    other = Usage(input=10, output=20, cache_read=30, cache_write=40, total=50, cost_micros=60)
    total = Usage(input=11, output=22, cache_read=33, cache_write=44, total=55, cost_micros=66)
    assert one.plus(other) == total
