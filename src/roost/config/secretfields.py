"""How a credential may be given: as text, or by naming where it is kept.

Literals, `{env: NAME}` and `{file: PATH}` become a `Secret` while the file is read. `{command: […]}` stays a
value: whoever needs the credential decides when, and whether, to run it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import GetCoreSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from roost.config.amounts import SpellingError
from roost.config.plainfiles import Unfit, read_plain
from roost.config.spelling import read_text
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.masks import is_mask
from roost.core.secrets import MASK, Secret

_MASKED = frozenset({MASK, "__OPENCLAW_REDACTED__"})
_LARGEST = 1 << 16
OTHERS = 0o077

# Outside the file: who can change that alone has nothing run.
PROGRAMS = "ROOST_PROGRAMS"
_KEEPERS = frozenset(
    {
        ("bw", "get"),
        ("gopass", "show"),
        ("op", "read"),
        ("pass", "show"),
        ("secret-tool", "lookup"),
        ("security", "find-generic-password"),
    }
)


@dataclass(frozen=True, slots=True)
class SecretCommand:
    """A program whose output is the credential; nothing here runs it."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a reference may reach while a file is read; `remarks` collects what the owner should hear, and
    `files` those that were looked into."""

    environ: Mapping[str, str]
    resolve: Callable[[str], Path]
    remarks: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


Reader: TypeAlias = Callable[[object, Surroundings], Secret | SecretCommand]


def _literal(found: object) -> Secret:
    if not isinstance(found, str):
        raise SpellingError
    if found in _MASKED or is_mask(found):
        raise SpellingError("a masked value was written back: give the credential itself or a reference")
    try:
        return Secret(found)
    except InvalidInput as error:
        raise SpellingError(str(error)) from None


def _from_environment(found: object, around: Surroundings) -> Secret:
    name = read_text(found)
    if name not in around.environ:
        raise SpellingError(f"the environment has no {name}: set it, or give the credential otherwise")
    return _literal(around.environ[name])


def open_to_others(path: Path) -> str:
    return f"{path} can be read by others: chmod 600 {path}"


def _from_file(found: object, around: Surroundings) -> Secret:
    path = around.resolve(read_text(found))
    around.files.append(path)
    try:
        content, status = read_plain(path, _LARGEST, "a credential")
        text = content.decode().rstrip("\r\n")
    except Unfit as unfit:
        raise SpellingError(f"{path} {unfit}") from None
    except OSError as error:
        raise SpellingError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpellingError(f"{path} is not UTF-8 text") from None
    if status.st_mode & OTHERS:
        around.remarks.append(open_to_others(path))
    return _literal(text)


def _command(found: object, around: Surroundings) -> SecretCommand:
    if not isinstance(found, list) or not found:
        raise SpellingError
    argv = tuple(read_text(part) for part in found)
    if argv[:2] not in _KEEPERS and argv[0] not in around.environ.get(PROGRAMS, "").split(os.pathsep):
        raise SpellingError(f"{argv[0]} is not one of the programs that may be run: list it in {PROGRAMS}")
    return SecretCommand(argv)


_READERS: Mapping[str, Reader] = {"env": _from_environment, "file": _from_file, "command": _command}


@dataclass(frozen=True, slots=True)
class CredentialSpelling:
    """The forms one credential may take; a program only where its user can wait for one."""

    forms: tuple[Literal["env", "file", "command"], ...]

    @property
    def allowed(self) -> str:
        examples = {"env": '`{env: "NAME"}`', "file": '`{file: "PATH"}`', "command": "`{command: […]}`"}
        return " or ".join(["text that is not empty", *(examples[form] for form in self.forms)])

    def read(self, found: object, info: ValidationInfo) -> Secret | SecretCommand:
        around = info.context
        assert isinstance(around, Surroundings)
        if not isinstance(found, dict):
            return _literal(found)
        if len(found) != 1:
            raise SpellingError
        [(form, value)] = found.items()
        if form not in self.forms:
            raise SpellingError
        return _READERS[form](value, around)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(_write)
        )


def _write(value: Secret | SecretCommand) -> JsonValue:
    return {"command": list(value.argv)} if isinstance(value, SecretCommand) else MASK


Credential: TypeAlias = Annotated[Secret, CredentialSpelling(("env", "file"))]
LateCredential: TypeAlias = Annotated[Secret | SecretCommand, CredentialSpelling(("env", "file", "command"))]
