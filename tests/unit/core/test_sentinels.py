"""Which texts ask for silence."""

import pytest

from roost.core.sentinels import (
    Sentinel,
    could_become_silent,
    held_from,
    is_silent,
    sentinel_of,
    strip_trailing,
)


@pytest.mark.requirement("D17", "D18")
@pytest.mark.parametrize("token", [Sentinel.REPLY_SKIP, Sentinel.ANNOUNCE_SKIP])
def test_a_skip_word_counts_only_as_the_exact_trimmed_text(token: Sentinel) -> None:
    assert sentinel_of(token) is token
    assert sentinel_of(f" {token}\n") is token
    assert sentinel_of(token.lower()) is None
    assert sentinel_of(f"`{token}`") is None
    assert sentinel_of(f"{token}.") is None
    assert sentinel_of(f"{token} please") is None


@pytest.mark.parametrize("token", [Sentinel.NO_REPLY, Sentinel.HEARTBEAT_OK])
@pytest.mark.parametrize(
    "dress", ["{}", "  {}\n", "`{}`", "**{}**", '"{}".', "({})", "_{}_", "~~{}~~!", "„{}“"]
)
def test_silence_is_heard_whatever_punctuation_surrounds_it(token: Sentinel, dress: str) -> None:
    assert sentinel_of(dress.format(token)) is token
    assert sentinel_of(dress.format(token.lower())) is token


@pytest.mark.parametrize(
    "text", ["", "   ", "...", "NO_REPLY needed", "say NO_REPLY", "NO REPLY", "NO_REPLY NO_REPLY"]
)
def test_text_that_says_anything_else_is_not_silent(text: str) -> None:
    assert not is_silent(text)


def test_a_long_text_is_not_silent() -> None:
    assert not is_silent("NO_REPLY" * 100)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Done.\nNO_REPLY", "Done."),
        ("Done. NO_REPLY  \n", "Done."),
        ("Done.\n\nNO_REPLY\nHEARTBEAT_OK", "Done."),
        ("NO_REPLY", ""),
        ("Done.  ", "Done.  "),
        ("It ends with xNO_REPLY", "It ends with xNO_REPLY"),
        ("write no_reply", "write no_reply"),
        ("NO_REPLY is a word", "NO_REPLY is a word"),
        ("", ""),
    ],
)
def test_a_sentinel_behind_real_text_falls_away(text: str, kept: str) -> None:
    assert strip_trailing(text) == kept


@pytest.mark.parametrize("token", list(Sentinel))
def test_a_stream_is_held_back_at_every_prefix_of_a_sentinel(token: Sentinel) -> None:
    assert all(could_become_silent(token[:length]) for length in range(len(token) + 1))
    assert could_become_silent(f"\n {token} ")


@pytest.mark.parametrize("prefix", ["`no_", "**NO_REPLY*", "NO_REPLY.", "no_reply\n"])
def test_a_stream_is_held_back_while_only_punctuation_was_added(prefix: str) -> None:
    assert could_become_silent(prefix)


@pytest.mark.parametrize("prefix", ["Hello", "NOT", "NO_REPLY, but", "reply_", "`REPLY_SKIP", "NO_REPLYx"])
def test_a_stream_is_shown_once_it_can_no_longer_be_silence(prefix: str) -> None:
    assert not could_become_silent(prefix)


def test_what_is_too_long_for_a_sentinel_is_not_held_back_however_it_goes_on() -> None:
    assert not could_become_silent("-" * 65)
    assert could_become_silent(" " * 1000)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Done. NO", "Done."),
        ("Done.\n\nNO_REPLY", "Done.\n"),
        ("Done. NO_REPLY HEART", "Done."),
        ("Done. NO_REPLY  ", "Done."),
        ("Done. ", "Done."),
        ("NO_REPLY NO", ""),
        ("Done. NOT", "Done. NOT"),
        ("Done.NO", "Done.NO"),
        ("Done. xNO_REPLY", "Done. xNO_REPLY"),
        ("a" * 50, "a" * 50),
        ("", ""),
    ],
)
def test_the_end_of_a_stream_is_held_back_while_it_may_fall_away(text: str, shown: str) -> None:
    assert text[: held_from(text)] == shown
