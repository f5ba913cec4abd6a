"""An export a piece at a time, each found anew from where the one before it ended."""

from collections.abc import Callable
from contextlib import aclosing
from typing import TypeAlias

from roost.core.errors import InvalidInput, NotFound
from roost.core.exports import Piece, Reached
from roost.core.keys import SessionKey
from roost.core.sessions import Generation
from roost.ports import Store
from roost.transfer.export import export_transcript, file_name, files_of

LARGEST = 1 << 20

Cover: TypeAlias = Callable[[bytes], bytes]
"""A whole line as it may be shown: what is hidden in it must not lie in two pieces."""


async def piece_after(
    store: Store, key: SessionKey, reached: Reached | None, cover: Cover, largest: int = LARGEST
) -> Piece:
    """The next piece of the files of a key, oldest first; never of two files, and none larger than `largest`."""
    generations = await store.generations(key)
    if not generations:
        raise NotFound(f"no session {key}", hint="take the key from the list of sessions")
    files = files_of(generations)
    number = 0 if reached is None else _place(files, key, reached.session_id)
    file, following = files[number], files[number + 1 : number + 2]
    lines, skip = (0, 0) if reached is None else (reached.lines, reached.size)
    data = bytearray()
    async with aclosing(export_transcript(store, file, generations, lines)) as found:
        async for line in found:
            rest, room = cover(line)[skip:], largest - len(data)
            data += rest[:room]
            if len(rest) > room:
                then = Reached(session_id=file.session_id, lines=lines, size=skip + room)
                return Piece(name=file_name(file), data=bytes(data), then=then)
            lines, skip = lines + 1, 0
    after = Reached(session_id=following[0].session_id) if following else None
    return Piece(name=file_name(file), data=bytes(data), then=after)


def _place(files: tuple[Generation, ...], key: SessionKey, session_id: str) -> int:
    for number, file in enumerate(files):
        if file.session_id == session_id:
            return number
    raise InvalidInput(f"{key} has no transcript {session_id!r} any more", hint="begin the export again")
