from base64 import b64encode

import pytest

from roost.core.errors import InvalidInput
from roost.core.messages import Image
from roost.protocol.handshake import MAX_PICTURE
from roost.protocol.pictures import picture

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_picture_is_kept_without_its_line_breaks() -> None:
    assert picture("image/png", "iVBORw0K\nGgo=\n") == Image(mime="image/png", data="iVBORw0KGgo=")


@pytest.mark.parametrize("text", ["", " ", "QUJ", "no base64!", "Q€JD"])
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no base64"):
        picture("image/png", text)


@pytest.mark.parametrize(
    ("whole", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF0000WEBPVP8 ", "image/webp"),
        (b"<svg/>", "image/heic"),
    ],
)
@pytest.mark.parametrize("called", ["image/heic", "image/jpg"])
def test_a_picture_is_of_the_type_that_it_is_and_another_stays_what_it_is_called(
    called: str, whole: bytes, mime: str
) -> None:
    expected = called if mime == "image/heic" else mime
    assert picture(called, b64encode(whole).decode()).mime == expected


@pytest.mark.parametrize("whole", [b"hello", b"RIFF0000AVI ", PNG[:-1]])
@pytest.mark.parametrize("called", ["image/png", "image/webp"])
def test_what_is_none_of_the_type_that_models_are_shown_is_refused(called: str, whole: bytes) -> None:
    with pytest.raises(InvalidInput, match=f"called {called} and is none"):
        picture(called, b64encode(whole).decode())


def test_a_picture_that_no_model_takes_is_refused() -> None:
    most = PNG.ljust(MAX_PICTURE, b"x")
    assert picture("image/png", b64encode(most).decode()).mime == "image/png"
    with pytest.raises(InvalidInput, match="at most 6 MiB"):
        picture("image/png", b64encode(most + b"x").decode())
