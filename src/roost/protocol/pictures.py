"""A picture as clients send it: base64, checked before it is kept, for a broken one would fail every turn it is shown in."""

from base64 import b64decode

from roost.core.errors import InvalidInput
from roost.core.messages import Image


def picture(mime: str, text: str) -> Image:
    data = "".join(text.split())
    try:
        whole = b64decode(data, validate=True)
    except ValueError:
        whole = b""
    if not whole:
        raise InvalidInput("a picture is empty or no base64", hint="send the whole file in base64")
    return Image(mime=mime, data=data)
