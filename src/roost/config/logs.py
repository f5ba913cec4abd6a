"""`logging`: what a gateway writes down of its work."""

import logging
from enum import StrEnum
from typing import Annotated

from roost.config.amounts import ByteSize
from roost.config.section import Section, about
from roost.config.spelling import Size


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"

    @property
    def number(self) -> int:
        return logging.getLevelNamesMapping()[self.upper()]


class ConsoleStyle(StrEnum):
    TEXT = "text"
    JSON = "json"


class Logging(Section):
    level: Annotated[LogLevel, about("From which level on lines are kept in `logs/gateway.log`.")] = (
        LogLevel.INFO
    )
    console_level: Annotated[LogLevel, about("From which level on lines go to the error output.")] = (
        LogLevel.WARN
    )
    console_style: Annotated[ConsoleStyle, about("The form of those lines.")] = ConsoleStyle.TEXT
    max_file_bytes: Annotated[
        Size, about("Size at which the file is put aside; the last three are kept.")
    ] = ByteSize.parse("10mb")
