"""A text that is shown while it grows."""

from collections.abc import Sequence

import pytest

from roost.core.growing import MOST_HELD, WINDOW, Growing, Growth
from roost.core.redaction import Span, mask, redact
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import bare, mixed

SCANNER = StdlibScanner()
TOKEN = "ghp_" + mixed(36)
KEY = f"-----BEGIN PRIVATE KEY-----\n{mixed(64)}\n{mixed(64)}\n-----END PRIVATE KEY-----\n"


@pytest.fixture
def text() -> Growing:
    return Growing(SCANNER)


def heard(text: Growing, *pieces: str) -> list[Growth]:
    """All that is told of a text that comes in these pieces."""
    return [growth for growth in (*map(text.add, pieces), text.end()) if growth is not None]


def test_a_word_is_shown_once_it_is_whole(text: Growing) -> None:
    assert text.add("Hel") == Growth("Hel", replaces=False)
    assert text.add("lo gate-") == Growth("lo ", replaces=False)
    assert text.add("way") is None
    assert text.end() == Growth("gate-way", replaces=False)
    assert text.end() is None


def test_a_plain_word_waits_where_a_credential_is_expected(text: Growing) -> None:
    assert text.add("the password: hun") == Growth("the password: ", replaces=False)
    assert text.add("ter") is None
    assert text.add("2 or") == Growth("*** or", replaces=False)


def test_a_language_without_spaces_is_shown_as_it_comes(text: Growing) -> None:
    assert [growth.added for growth in heard(text, "\u4f60\u597d", "\u3002\u518d")] == [
        "\u4f60\u597d",
        "\u3002\u518d",
    ]


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("secret", bare().values(), ids=list(bare()))
def test_a_credential_is_masked_wherever_it_is_cut(secret: str) -> None:
    for cut in range(1, len(secret)):
        text = Growing(SCANNER)
        told = heard(text, f"it is {secret[:cut]}", f"{secret[cut:]}, or", " not")
        assert text.shown == f"it is {mask(secret)}, or not"
        shown = [growth.added.removeprefix("it is ") for growth in told]
        assert [one for one in shown if secret.startswith(one) and len(one) > 12] == []


@pytest.mark.requirement("P24")
def test_of_a_key_in_many_lines_nothing_is_shown_while_it_comes(text: Growing) -> None:
    shown = [growth.added for growth in heard(text, "here: ", *KEY.splitlines(keepends=True), "done")]
    assert mixed(64)[10:-10] not in "".join(shown)
    assert text.shown == redact(f"here: {KEY}done", SCANNER)[0]


def test_what_turns_out_to_be_a_secret_takes_back_what_was_shown_of_it(text: Growing) -> None:
    told = heard(text, 'run it with --password "correct horse ', 'battery staple" now')
    assert [growth.replaces for growth in told] == [False, True]
    assert "horse" in told[0].added
    assert text.shown == 'run it with --password "correc…aple" now'


def test_another_text_in_its_place_is_shown_whole(text: Growing) -> None:
    text.add("one two")
    text.begin()
    assert text.shown == ""
    assert text.add("one ") == Growth("one ", replaces=True)
    assert text.add("more ") == Growth("more ", replaces=False)


def test_of_a_word_that_never_ends_all_but_the_newest_part_is_shown(text: Growing) -> None:
    assert text.add("-" * MOST_HELD) is None
    assert text.add("-+") == Growth("--", replaces=False)
    assert text.end() == Growth("-" * (MOST_HELD - 1) + "+", replaces=False)


@pytest.mark.requirement("P24")
def test_a_credential_in_a_word_that_never_ends_is_masked_wherever_it_is_cut() -> None:
    """As in data that is written without a space."""
    row = ",".join(f'"{number}":"{number}"' for number in range(450))
    assert len(row) > MOST_HELD
    for cut in range(1, len(TOKEN)):
        text = Growing(SCANNER)
        told = heard(text, f'{{{row},"it":"{TOKEN[:cut]}', f'{TOKEN[cut:]}"', "}")
        assert TOKEN[:8] not in "".join(growth.added for growth in told)
        assert text.shown == f'{{{row},"it":"{mask(TOKEN)}"}}'


@pytest.mark.requirement("P24")
def test_what_a_line_gives_away_of_the_next_one_stays_masked_however_much_follows(text: Growing) -> None:
    line, flag = f"{'x' * 15}\n", '"--password",\n'
    before = line * (WINDOW // len(line) - 1)
    whole = f'{before}{flag}{"": <8}"{"correct" * 2}horse"\n{line * WINDOW}'
    almost = 2 * WINDOW - 20
    for piece in (whole[:almost], *(whole[at : at + 10] for at in range(almost, len(whole), 10))):
        text.add(piece)
        assert "correcth" not in text.shown
    text.end()
    assert text.shown == redact(whole, SCANNER)[0]


def test_of_a_long_text_only_the_newest_lines_are_looked_at() -> None:
    looked: list[int] = []

    class Counting(StdlibScanner):
        def find(self, text: str) -> Sequence[Span]:
            looked.append(len(text))
            return super().find(text)

    text, whole = Growing(Counting()), "".join(f"line {number} of {TOKEN}\n" for number in range(1_000))
    for start in range(0, len(whole), 500):
        text.add(whole[start : start + 500])
    text.end()
    assert max(looked) <= 2 * WINDOW + 1_000
    assert text.shown == redact(whole, SCANNER)[0]


def test_a_key_longer_than_that_is_looked_at_to_its_end(text: Growing) -> None:
    key = KEY.replace(mixed(64), "\n".join([mixed(64)] * 300), 1)
    heard(text, *f"here:\n{key}done".splitlines(keepends=True))
    assert text.shown == redact(f"here:\n{key}done", SCANNER)[0]
    assert len(text.shown) < 200
