"""No file of the repository leans on one machine, one mirror or a folder beside it."""

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.meta import tree

# Written so that the patterns do not find themselves.
MACHINE_BOUND = {
    "a path of one machine": re.compile(
        r"(?<![\w.])/(?:work|root|home/[a-z]\w*|Users/\w+|opt/(?:pypi|wheels))[/]"
    ),
    "a folder beside the repository": re.compile(r"\.\.[/]shared\b"),
    "a package registry": re.compile(
        r"(?:pypi[.]org|pythonhosted[.]org|registry[.]npmjs|deb[.]debian[.]org|index-url)", re.IGNORECASE
    ),
    "a conflict marker": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


def machine_bound(texts: Mapping[str, str]) -> Iterator[str]:
    for path, text in texts.items():
        for what, pattern in MACHINE_BOUND.items():
            for found in pattern.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: {what} ({found.group().strip()})"


def test_no_text_is_bound_to_one_machine() -> None:
    texts = {path: text for path, text in tree.text_files().items() if path != "tests/meta/test_texts.py"}
    tree.assert_none(machine_bound(texts))


def test_every_file_that_is_kept_is_small_and_text() -> None:
    assert all(len(text) < 500_000 for text in tree.text_files().values())


@pytest.mark.parametrize(
    "text",
    [
        "see /work/main/src",
        'open("/root/.pyenv")',
        "/home/alice/roost",
        "read ../shared/spec",
        "pip install --index-url x",
        "https://pypi.org/simple",
        "<<<<<<< HEAD\n",
    ],
)
def test_a_text_bound_to_one_machine_is_found(text: str) -> None:
    assert len(list(machine_bound({"docs/a.md": text}))) == 1


@pytest.mark.parametrize(
    "text", ["~/.roost", "/etc/roost.json", "docs/work/items", "PyPI", "$HOME/roost", "a/root/b"]
)
def test_a_text_that_fits_every_machine_passes(text: str) -> None:
    assert list(machine_bound({"docs/a.md": text})) == []
