import pytest

from roost.core.errors import InvalidInput
from roost.core.messages import Image
from roost.protocol.pictures import picture


def test_a_picture_is_kept_without_its_line_breaks() -> None:
    assert picture("image/png", "QUJD\nRA==\n") == Image(mime="image/png", data="QUJDRA==")


@pytest.mark.parametrize("text", ["", " ", "QUJ", "no base64!", "Q€JD"])
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no base64"):
        picture("image/png", text)
