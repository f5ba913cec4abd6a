from dataclasses import replace

import pytest

from roost.core.addresses import Account
from roost.core.codespans import fences
from roost.core.deliveries import DeliveryKind
from roost.core.errors import InvalidInput
from roost.core.splitting import Part, parts, split
from roost.testing import builders
from roost.testing.builders import CHAT
from tests.growth import grows_linearly


def texts(text: str, longest: int) -> list[str]:
    return [part.text for part in split(text, longest)]


def test_a_text_that_fits_is_one_part() -> None:
    assert split("hello", 5) == (Part(body="hello"),)


def test_an_empty_text_has_no_parts() -> None:
    assert split("", 5) == ()


@pytest.mark.parametrize("longest", [0, -1])
def test_a_channel_that_takes_no_character_is_refused(longest: int) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        split("hello", longest)


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("aa bb. cc\ndd\n\nee. ff\ngg hh", 18, ["aa bb. cc\ndd\n\n", "ee. ff\ngg hh"]),
        ("aa\n \nbb cc", 6, ["aa\n \n", "bb cc"]),
        ("aa\r\n\r\nbb cc", 8, ["aa\r\n\r\n", "bb cc"]),
        ("aa bb. cc\ndd. ee ff", 14, ["aa bb. cc\n", "dd. ee ff"]),
        ("aa bb cc. dd ee", 13, ["aa bb cc. ", "dd ee"]),
        ('aa "bb cc!" dd ee', 15, ['aa "bb cc!" ', "dd ee"]),
        ("你好吗。我很好。谢谢你", 9, ["你好吗。我很好。", "谢谢你"]),
        ("aa bb cc", 7, ["aa bb ", "cc"]),
        ("aa 3.14159265 cc", 15, ["aa 3.14159265 ", "cc"]),
        ("aaaaaaaaaa", 4, ["aaaa", "aaaa", "aa"]),
        ("a bbbbbbbbb c", 10, ["a ", "bbbbbbbbb ", "c"]),
    ],
)
def test_a_text_is_cut_where_it_hurts_least(text: str, longest: int, expected: list[str]) -> None:
    assert texts(text, longest) == expected


def test_a_break_that_would_leave_the_part_half_empty_is_passed_over() -> None:
    assert texts("Hi\n\naa bb cc. dd ee ff", 16) == ["Hi\n\naa bb cc. ", "dd ee ff"]


def test_a_no_break_space_does_not_end_a_word() -> None:
    assert texts("aa 10\u00a0km", 7) == ["aa ", "10\u00a0km"]


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "e\u0301\u0302\u0303",
        "👍🏽",
        "❤\ufe0f",
        "👩\u200d💻",
        "🇩🇪",
        "\r\n",
        "\ud83d\ude00",
        "\u1112\u1161\u11ab",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
@pytest.mark.parametrize("before", range(5))
def test_what_is_seen_as_one_character_stays_in_one_part(cluster: str, before: int) -> None:
    parts = [part.body for part in split("x" * before + cluster * 3, 5)]
    assert "".join(parts) == "x" * before + cluster * 3
    assert sum(part.count(cluster) for part in parts) == 3


def test_a_line_end_that_carries_a_mark_is_no_place_to_cut() -> None:
    assert texts("aaaa\n\u0301bbb", 6) == ["aaaa\n\u0301", "bbb"]


def test_flags_are_told_apart_by_their_halves() -> None:
    assert texts("🇩🇪🇫🇷🇮🇹", 3) == ["🇩🇪", "🇫🇷", "🇮🇹"]


def test_one_character_longer_than_a_message_is_cut() -> None:
    assert [len(part) for part in texts("e" + "\u0301" * 9, 4)] == [4, 4, 2]


CODE = "```py\n" + "x = 1\n" * 8 + "```\nafter"


def test_code_that_goes_on_is_closed_and_opened_again_with_its_language() -> None:
    assert texts(CODE, 40) == [
        "```py\n" + "x = 1\n" * 5 + "```",
        "```py\n" + "x = 1\n" * 3 + "```\nafter",
    ]


def test_code_cut_within_a_line_gets_its_closing_fence_on_a_line_of_its_own() -> None:
    first, second = split("```py\n" + "x" * 40 + "\n```", 40)
    assert first.text == "```py\n" + "x" * 30 + "\n```"
    assert second.text == "```py\n" + "x" * 10 + "\n```"
    assert (first.head, first.tail, second.head, second.tail) == ("", "\n```", "```py\n", "")


def test_a_fence_that_never_closes_is_closed_in_every_part_but_the_last() -> None:
    assert texts("~~~\n" + "x = 1\n" * 8, 40) == ["~~~\n" + "x = 1\n" * 5 + "~~~", "~~~\n" + "x = 1\n" * 3]


def test_code_in_a_quote_or_a_list_is_opened_again_without_a_new_item() -> None:
    assert texts("> ```\n" + "> x = 1\n" * 6, 40)[1].startswith("> ```\n> x")
    assert texts("- ```sh\n" + "  x = 1\n" * 6, 40)[1].startswith("  ```sh\n  x")


@pytest.mark.parametrize("longest", range(46, 53))
def test_the_line_that_opens_code_is_not_torn_from_it(longest: int) -> None:
    text = "a" * 34 + "\n```py title\n" + "x" * 60
    assert texts(text, longest)[0] == "a" * 34 + "\n"
    assert texts(text, longest)[1].startswith("```py title\nxx")


def test_the_line_that_opens_code_stays_whole_at_the_start_of_a_part() -> None:
    text = "```py title here\n" + "x" * 100
    assert split(text, 50)[0].body.startswith("```py title here\nxx")


def test_the_line_that_closes_code_is_taken_along_where_it_fits() -> None:
    text = "```py\n" + "x" * 30 + "\n```\n" + "y" * 30
    assert texts(text, 40) == ["```py\n" + "x" * 30 + "\n```", "\n" + "y" * 30]


def test_the_line_that_closes_code_is_left_to_the_next_part_where_it_does_not_fit() -> None:
    text = "```\n" + "x" * 30 + "\n```" + " " * 9 + "\nyy"
    assert texts(text, 40) == ["```\n" + "x" * 30 + "\n```", "```\n```" + " " * 9 + "\nyy"]


def test_the_line_that_closes_code_is_never_cut() -> None:
    text = "```\n" + "x" * 30 + "\n``````\nyy " + "y" * 20
    for longest in range(24, 60):
        assert all(
            fence.end > fence.outside for part in split(text, longest) for fence in fences(part.text)
        ), longest


def test_fences_a_part_has_no_room_for_are_cut_like_any_text() -> None:
    text = "```" + "p" * 20 + "\nxxxx\n```\nyy"
    assert "".join(texts(text, 10)) == text


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        "`",
        "```\n",
        "```py\nx\n```\n",
        "~~~\n",
        "a b. c\n\n",
        '."',
        "e\u0301",
        "🇩",
        "\u200d",
        "\r",
    ],
)
def test_a_long_text_costs_what_its_length_costs(unit: str) -> None:
    assert grows_linearly(lambda text: split(text, 2000), unit, size=20_000)


@pytest.mark.parametrize("kind", DeliveryKind)
def test_a_long_message_of_any_kind_is_several_and_parts_without_words_are_left_out(
    kind: DeliveryKind,
) -> None:
    long = replace(builders.delivery("d1", text="abcde" + " " * 10 + "fghij"), kind=kind)
    first, second = parts(long, {CHAT.served_by: 5})
    assert [first.text.strip(), second.text.strip()] == ["abcde", "fghij"]
    assert first.id == "d1"
    assert replace(second, id="d1", text="") == replace(long, text="")
    assert second.id != "d1"
    assert parts(long, {CHAT.served_by: 5}) == (first, second)


@pytest.mark.parametrize("longest", [{}, {Account("elsewhere"): 1}, {CHAT.served_by: 5}])
def test_a_message_that_fits_or_has_no_limit_stays_as_it_is(longest: dict[Account, int]) -> None:
    short = builders.delivery("d1", text="abcde")
    assert parts(short, longest) == (short,)
