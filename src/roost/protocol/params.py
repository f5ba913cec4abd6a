"""Parameters of methods: closed, in the spelling of the wire, and read once."""

from typing import Annotated, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from roost.core import keys
from roost.core.errors import InvalidInput
from roost.core.figures import LONGEST_SAID
from roost.core.jsonvalue import JsonValue

P = TypeVar("P", bound=BaseModel)

LONGEST_NAME = 512
MOST_NAMES = 1_000
LONGEST_PLACE = 2_000

# Whatever a client gives is kept and told to others: no text is without an end.
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Short = Annotated[str, Field(max_length=LONGEST_NAME)]
"""As a name, but it may be empty."""
AgentId = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_NAME, strip_whitespace=True, to_lower=True)
]
Names = Annotated[tuple[Name, ...], Field(strict=False, max_length=MOST_NAMES)]
SessionName = Annotated[str, Field(min_length=1, max_length=keys.LONGEST_TEXT)]
"""A session by its key, by an alias or by its id."""
SessionOrNot = Annotated[str, Field(max_length=keys.LONGEST_TEXT)]
Place = Annotated[str, Field(min_length=1, max_length=LONGEST_PLACE)]
"""Where something is sent to: a chat, or a URL."""
Said = Annotated[str, Field(max_length=LONGEST_SAID)]
Words = Annotated[str, Field(min_length=1, max_length=LONGEST_SAID)]
"""What is said, which may not be empty."""
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Params(BaseModel):
    """No property that is not named here, no value that only looks like the right one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        # A client names many methods and calls few.
        defer_build=True,
    )


class NoParams(Params):
    pass


def read_params(method: str, kind: type[P], value: JsonValue) -> P:
    """The parameters of a call. Raises `InvalidInput` that names the first thing that is wrong."""
    try:
        return kind.model_validate({} if value is None else value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise InvalidInput(f"invalid {method} params: {_complaint(first)}") from None


def _complaint(error: ErrorDetails) -> str:
    *above, last = error["loc"] or ("",)
    match error["type"]:
        case "missing":
            return f"{_location(above)}must have required property '{last}'"
        case "extra_forbidden":
            return f"{_location(above) or 'at root: '}unexpected property '{last}'"
        case "model_type":
            return f"{_location(error['loc'])}must be object"
        case _:
            return f"{_location(error['loc'])}{error['msg'][:1].lower()}{error['msg'][1:]}"


def _location(path: "list[int | str] | tuple[int | str, ...]") -> str:
    return f"at /{'/'.join(map(str, path))}: " if path else ""
