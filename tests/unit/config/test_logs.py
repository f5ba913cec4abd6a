"""`logging` in the configuration."""

import logging

from roost.config.logs import ConsoleStyle, Logging, LogLevel
from tests.unit.config.given import settings


def test_a_gateway_keeps_what_it_does_and_warns_on_the_terminal() -> None:
    found = settings({}).logging
    assert found == Logging()
    assert found.level.number == logging.INFO
    assert found.console_level.number == logging.WARNING
    assert found.console_style is ConsoleStyle.TEXT


def test_levels_are_those_of_lines() -> None:
    found = settings({"logging": {"level": "error", "consoleLevel": "debug", "consoleStyle": "json"}}).logging
    assert (found.level.number, found.console_level) == (logging.ERROR, LogLevel.DEBUG)
