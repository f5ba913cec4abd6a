"""How one value may be written in the file: the scalar types that settings are made of.

A `Spelling` reads a plain JSON value and says in words what it allows; errors and the reference page
quote those words.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import GetCoreSchemaHandler, Strict
from pydantic_core import CoreSchema, core_schema

from roost.config.amounts import MOST_COUNTED, ByteSize, Duration, SpellingError
from roost.core.addresses import ChatType
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey

Writer: TypeAlias = Callable[[Any], JsonValue]

_UNIT_NAMES: Mapping[str, str] = {"d": "days", "h": "hours"}
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_CHANNEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_ACCOUNT = re.compile(r"\*|[a-z0-9][a-z0-9_.@+-]{0,127}")
_AGENT = re.compile(r"[a-z0-9_][a-z0-9_-]{0,63}", re.ASCII)
_PERSON = re.compile(r"[^:\s](?:[^:]*[^:\s])?")
_RESERVED = frozenset({"global", "unknown", "current"})
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """`parse` raises `SpellingError` for anything else."""

    parse: Callable[[object], object]
    allowed: str
    write: Writer = lambda value: value
    options: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.parse, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )


def one_of(options: Iterable[str]) -> str:
    """`a`, `b` or `c`."""
    *most, last = (f"`{option}`" for option in options)
    return f"{', '.join(most)} or {last}" if most else last


def read_text(found: object) -> str:
    if not isinstance(found, str) or not found.strip():
        raise SpellingError
    return found


def pattern(expression: re.Pattern[str], allowed: str, *, lower: bool = False) -> Spelling:
    """A text that matches `expression` whole, after lower-casing where the case of it carries no meaning."""

    def parse(found: object) -> str:
        text = read_text(found).lower() if lower else read_text(found)
        if expression.fullmatch(text) is None:
            raise SpellingError
        return text

    return Spelling(parse, allowed)


def whole(low: int, high: int | None = None) -> Spelling:
    """An integer within bounds; a text of digits counts, so that `${NAME}` can give one."""
    allowed = f"integer, {low} or more" if high is None else f"integer from {low} to {high}"

    def parse(found: object) -> int:
        if isinstance(found, str) and _WHOLE.fullmatch(found.strip()):
            number = int(found)
        elif isinstance(found, int) and not isinstance(found, bool):
            number = found
        elif isinstance(found, float) and found.is_integer():
            number = int(found)
        else:
            raise SpellingError
        if number < low or (high is not None and number > high):
            raise SpellingError
        if number > MOST_COUNTED:
            raise SpellingError(f"it is more than {MOST_COUNTED}")
        return number

    return Spelling(parse, allowed)


def word(
    parse: Callable[[str], object | None], options: tuple[str, ...], *, also: str = "", write: Writer = str
) -> Spelling:
    """One of a set of words that core knows how to read."""

    def read(found: object) -> object:
        value = parse(found) if isinstance(found, str) else None
        if value is None:
            raise SpellingError
        return value

    allowed = f"{one_of(options)} ({also})" if also else one_of(options)
    return Spelling(read, allowed, write, tuple(str(option) for option in options))


def duration(*, bare: str | None = None, off: bool = False, least: int = 0) -> Spelling:
    """A duration; `bare` is the unit of a number without one, `off` lets `false` mean none."""
    words = ["duration such as `30m` (`ms`, `s`, `m`, `h`, `d`)"]
    words += [f"a bare number counts {_UNIT_NAMES[bare]}"] if bare else []
    words += ["not `0`"] if least else []
    words += ["`false` or 0 for never"] if off else []

    def parse(found: object) -> Duration | None:
        if off and found is False:
            return None
        length = Duration.parse(found, bare)
        if off and length == Duration(0):
            return None
        if length.milliseconds < least:
            raise SpellingError
        return length

    return Spelling(parse, ", ".join(words), lambda length: False if length is None else str(length))


def _path_template(found: object) -> str:
    text = read_text(found)
    if set(_PLACEHOLDER.findall(text)) - {"{agentId}"}:
        raise SpellingError
    return text


def _main_name(found: object) -> str:
    """A name whose key reads back as that name: not one that means another kind of session."""
    name = read_text(found)
    try:
        key = SessionKey.named("main", name)
    except InvalidInput:
        raise SpellingError from None
    if (
        name.lower() in _RESERVED
        or ":" in name
        or str(key) != f"agent:main:{name}"
        or SessionKey.parse(str(key)) != key
    ):
        raise SpellingError
    return name


def _size(found: object) -> ByteSize:
    return ByteSize.parse(found)


def _price(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < float("inf"):
        raise SpellingError
    return float(found)


def _zone_name(found: object) -> str:
    name = read_text(found)
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise SpellingError from None
    return name


Text: TypeAlias = Annotated[str, Spelling(read_text, "text")]
ZoneName: TypeAlias = Annotated[str, Spelling(_zone_name, "time zone name such as `Europe/Berlin`")]
PathTemplate: TypeAlias = Annotated[
    str, Spelling(_path_template, "path, with `{agentId}` if it differs by agent")
]
MainName: TypeAlias = Annotated[str, Spelling(_main_name, "name that no other kind of session has")]
PersonName: TypeAlias = Annotated[str, pattern(_PERSON, "name without `:`")]
Flag: TypeAlias = Annotated[bool, Strict()]
Count: TypeAlias = Annotated[int, whole(0)]
Positive: TypeAlias = Annotated[int, whole(1)]
Hour: TypeAlias = Annotated[int, whole(0, 23)]
Port: TypeAlias = Annotated[int, whole(1, 65535)]
Size: TypeAlias = Annotated[
    ByteSize, Spelling(_size, "size such as `10gb` (`b`, `kb`, `mb`, `gb`, `tb`)", str)
]
Span: TypeAlias = Annotated[Duration, duration()]
Days: TypeAlias = Annotated[Duration, duration(bare="d", least=1)]
DaysOrNever: TypeAlias = Annotated[Duration | None, duration(bare="d", off=True)]
HoursOrNever: TypeAlias = Annotated[Duration | None, duration(bare="h", off=True)]
Price: TypeAlias = Annotated[float, Spelling(_price, "number, 0 or more")]
ClockTime: TypeAlias = Annotated[str, pattern(_CLOCK, "time of day such as `08:00`")]
ChannelName: TypeAlias = Annotated[str, pattern(_CHANNEL, "channel name in lower case")]
AccountName: TypeAlias = Annotated[str, pattern(_ACCOUNT, "account id", lower=True)]
AnyCaseChannel: TypeAlias = Annotated[str, pattern(_CHANNEL, "channel name", lower=True)]
AgentId: TypeAlias = Annotated[str, pattern(_AGENT, "agent id (`a`-`z`, `0`-`9`, `_`, `-`)", lower=True)]
AgentName: TypeAlias = Annotated[str, pattern(_AGENT, "agent id in lower case")]
Chat: TypeAlias = Annotated[ChatType, word(ChatType.parse, tuple(ChatType), also="also `dm` for `direct`")]
Texts: TypeAlias = tuple[Text, ...]
