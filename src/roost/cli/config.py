"""`roost config`: what is configured, and changing it."""

from collections.abc import Iterator
from typing import Annotated

from cyclopts import App, Parameter

from roost.app.providers import check_models
from roost.cli.editing import alone, changed, replaced
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, cell, part, say, table
from roost.config import as_document
from roost.config.catalogue import keys
from roost.config.problems import nearest
from roost.config.section import Takes
from roost.core.errors import NotFound

app = App(name="config", help="What is configured.")

Path = Annotated[str, Parameter(help="For example session.dmScope.")]


@app.command
def get(path: Path = "", *, here: Local = LOCAL) -> int:
    """A setting, or all of them, as they are in force; secrets are not shown."""
    document = as_document(here.loaded().settings)
    found = part(document, *path.split(".")) if path else document
    if found is None:
        raise NotFound(f"nothing is set at {path}", hint=_alike(path))
    if here.json or isinstance(found, dict | list):
        as_json(found)
    else:
        say(cell(found))
    return 0


def _alike(path: str) -> str:
    """A setting that may be meant, or a group of them."""
    there = {one.path[:end] for one in keys() for end in _ends(one.path)}
    alike = "" if path in there else nearest(path, there)
    return f"did you mean `{alike}`?" if alike else "`roost config schema` shows what there is"


def _ends(path: str) -> Iterator[int]:
    yield from (at for at, letter in enumerate(path) if letter == ".")
    yield len(path)


@app.command(name="set")
def put(
    path: Path,
    value: Annotated[str, Parameter(help="JSON, or plain text.", allow_leading_hyphen=True)],
    *,
    here: Local = LOCAL,
) -> int:
    """Change a setting in the file, with its comments kept; a change that would be refused is not made."""
    source = here.source()
    with alone(source):
        replaced(source, changed(source, path, value))
    if here.json:
        as_json({"path": path, "file": str(source.file)})
    else:
        begins = any(one.takes is Takes.RESTART for one in keys() if f"{one.path}.".startswith(f"{path}."))
        when = " at its next start" if begins else ""
        say(f"{path} is set in {source.file}; a gateway that runs takes it over{when}")
    return 0


@app.command
def check(*, here: Local = LOCAL) -> int:
    """Whether a gateway would start with the file; everything that is wrong is named."""
    loaded = here.loaded()
    check_models(loaded.settings)
    if here.json:
        as_json({"file": str(loaded.sources.file), "warnings": [str(one) for one in loaded.warnings]})
        return 0
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    say(f"{loaded.sources.file} is right" if loaded.sources.exists else "there is no file: the defaults hold")
    return 0


@app.command
def schema(*, here: Local = LOCAL) -> int:
    """Every setting there is."""
    found = list(keys())
    if here.json:
        as_json(
            [
                {
                    "path": one.path,
                    "allowed": one.allowed,
                    "default": one.default,
                    "takes": str(one.takes),
                    "description": one.description,
                }
                for one in found
            ]
        )
    else:
        table(
            ("setting", "allowed", "default", "about"),
            [(one.path, one.allowed, one.default, one.description) for one in found],
        )
    return 0
