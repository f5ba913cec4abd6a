"""What a command needs that works on this machine's own files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from roost.ancestry import is_of_agent
from roost.core.errors import Forbidden, InvalidInput

if TYPE_CHECKING:
    from roost.config import ConfigSource, Loaded


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    config: Annotated[Path | None, Parameter(help="The configuration file.")] = None
    json: Annotated[bool, Parameter(help="Print JSON.", negative="")] = False

    def source(self) -> "ConfigSource":
        from roost.config.source import FILE, ConfigSource, from_environment  # noqa: PLC0415 — who asks a gateway elsewhere needs none

        found = from_environment()
        if self.config is None:
            return found
        return ConfigSource({**found.environ, FILE: str(self.config.absolute())})

    def loaded(self) -> "Loaded":
        source = self.source()
        if self.config is not None and not source.file.exists():
            raise InvalidInput(
                f"there is no file {self.config}", hint="name one that is, or leave --config out"
            )
        return source.read()

    def to_write(self) -> "Loaded":
        """The same, for who writes what a gateway keeps, past all that it would refuse."""
        refuse_agent()
        return self.loaded()


def refuse_agent() -> None:
    """Only a person changes the configuration, and what is kept here."""
    if is_of_agent():
        raise Forbidden(
            "what an agent starts with `exec` changes neither the configuration nor the store",
            hint="ask the person to do it in a shell of their own",
        )


LOCAL = Local()
