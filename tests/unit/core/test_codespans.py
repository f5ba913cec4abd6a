"""Where the code is in a Markdown text."""

import pytest

from roost.core.codespans import code_spans, fences, mask_code


def code(text: str) -> list[str]:
    return [text[start:end] for start, end in code_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no code", []),
        ("a `b` c", ["`b`"]),
        ("a ``b ` c`` d", ["``b ` c``"]),
        ("`a` and `b`", ["`a`", "`b`"]),
        ("`never closed", []),
        ("`one ``two` x", ["`one ``two`"]),
        ("escaped \\`x` y", []),
        ("`a\nb`", ["`a\nb`"]),
        ("`a\n \nb`", []),
        ("`a\n\nb` c`", ["` c`"]),
        ("x\n```py\n`y`\n```\nz", ["```py\n`y`\n```"]),
        ("```\nopen `a`", ["```\nopen `a`"]),
        ("~~~\n```\n~~~\n`x`", ["~~~\n```\n~~~", "`x`"]),
        ("````\n```\n````", ["````\n```\n````"]),
        ("```\na\n`````\nb", ["```\na\n`````"]),
        ("```\na\n``` no\nb", ["```\na\n``` no\nb"]),
        ("  ```\n  a\n  ```\nb", ["  ```\n  a\n  ```"]),
        ("> ```\n> a\n> ```\nb", ["> ```\n> a\n> ```"]),
        ("- ```\n  a\n  ```\nb", ["- ```\n  a\n  ```"]),
        ("```\na\n- ```\nb", ["```\na\n- ```\nb"]),
        ("1. ```sh\n   a\n   ```\n", ["1. ```sh\n   a\n   ```"]),
        ("``` not ` a fence\n`x`", ["` a fence\n`"]),
        ("```\r\na\r\n```\r\nb", ["```\r\na\r\n```\r"]),
    ],
)
def test_code_is_what_markdown_says_it_is(text: str, expected: list[str]) -> None:
    assert code(text) == expected


def test_masked_text_keeps_every_position_of_prose() -> None:
    text = "ab `cd` ef\n```\ngh\n```\nij"
    masked = mask_code(text)
    assert len(masked) == len(text)
    assert masked.replace("\0", "") == "ab  ef\n\nij"


def test_text_without_code_is_its_own_mask() -> None:
    text = "a ~ b ~~c~~"
    assert mask_code(text) is text


@pytest.mark.parametrize(
    ("text", "opening", "closing"),
    [
        ("x\n```py  \ncode\n``` \ny", "```py", "```"),
        ("```\ncode\n`````", "```", "`````"),
        ("~~~ a b\ncode", "~~~ a b", "~~~"),
        ("> ```sh\n> code\n> ```", "> ```sh", "> ```"),
        ("- ```sh\n  code", "  ```sh", "  ```"),
    ],
)
def test_a_fence_knows_its_lines_and_how_to_open_and_close_it_again(
    text: str, opening: str, closing: str
) -> None:
    (fence,) = fences(text)
    assert (fence.opening, fence.closing) == (opening, closing)
    assert text[fence.inside : fence.outside].strip("> \n") == "code"
    assert text[: fence.start] in ("", "x\n")
    assert text[fence.end :] in ("", "\ny")


def test_a_fence_that_ends_with_its_opening_line_holds_nothing() -> None:
    (fence,) = fences("```py")
    assert (fence.start, fence.inside, fence.outside, fence.end) == (0, 5, 5, 5)
