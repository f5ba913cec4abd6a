"""The description of the pages is that of the pages there are."""

import runpy
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from roost.server import http
from roost.server.http import openapi
from roost.server.http.offers import Offer
from roost.server.http.openapi import EVERY, text

PAGE = Path(__file__).parents[4] / "docs" / "openapi.json"


def test_the_committed_description_is_the_one_the_pages_give() -> None:
    assert PAGE.read_text() == text(), "run: python -m roost.server.http.openapi > docs/openapi.json"


def test_the_description_is_printed_by_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(openapi.__file__, run_name="__main__")
    assert capsys.readouterr().out == text()


def test_every_page_that_is_offered_is_described() -> None:
    modules = [import_module(f"{http.__name__}.{found.name}") for found in iter_modules(http.__path__)]
    offered = [value for module in modules for value in vars(module).values() if isinstance(value, Offer)]
    assert [offer.paths for offer in offered if offer not in EVERY] == []
