"""`/export-session`: the transcripts of this session as files."""

from roost.core.errors import InvalidInput, NotFound
from roost.core.figures import counted
from roost.engine.commands.asked import Answer, Asked, Means, saying

RAW = "--raw"


async def export(means: Means, asked: Asked) -> Answer:
    if asked.argument.lower() not in ("", RAW):
        raise InvalidInput(
            f"/export-session knows no {asked.argument!r}", hint=f"say {RAW}, or nothing for masked secrets"
        )
    write = means.rules.commands.export
    if write is None or not asked.stored:
        raise NotFound("there is nothing to export" if write else "this gateway has nowhere to export to")
    raw = asked.argument.lower() == RAW
    paths = await write(asked.key, raw)
    secrets = "with secrets as they are" if raw else "with secrets masked"
    return saying("\n".join((f"Exported {counted(len(paths), 'file')}, {secrets}:", *paths)))
