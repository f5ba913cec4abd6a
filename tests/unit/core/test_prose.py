"""What is left of an assistant's text for people to read."""

from collections.abc import Callable

import pytest

from roost.core.prose import answer, clean, unleaked
from tests.growth import grows_linearly
from tests.scale import count

CALL = '{"name": "exec", "arguments": {"command": "ls"}}'


def cases(*rows: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("text", "left"), rows)


@pytest.mark.requirement("D56")
@cases(
    ('<minimax:tool_call>\n<invoke name="x">\n<p>1</p>\n</invoke>\n</minimax:tool_call>\nDone.', "Done."),
    ('Hi <minimax:tool_call><invoke name="x"><p>1</p></minimax:tool_call> there', "Hi  there"),
    ('Hi <minimax:tool_call><invoke name="x"><p>1', "Hi"),
    ("Hi </minimax:tool_call>there</invoke>", "Hi there"),
    (
        'Hi]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="x">]<]minimax[>[<p>1]<]minimax[>[</p></invoke></tool_call>',
        "Hi",
    ),
    ("say <invoke> to nobody", "say <invoke> to nobody"),
)
def test_minimax_calls_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    ("<|assistant|>Hi", "Hi"),
    ("Hi<|im_end|>", "Hi"),
    ("one<|sep|><|sep|>two", "one two"),
    ("one <|sep|>two", "one two"),
    ("<｜tool▁calls▁begin｜>Hi<｜end｜>", "Hi"),
    ("f <| g |> h", "f <| g |> h"),
    ("a <| b", "a <| b"),
)
def test_control_tokens_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    ("<relevant-memories>\nlikes tea\n</relevant-memories>\nHello", "Hello"),
    ("<relevant_memories>likes tea</relevant_memories>Hello", "Hello"),
    ("Hello <relevant-memories>likes tea", "Hello"),
    ("Hello</relevant-memories>", "Hello"),
)
def test_recalled_memories_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    (f"Look.\n<tool_call>\n{CALL}\n</tool_call>\nDone.", "Look.\n\nDone."),
    (f"Look. <tool_call>{CALL}", "Look."),
    ("Look. <function_call>{", "Look."),
    ("Look. <tool_call>[", "Look."),
    (f"<function_calls>[{CALL}]</function_calls>ok", "ok"),
    (f"<tool_calls><tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call></tool_calls>ok", "ok"),
    ('<function_calls><invoke name="x"><parameter name="y">1</parameter></invoke></function_calls>ok', "ok"),
    ('<ns:invoke name="x"><ns:parameter name="y">1</ns:parameter></ns:invoke>ok', "ok"),
    ("<function=exec><parameter=command>ls</parameter></function>ok", "ok"),
    (f"<tool_result>{CALL}</tool_result>ok", "ok"),
    (f"<tool_call>{CALL}</tool_calls>ok", "ok"),
    ("<tool_call>get\n<arg_key>a</arg_key></tool_call>ok", "ok"),
    ("<tool_call/>ok", "ok"),
    ("ok</tool_call>", "ok"),
    ("use the <tool_call> tag", "use the <tool_call> tag"),
    ("between <tool_call> and </tool_call>", "between <tool_call> and </tool_call>"),
    ("the <tool_call> [see above]", "the <tool_call> [see above]"),
    ("a <function-list> of <b>things</b>", "a <function-list> of <b>things</b>"),
)
def test_tool_calls_in_tags_are_taken_out_and_tags_in_prose_are_kept(text: str, left: str) -> None:
    assert clean(text) == left


@cases(
    ('<parameter name="q">tea</parameter>', "tea"),
    ("<parameter>a</parameter> and <parameter=b>c</parameter>", "a and c"),
    ("the <parameter> tag", "the <parameter> tag"),
    ("the </parameter> tag", "the </parameter> tag"),
)
def test_parameters_are_unwrapped(text: str, left: str) -> None:
    assert clean(text) == left


@cases(
    ("🔧 exec: ls -l\nDone.", "Done."),
    ("Well.\n🛠️ web_search: tea\nDone.", "Well.\nDone."),
    ("Tool call: exec\nDone.", "Done."),
    ("tool_result=ok\nDone.", "Done."),
    ("Done.\n  Function call: exec", "Done."),
    ("✅ Done: all well", "✅ Done: all well"),
    ("The tool call: exec", "The tool call: exec"),
    ("A functional tool for all", "A functional tool for all"),
)
def test_trace_lines_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@cases(
    (f"[TOOL_CALL]{CALL}[/TOOL_CALL]ok", "ok"),
    ('ok [TOOL_CALL]{tool => "exec"', "ok"),
    ("[TOOL_RESULT]\nplain output\n[/TOOL_RESULT]\nok", "ok"),
    (f"[TOOL_CALLS] [{CALL}]", ""),
    ("[TOOL_RESULT]\nnever closed", "[TOOL_RESULT]\nnever closed"),
    ("the [TOOL_CALL] marker", "the [TOOL_CALL] marker"),
)
def test_bracket_blocks_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@cases(
    ('[tool:exec] {"command": "echo }"} ok', "ok"),
    ('ok [tool: exec]\n{"command": [1, 2', "ok"),
    ('assistant commentary to=functions.exec json {"a": {"b": "\\""}} ok', "ok"),
    ('<|start|>assistant<|channel|>commentary to=functions.x <|message|>{"a":1}<|call|>ok', "ok"),
    ('to=a {"x": "to=b {"} ok', "ok"),
    ('to=a {"never closed', ""),
    ("[tool:exec] is how it looks {here}", "[tool:exec] is how it looks {here}"),
    ("set to=5 and {x}", "set to=5 and {x}"),
)
def test_calls_in_plain_text_are_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    ('[Tool Call: exec (ID: 1)]\nArguments: {"a": "]"}\nDone.', "Done."),
    ("Ok. [Tool Call: exec]", "Ok."),
    ("[Tool Result for ID 1]\nfile\nfile\n[Tool Call: exec]\nDone.", "Done."),
    ("Ok.\n[Tool Result for ID 1]\nto the very end", "Ok."),
    ("[Historical context: another model\nsaid this.]Ok.", "Ok."),
    ('[Tool Call: a]\nArguments: {"b": "[Tool Call: c]"} Ok.', "Ok."),
    ("a [Tool Call: that never closes", "a [Tool Call: that never closes"),
    ("see [1] and [Tools]", "see [1] and [Tools]"),
)
def test_downgraded_scaffolding_is_taken_out(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    ("<think>hm</think>Yes.", "Yes."),
    ("<thinking>\nhm\n</thinking>\n\nYes.", "Yes."),
    ("<thought>a</thought>Yes<antthinking>b</antthinking>.", "Yes."),
    ("<ns:thinking>a</ns:thinking>Yes.", "Yes."),
    ('<think effort="low">a</think>Yes.', "Yes."),
    ("<think>a<think>b</think>Yes.", "Yes."),
    ("<think>a</think>b</think>Yes.", "Yes."),
    ("Yes. <think>and then", "Yes."),
    ("swallowed beginning\n</think>\n\nYes.", "Yes."),
    ("Yes</think>.", "Yes."),
    ("Yes<think/>.", "Yes."),
    ("<think>a <think/> b</think>Yes.", "Yes."),
    ("<final>Yes.</final>", "Yes."),
    ("I <think about it> often", "I <think about it> often"),
)
def test_reasoning_is_taken_out_and_the_final_answer_unwrapped(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@cases(
    ("NO_REPLY", ""),
    ("`no_reply`", ""),
    (" ANNOUNCE_SKIP\n", ""),
    ("announce_skip", "announce_skip"),
    ("Done.\nNO_REPLY", "Done."),
    ("<think>nothing to say</think>NO_REPLY", ""),
    ("<think>nothing to say</think>**no_reply**", ""),
    ("Say `NO_REPLY`", "Say `NO_REPLY`"),
    ("```\nNO_REPLY\n```", ""),
    ("```\nsay\nNO_REPLY", "```\nsay\nNO_REPLY"),
)
def test_silence_says_nothing(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.requirement("D56")
@pytest.mark.parametrize(
    "text",
    [
        "A block opens with <think> and ends where it closes.",
        "Write <relevant-memories> before them.",
        "A line like [Tool Result for ID 1] comes before what a tool found.",
        "How it works:\ntool call: a model asks for one.",
        "\U0001f527 exec: here are the three steps.",
        "Deploy with: tool <function> <region>\nThen look at the log.",
        "<function> <region> [--now]\nThen look at the log.",
    ],
)
def test_who_is_answered_loses_no_line_to_a_mark_that_may_be_talked_about(text: str) -> None:
    assert (answer(text), unleaked(text)) == (text, text)
    assert clean(text) != text


@pytest.mark.requirement("D56")
@cases(
    ("Yes.\n  <think>and then", "Yes."),
    ("<relevant-memories>the owner", ""),
    ("Yes.\n[Tool Result for ID 1]\nsecret.txt", "Yes."),
    ("<think>a</think> <think>b", ""),
    ("Yes. <think>hm</think>And <think> opens one.", "Yes. And <think> opens one."),
    (f"Yes. <tool_call>{CALL}", "Yes."),
    ("Yes. <tool_call> <name>x</name> </tool_call>", "Yes."),
    ("Yes. <tool_call>\n<name>x</name>", "Yes."),
    (f"Say <function> <name>. <tool_call>{CALL}</tool_call>", "Say <function> <name>."),
    ("Done.\nNO_REPLY", "Done."),
    (" REPLY_SKIP\n", ""),
)
def test_who_is_answered_sees_nothing_of_what_closes_or_begins_a_line(text: str, left: str) -> None:
    assert answer(text) == left


LEAKS = (
    f"<tool_call>{CALL}</tool_call>",
    "<think>hm",
    "<|im_start|>",
    "<relevant-memories>x",
    "[Tool Result for ID 1]",
    f"[TOOL_CALL]{CALL}",
    "Tool call: exec",
    "<final>",
    '<minimax:tool_call><invoke name="x">',
)


@pytest.mark.requirement("D56")
@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize(
    "code", ["```\n{}\n```", "~~~xml\n{}\n~~~", "```\n{}", "`{}`", "``{} ` ``", "> ```\n> {}\n> ```"]
)
def test_code_is_never_touched(leak: str, code: str) -> None:
    text = f"Like so:\n\n{code.format(leak)}"
    assert clean(text) == text
    assert clean(f"<think>hm</think>{text}") == text


def test_code_inside_a_block_goes_with_it() -> None:
    assert clean("<think>\n```\ncode\n```\n</think>Yes.") == "Yes."


def test_a_tag_does_not_reach_into_code() -> None:
    text = "<tool_call `x`> stays"
    assert clean(text) == text


def test_gaps_are_closed_and_edges_trimmed_only_around_prose() -> None:
    assert clean("a\n\n<think>b</think>\n\nc") == "a\n\nc"
    assert clean("<think>b</think>\n\n    ```\n\n\n\n    ```") == "    ```\n\n\n\n    ```"


@pytest.mark.parametrize(
    "text", ["", "  plain \n", "a < b and [c] {d} to=e", "Ünïcödé 数据", "a\n\n\n\nb <c>"]
)
def test_a_text_without_leaks_is_returned_as_it_is(text: str) -> None:
    assert clean(text) is text


HOSTILE = (
    "<tool_call>", "<tool_call>{", "</tool_call>", "<think>", "</think>\n", "`", "` `` ", "```\n", "[Tool Call:",
    "[Tool Call: x]\nArguments: {", "[Tool Result x]", "[Historical context:", "<|a", "<|a|>", "[TOOL_CALL]\n", "to=a {",
    "assistant ", "[tool:x]", "<parameter>", "<minimax:tool_call><invoke>", "]<]minimax[>[", "tool call: x\n", "🔧 a_",
    "NO_REPLY ", "<relevant-memories>", "<final>", "\n\n\n<", "- ```\n",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("read", [clean, answer])
def test_time_grows_with_a_hostile_text_and_not_with_its_square(
    read: Callable[[str], str], unit: str
) -> None:
    assert grows_linearly(read, unit, size=count(30_000, 200_000))
