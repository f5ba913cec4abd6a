"""Configurations as the tests of this package write them."""

from collections.abc import Mapping

import orjson
import pytest

from roost.config.problems import ConfigRefused, Problem
from roost.config.settings import Settings
from roost.config.source import ConfigSource, Loaded

ENVIRON: Mapping[str, str] = {"HOME": "/people/someone", "ROOST_HOME": "/srv/roost"}


def loaded(document: object, environ: Mapping[str, str] = ENVIRON) -> Loaded:
    """What a document gives; a text is taken as the file's content."""
    text = document if isinstance(document, str) else orjson.dumps(document).decode()
    return ConfigSource(environ).interpret(text, exists=True)


def settings(document: object, environ: Mapping[str, str] = ENVIRON) -> Settings:
    return loaded(document, environ).settings


def refused(document: object, environ: Mapping[str, str] = ENVIRON) -> dict[str, Problem]:
    """The problems of a document, by path."""
    with pytest.raises(ConfigRefused) as caught:
        loaded(document, environ)
    return {problem.path: problem for problem in caught.value.problems}
