"""Names of transcript files; S8 is proven here and in the flow."""

import itertools
from pathlib import Path

import pytest

from roost.core.errors import InvalidInput
from roost.transfer.paths import Fate, TranscriptName, is_session_id, transcript_name, transcript_path
from tests.opening import Opened, in_own_process

ID = "0195a1c2-7d10-4a51-9c3e-2f4b6d8e0a01"


def traversals() -> list[str]:
    """Ways to say another place: plain, encoded, absolute, drive, UNC, NUL, trailing, whitespace, look-alikes."""
    dots = ["..", "%2e%2e", "%252e%252e", ".%00.", "..\0", "．．", "․․", "..%c0%af", "%uff0e%uff0e"]
    slashes = ["/", "\\", "%2f", "%5c", "%252f", "／", "∕", "//", "/./", "\\\\"]
    targets = ["etc/passwd", "roost.db", "a.jsonl", "proc/self/environ"]
    walked = ["".join(parts) for parts in itertools.product(dots, slashes, targets)]
    inside = [f"{ID}{slash}{target}" for slash, target in itertools.product(slashes, targets)]
    deep = [f"a/{slash.join([dot] * 5)}{slash}x" for dot, slash in itertools.product(dots, slashes)]
    others = [
        "", " ", ".", "..", "...", "~", "~root", "/", "//", "/etc/passwd", "//host/share", "\\\\host\\share",
        "\\\\?\\C:\\x", "C:", "C:\\x", "C:/x", "file:///etc/passwd", "http://host/x", "a/b", "a\\b", "a\0b",
        "a\0.jsonl", "\0", "a\n", "\na", " a", "a ", "a\r", "a\tb", ".hidden", "-rf", "--help", "$HOME", "${HOME}",
        "`id`", "$(id)", "a;b", "a|b", "a&b", "*", "?", "[a]", "a:b", "a::$DATA", "a%00", "%", "a%2fb", "é", "日",
        "\u202eabc", "a\u2028b", "\ud800", "x" * 129, "x" * 100_000, "a/../b", "a/..", "/dev/null", "/dev/stdin",
        "/proc/self/fd/0", "con/..", "nul\\", "a'b", 'a"b', "a b", "a,b", "a=b", "a+b", "a@b", "a#b", "a!b", "<a>",
    ]  # fmt: skip
    return list(dict.fromkeys([*walked, *inside, *deep, *others]))


def refuse_all() -> None:
    texts = traversals()
    assert len(texts) >= 500
    with Opened().during() as seen:
        for text in texts:
            for session_id, topic in ((text, None), (ID, text)):
                with pytest.raises(InvalidInput) as refused:
                    transcript_path(Path("store"), session_id, topic)
                assert refused.value.code == "invalid_input"
            assert not is_session_id(text)
            assert TranscriptName.parse(f"../{text}.jsonl") is None
    assert seen == []


@pytest.mark.requirement("S8")
def test_no_text_that_walks_out_of_a_folder_is_an_id_and_no_file_is_touched() -> None:
    in_own_process(refuse_all)


def read_this_file() -> None:
    with Opened().during() as seen:
        Path(__file__).read_bytes()
    assert seen == [("open", __file__)]


def test_the_tracer_sees_a_file_that_is_opened() -> None:
    in_own_process(read_this_file)


@pytest.mark.requirement("D09", "D36")
def test_a_transcript_lies_in_the_store_under_its_session_id() -> None:
    assert transcript_path(Path("store"), ID) == Path("store") / f"{ID}.jsonl"
    assert transcript_path(Path("store"), ID, "42") == Path("store") / f"{ID}-topic-42.jsonl"
    assert transcript_name("a") == "a.jsonl"


@pytest.mark.requirement("D36")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{ID}.jsonl", {"session_id": ID, "stem": ID}),
        ("a-topic-42.jsonl", {"session_id": "a", "stem": "a-topic-42", "topic": "42"}),
        ("a-topic-%24x.jsonl", {"session_id": "a", "stem": "a-topic-%24x", "topic": "$x"}),
        (
            "a.jsonl.deleted.2026-01-01T00-00-00.000Z",
            {
                "session_id": "a",
                "stem": "a",
                "fate": Fate.DELETED,
                "stamp": "2026-01-01T00-00-00.000Z",
            },
        ),
        (
            "a-topic-1.jsonl.reset.7.zst",
            {
                "session_id": "a",
                "stem": "a-topic-1",
                "topic": "1",
                "fate": Fate.RESET,
                "stamp": "7",
                "compressed": True,
            },
        ),
        ("a.jsonl.jsonl", {"session_id": "a.jsonl", "stem": "a.jsonl"}),
    ],
)
def test_the_name_of_a_transcript_is_read_by_its_parts(text: str, name: dict[str, object]) -> None:
    assert TranscriptName.parse(text) == TranscriptName(text=text, **name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".jsonl",
        "a.json",
        "a.jsonl.bak",
        "a.jsonl.lock",
        "-a.jsonl",
        "a/b.jsonl",
        "a.jsonl\n",
        "a\0.jsonl",
        "é.jsonl",
    ],
)
def test_any_other_name_is_not_one_of_a_transcript(text: str) -> None:
    assert TranscriptName.parse(text) is None


def test_a_file_fits_a_conversation_with_its_topic_or_any_if_it_has_none() -> None:
    plain, topic = TranscriptName.parse("a.jsonl"), TranscriptName.parse("a-topic-42.jsonl")
    assert plain is not None
    assert topic is not None
    assert plain.fits(frozenset())
    assert topic.fits(frozenset({"42"}))
    assert not topic.fits(frozenset({"7"}))
