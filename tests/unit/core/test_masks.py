import pytest

from roost.core.errors import InvalidInput
from roost.core.masks import is_mask, masks, refuse_masks
from roost.core.redaction import mask, redact
from roost.scanners.stdlib import StdlibScanner
from tests import credentials


@pytest.mark.requirement("P24")
def test_what_is_left_of_every_credential_that_says_what_it_is_is_known_as_a_mask() -> None:
    unknown = [kind for kind, secret in credentials.bare().items() if not masks(f"key {mask(secret)} end")]
    assert unknown == []


@pytest.mark.requirement("P24")
def test_what_is_left_of_credentials_in_their_surroundings_is_known_as_a_mask() -> None:
    scanner = StdlibScanner()
    texts = [*(planted.text for planted in credentials.in_context()), *credentials.private_keys()]
    redacted = [redact(text, scanner)[0] for text in texts]
    assert [text for text in redacted if not masks(text) and "card" not in text] == []


@pytest.mark.parametrize(
    "text",
    [
        "Wait…then go on, MONDAY…then",
        "the token Monday…then, the key MONDAY…then, a note: Monday…then",
        "deploy --title Monday…then",
        "waited…then",
        "***\n\nA new part\n\n***",
        "**Note:** ***important*** words",
        "int ***p = ***q;",
        'f"{ab}…{cd}"',
        "loading…",
        "0…255",
    ],
)
def test_ordinary_text_holds_no_mask(text: str) -> None:
    assert masks(text) == ()


def test_masks_come_in_the_order_of_the_text() -> None:
    assert masks("a: sk-abc…wxyz\nPASSWORD=***\n") == ("sk-abc…wxyz", "=***")
    assert masks("https://ann:$abcd1…wxyz@host") == ("$abcd1…wxyz",)
    assert masks("--token abcdef…wxyz and sk-abc…wxyz") == ("abcdef…wxyz", "sk-abc…wxyz")


@pytest.mark.requirement("P24")
def test_a_mask_that_is_written_back_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput, match=r"masked secret \(sk-abc…wxyz\)") as refusal:
        refuse_masks("API_KEY=sk-abc…wxyz", known="API_KEY=the-real-one")
    assert "environment variable" in refusal.value.hint


def test_a_mask_that_the_file_held_before_may_stay() -> None:
    refuse_masks("password: ***\nuser: bob", known="password: ***")


@pytest.mark.parametrize(
    "piece", ["-", "--a", ": ", "=", "***", "a…", "-----BEGIN ", "sk-abc…", "--token Monday…then "]
)
def test_looking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    assert len(masks(piece * 300_000)) in (0, 299_999, 300_000)


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("text", ["sk-abc…wx9z", "{{secret:gateway.auth.token}}"])
def test_a_text_may_be_nothing_but_a_mask(text: str) -> None:
    assert is_mask(text)
    assert masks(f"KEY={text}") == (text,)
    assert not is_mask(f"{text} and more")


def test_prose_and_real_values_are_no_masks() -> None:
    assert not any(map(is_mask, ("waited…then", "sk-abc", "{{secret}}", "")))
