"""What every secret scanner finds, and that it finds it in linear time."""

import json
import random
import string
from base64 import b64encode
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.core.credentials import RULES
from roost.core.likeness import looks_like_a_value
from roost.core.redaction import Prescanned, SecretScanner, mask, redact
from roost.scanners.re2 import Re2Scanner
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import INNOCENT, PROSE_ABOUT, Planted, bare, in_context, key_lines, private_keys
from tests.growth import grows_linearly
from tests.scale import count, examples

SCANNERS: dict[str, SecretScanner] = {"re2": Re2Scanner(), "stdlib": StdlibScanner()}
BARE = bare()
CONTEXT = tuple(in_context())
FLAGS = ("--token", "--password", "--api-key", "--client-secret")

CARRIERS: dict[str, Callable[[str], str]] = {
    "alone": lambda secret: secret,
    "prose": lambda secret: f"Please use {secret}, and tell nobody — 谢谢.",
    "JSON": lambda secret: json.dumps({"note": secret, "n": 1}),
    "JSON in JSON": lambda secret: json.dumps({"out": json.dumps({"note": secret})}),
    "header": lambda secret: f"X-Note: {secret}\r\nAccept: */*\r\n",
    "URL": lambda secret: f"https://x.test/path/?state={secret}&next=%2F",
    "code": lambda secret: f"```py\nclient = Client('{secret}')\n```",
}

ANCHORS = sorted({anchor for rule in RULES for anchor in rule.anchors})
MARKS = (
    "-----BEGIN PRIVATE KEY-----",
    "-----END",
    "MIIE",
    "--token ",
    "x-api-key: ",
    "is",
    *"=:\"' \n.@/&?-_\\$<{(é数…*",
    "***",
    "=>",
    "Bearer ",
    "123456789",
    "a1B2c3D4e5F6g7H8i9J0k1L2",
)
PIECES = st.sampled_from((*ANCHORS, *BARE.values(), *MARKS))


@pytest.fixture(params=SCANNERS)
def scanner(request: pytest.FixtureRequest) -> SecretScanner:
    return SCANNERS[request.param]


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("kind", BARE)
def test_a_credential_is_masked_wherever_it_stands(scanner: SecretScanner, kind: str, carrier: str) -> None:
    secret = BARE[kind]
    redacted, changed = redact(CARRIERS[carrier](secret), scanner)
    assert changed
    assert secret not in redacted
    assert secret[8:-4] not in redacted


def test_at_least_forty_kinds_of_credentials_are_tried() -> None:
    assert len(BARE) >= 40


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("planted", CONTEXT, ids=lambda planted: planted.text[:40])
def test_a_credential_is_masked_where_its_surroundings_give_it_away(
    scanner: SecretScanner, planted: Planted
) -> None:
    redacted, changed = redact(f"before {planted.text}; after", scanner)
    assert changed
    assert planted.secret not in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith("; after")


@pytest.mark.requirement("P24")
def test_a_private_key_is_masked_to_its_end_however_its_lines_are_shown(scanner: SecretScanner) -> None:
    for text in private_keys():
        redacted, changed = redact(f"before {text}", scanner)
        assert changed
        assert redacted.startswith("before ")
        assert not [line for line in key_lines() if line[6:-4] in redacted.replace("\\/", "/")], text
        assert "CAQ" not in redacted
        assert ("-----END" in text) == redacted.endswith(text[-12:]), text


@pytest.mark.requirement("P24")
@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_what_stands_behind_the_end_of_a_private_key_is_left_alone(scanner: SecretScanner, kind: str) -> None:
    body = "\n".join(key_lines())
    redacted, _ = redact(f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\nThat was it.", scanner)
    assert redacted.endswith(f"-----END {kind}-----\nThat was it.")


@settings(max_examples=examples(200, 5_000), deadline=None)
@given(
    st.binary(min_size=90, max_size=400),
    st.integers(40, 80),
    st.text(alphabet=" >|#*+│0123456789:\t", max_size=8),
    st.sampled_from(["\n", "\r\n", "\\n", "\\\\n"]),
)
def test_a_key_of_any_bytes_and_width_is_masked_behind_any_margin(
    key: bytes, width: int, margin: str, between: str
) -> None:
    body = b64encode(b"0\x82\x01" + key).decode()
    lines = [body[start : start + width] for start in range(0, len(body), width)]
    text = between.join(margin + line for line in ("-----BEGIN PRIVATE KEY-----", *lines))
    for scanner in SCANNERS.values():
        redacted, _ = redact(text, scanner)
        assert not [line for line in lines if len(line) > 10 and line[4:-4] in redacted]


@pytest.mark.requirement("P24")
@settings(max_examples=examples(200, 5_000), deadline=None)
@given(
    st.sampled_from(FLAGS),
    st.sampled_from(" ="),
    st.from_regex(r"[A-Za-z0-9%+.][^\s\"'`…]{0,30}", fullmatch=True),
)
def test_whatever_a_flag_that_names_a_secret_is_set_to_is_masked(flag: str, sign: str, value: str) -> None:
    assume(looks_like_a_value(value))
    for scanner in SCANNERS.values():
        redacted, _ = redact(f"run {flag}{sign}{value} --now", scanner)
        assert redacted == f"run {flag}{sign}{mask(value)} --now"


@pytest.mark.parametrize("sentence", PROSE_ABOUT)
@pytest.mark.parametrize("flag", FLAGS)
def test_a_sentence_about_a_flag_is_left_alone(scanner: SecretScanner, flag: str, sentence: str) -> None:
    assert scanner.find(sentence.format(flag)) == []


@pytest.mark.parametrize("text", INNOCENT)
def test_a_text_without_secrets_is_left_alone(scanner: SecretScanner, text: str) -> None:
    assert scanner.find(text) == []


def test_a_picture_in_base64_is_left_alone(scanner: SecretScanner) -> None:
    chance = random.Random(11)
    picture = "".join(chance.choices(string.ascii_letters + string.digits + "+/", k=200_000))
    assert scanner.find(f"data:image/png;base64,{picture}==") == []


def test_spans_are_sorted_apart_and_count_characters(scanner: SecretScanner) -> None:
    text = f"é {BARE['ghp_']} 数 {BARE['npm_']} \ud800 AKIA {BARE['AKIA']}"
    spans = scanner.find(text)
    assert [text[span.start : span.end] for span in spans] == [BARE["ghp_"], BARE["npm_"], BARE["AKIA"]]
    assert [span.rule for span in spans] == ["github", "npm", "aws-key-id"]


def test_a_refused_match_does_not_hide_a_secret_inside_it(scanner: SecretScanner) -> None:
    plain = "AKIA" + "AAAABBBBCCCCDDDD"
    (span,) = scanner.find(f"MY_KEY={plain}")
    assert (span.rule, span.end - span.start) == ("aws-key-id", len(plain))


@settings(max_examples=examples(300, 5_000), deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_all_scanners_find_the_same_in_texts_made_of_fragments(text: str) -> None:
    re2, stdlib = SCANNERS.values()
    assert list(re2.find(text)) == list(stdlib.find(text))


@settings(max_examples=examples(100, 2_000), deadline=None)
@given(st.text())
def test_all_scanners_find_the_same_in_any_text(text: str) -> None:
    re2, stdlib = SCANNERS.values()
    assert list(re2.find(text)) == list(stdlib.find(text))


@pytest.mark.requirement("P24")
@settings(max_examples=examples(200, 5_000), deadline=None)
@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=6))
def test_what_is_found_in_a_text_is_found_whatever_stands_around_its_lines(texts: list[str]) -> None:
    for scanner in SCANNERS.values():
        swept = Prescanned(texts, scanner)
        assert [list(swept.find(text)) for text in texts] == [list(scanner.find(text)) for text in texts]


HOSTILE: tuple[str, ...] = (
    "eyJ", "eyJ-", "eyJaaaaaaaa.", "://", "://a:", "://a:b", "://a:b/c", "://a@b:c@d", "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----a ", "-----BEGIN PRIVATE KEY-----Gaaaaaa ",
    "-----BEGIN PRIVATE KEY-----" + "G" * 39 + " ", "-----BEGIN PRIVATE KEY-----\\n", "--", "sk-", "--token is --token=", "--token ?",
    '--token "a', "--token 'a", '--token "$(', "--token '$(", '--token "$( \'', "--token $a", "--token=${a", "://a:$A", "://a:$(",
    "x-api-key:${", "x-api-key: $a ", '"password":"$(', "$", "x-api-key: is ", "x-a-",
    "_token=", "password=", "password=a", "_key=aaaaaaaaaaaaaaaaaaaa", "access_token=aaaaaaaaa.", "--token=a", "&token=",
    "?", "123456:", "M", "authorization: ", 'authorization="a ', "bearer ", "SG.", "AKIA", "pat", " ", "\\", "cvc=1",
)  # fmt: skip
if count(0, 1):
    HOSTILE += tuple(
        sorted({anchor + tail for rule in RULES for anchor in rule.anchors for tail in ("", "=", "aB3")})
    )


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_a_hostile_text_and_not_with_its_square(scanner: SecretScanner, unit: str) -> None:
    assert grows_linearly(scanner.find, unit, size=8_000)
