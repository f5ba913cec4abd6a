"""What every section of the settings is: frozen, closed, written in camelCase, each key described."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

Loc: TypeAlias = tuple[str | int, ...]


class Takes(StrEnum):
    """When a changed key takes effect in a running gateway."""

    AT_ONCE = "at once"
    NEXT_RUN = "next run"
    RESTART = "restart"


def about(description: str, takes: Takes | None = None) -> Any:
    """The sentence of the reference page; `takes` holds for everything below unless said again."""
    return Field(description=description, json_schema_extra={"takes": takes.value} if takes else None)


class Section(BaseModel):
    """One object of the file. Two keys that cannot stand together are named by `conflicts`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        """Where the keys of this section contradict each other, and how."""
        return ()

    @model_validator(mode="after")
    def _refuse_conflicts(self) -> Self:
        details = [
            InitErrorDetails(
                type=PydanticCustomError("conflict", "{reason}", {"reason": reason}), loc=loc, input=None
            )
            for loc, reason in self.conflicts()
        ]
        if details:
            raise ValidationError.from_exception_data(type(self).__name__, details)
        return self


S = TypeVar("S", bound=Section)


def over(base: S, own: S) -> S:
    """`base` with the keys that `own` was given."""
    return base.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
