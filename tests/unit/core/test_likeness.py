"""What looks like a secret, and what only stands where one could."""

import pytest

from roost.core.likeness import (
    is_reference,
    is_reference_in_address,
    looks_like_a_value,
    looks_mixed,
    looks_opaque,
    looks_random,
)
from tests.credentials import hexadecimal, mixed


@pytest.mark.parametrize(
    "text", ["hunter", "correcthorsebattery", "123456789012", "password", "HUNTER", "a_KEY", "!1"]
)
def test_what_a_name_is_set_to_is_a_value_whatever_it_looks_like(text: str) -> None:
    assert looks_like_a_value(text)


@pytest.mark.parametrize(
    "text", ["is", "Is", "flag.", "isn't", "...", "…", "PASSWORD", "[TOKEN]", "YOUR_API_KEY", "MY-TOKEN"]
)
def test_a_word_of_a_sentence_and_a_placeholder_are_no_values(text: str) -> None:
    assert not looks_like_a_value(text)


@pytest.mark.parametrize(
    "text",
    [
        "$TOKEN",
        "$K8S_TOKEN",
        "$_",
        "${TOKEN}",
        "${TOKEN:-}",
        "${TOKEN:?say which}",
        "${{ secrets.X }}",
        "$(cat x)",
    ],
)
def test_a_variable_and_what_a_command_says_stand_for_a_value(text: str) -> None:
    assert is_reference(text)
    assert is_reference_in_address(text)
    assert not looks_like_a_value(f"{text}.")


@pytest.mark.parametrize("text", ["$token", "$db_password_2", "$apiKey", "$1"])
def test_a_name_in_small_letters_stands_for_a_value_except_in_an_address(text: str) -> None:
    assert is_reference(text)
    assert not is_reference_in_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "$up3rsecret",
        "$ecret!",
        "$A$B",
        "$A-b",
        "a$B",
        "$",
        "${A:-hunter}",
        "${A}b",
        "$(cat x)b",
        "$2b$12$abc",
        "TOKEN",
    ],
)
def test_what_only_begins_as_a_variable_is_a_value(text: str) -> None:
    assert not is_reference(text)
    assert not is_reference_in_address(text)


@pytest.mark.parametrize(
    "text", ["123456789012", "abcdefghijklmnopqrst", "AbCdEfGhIjKl", "hunter2hunter", "a1"]
)
def test_digits_and_letters_that_make_no_words_are_opaque(text: str) -> None:
    assert looks_opaque(text)


@pytest.mark.parametrize(
    "text", ["getAccessTokenFromRequest", "process.env.OPENAI_API_KEY", "authentication", "-._~", ""]
)
def test_names_and_words_are_not_opaque(text: str) -> None:
    assert not looks_opaque(text)


@pytest.mark.parametrize("text", [mixed(18), mixed(40), hexadecimal(32), "AKb3Xz9Qw2Lm5Tn8Rp"])
def test_drawn_text_looks_random(text: str) -> None:
    assert looks_random(text)


@pytest.mark.parametrize(
    "text",
    [
        "partition-key-for-users-table",
        "getUserByIdentifier2FromCache",
        "process.env.OPENAI_API_KEY",
        "user-profile-page-v2-2024",
        "aaaaaaaaaaaaaaaaaaaaaaa1",
        "1a1a1a1a1a1a1a1a1a1a1a",
        "12345678901234567890",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_names_numbers_and_repetition_do_not_look_random(text: str) -> None:
    assert not looks_random(text)


def test_mixed_text_has_letters_and_digits() -> None:
    assert looks_mixed("hunter2")
    assert not looks_mixed("hunter")
    assert not looks_mixed("4096")
