"""A picture as clients send it: base64, checked before it is kept, for a broken one would fail every turn it is shown in,
and so would one that is called what it is not."""

from base64 import b64decode
from types import MappingProxyType

from roost.core.errors import InvalidInput
from roost.core.messages import Image
from roost.protocol.handshake import MAX_PICTURE

_SIGNS = MappingProxyType(
    {
        "image/png": (b"\x89PNG\r\n\x1a\n", b""),
        "image/jpeg": (b"\xff\xd8\xff", b""),
        "image/gif": (b"GIF8", b""),
        "image/webp": (b"RIFF", b"WEBP"),
    }
)
"""How the files of those types begin that models are shown, and what follows after eight bytes."""


def picture(mime: str, text: str) -> Image:
    """Of the type that it is, whatever it is called."""
    data = "".join(text.split())
    try:
        whole = b64decode(data, validate=True)
    except ValueError:
        whole = b""
    if not whole:
        raise InvalidInput("a picture is empty or no base64", hint="send the whole file in base64")
    if len(whole) > MAX_PICTURE:
        raise InvalidInput(f"a picture has at most {MAX_PICTURE >> 20} MiB", hint="send it smaller")
    found = _type_of(whole)
    if found is None and mime in _SIGNS:
        raise InvalidInput(f"a picture is called {mime} and is none", hint="send the file as it is")
    return Image(mime=found or mime, data=data)


def _type_of(whole: bytes) -> str | None:
    for mime, (first, inside) in _SIGNS.items():
        if whole.startswith(first) and whole[8:].startswith(inside):
            return mime
    return None
