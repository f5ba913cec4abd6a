"""`roost sessions export`: the transcripts of sessions as files, on the machine of who asks for them."""

import base64
import binascii
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.cli.exportfiles import export_files
from roost.cli.rows import meaning
from roost.cli.sessions import every
from roost.cli.several import Came, Several
from roost.cli.where import HERE, Where, anywhere
from roost.client import Client
from roost.core.errors import InvalidInput
from roost.core.exports import folder_name
from roost.core.figures import counted
from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.protocol.families.own import EXPORT, Exported
from roost.protocol.families.sessions import LIST


async def export(
    *keys: Annotated[str, Parameter(help="Which sessions, by a key from the list, main, or a session id.")],
    every_one: Annotated[
        bool, Parameter(name="--all", help="Every session, the archived ones too.", negative="")
    ] = False,
    to: Annotated[Path, Parameter(help="The folder, which is made. Without it, the current one.")] = Path(),
    raw: Annotated[bool, Parameter(help="With secrets as they are.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Write the transcripts of sessions as files here, a folder a session; 1 if one could not be."""
    if every_one == bool(keys):
        raise InvalidInput("which sessions are meant is not clear", hint="give keys, or --all and no key")
    several = Several(operation="export", where=where)
    async with anywhere(where) as client:

        async def step(key: str) -> Came:
            return several.keep(await _take(client, key, to.absolute(), raw=raw))

        await several.each(await _all(client) if every_one else keys, step)
    return several.code()


async def _all(client: Client) -> list[str]:
    found = await every(
        lambda params: client.call(LIST, params),
        {"archived": "all", "includeGlobal": True, "includeUnknown": True},
    )
    return [str(row["key"]) for row in found["sessions"]]


async def _take(client: Client, named: str, to: Path, *, raw: bool) -> Came:
    asked: JsonObject = {"key": named, "raw": raw}
    with meaning(named):
        piece = await client.call(EXPORT, asked)
    key = piece["key"]
    with export_files(to, folder_name(SessionKey.parse(key))) as files:
        files.add(piece["name"], _bytes(piece))
        while (cursor := piece["nextCursor"]) is not None:
            piece = await client.call(EXPORT, {"key": key, "raw": raw, "cursor": cursor})
            files.add(piece["name"], _bytes(piece))
        written = files.publish()
    secrets = "with secrets as they are" if raw else "with secrets masked"
    lines = [f"{file} (replaced)" if file in written.replaced else file for file in written.files]
    return Came(
        key=key,
        status="exported",
        words="\n".join((f"{key}: exported {counted(len(lines), 'file')}, {secrets}:", *lines)),
        more={"raw": raw, "files": list(written.files), "replaced": list(written.replaced)},
    )


def _bytes(piece: Exported) -> bytes:
    try:
        return base64.b64decode(piece["data"], validate=True)
    except binascii.Error:
        raise InvalidInput(
            f"what the gateway sent of {piece['name']!r} is no Base64", hint="see that it is the one you mean"
        ) from None
