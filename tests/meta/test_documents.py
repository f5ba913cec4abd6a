"""What the documents say about the repository is true."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import pytest

from roost import __version__
from tests.meta import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## \[?([^\]\s]+)\]?", re.MULTILINE)
ANCHOR = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMANDS = {"run", "test"}
GUIDE_LINES = 80


def documents() -> dict[str, str]:
    return {path: text for path, text in tree.text_files().items() if path.endswith(".md")}


def anchors(text: str) -> set[str]:
    """The names by which headings are linked to."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in ANCHOR.findall(FENCE.sub("", text)))
    return {title.strip().replace(" ", "-") for title in titles}


def dead_links(texts: Mapping[str, str], present: set[str]) -> Iterator[str]:
    for path, text in texts.items():
        for link in LINK.findall(FENCE.sub("", text)):
            if re.match(r"[a-z]+:", link):
                continue
            where, _, anchor = link.partition("#")
            target = _joined(path, where) if where else path
            if target not in present:
                yield f"{path}: {link} leads nowhere"
            elif anchor and target in texts and anchor not in anchors(texts[target]):
                yield f"{path}: {link} names no heading"


def _joined(path: str, link: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / link).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def make_targets(text: str) -> set[str]:
    """Every `make <target>` a reader is told to type."""
    return set(re.findall(r"(?:`|^\s*)make ([\w-]+)", text, re.MULTILINE))


def defined_targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))


def newest_version(changelog: str) -> str:
    found = HEADING.search(changelog)
    return found.group(1) if found else ""


def test_every_link_between_documents_leads_somewhere() -> None:
    files = set(tree.text_files())
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    pictures = {path.relative_to(tree.ROOT).as_posix() for path in (tree.ROOT / "docs/images").iterdir()}
    tree.assert_none(dead_links(documents(), files | folders | pictures))


def test_the_readme_names_exactly_the_two_commands() -> None:
    assert make_targets(documents()["README.md"]) == COMMANDS


def test_every_command_named_in_a_document_exists() -> None:
    defined = defined_targets(tree.text_files()["Makefile"])
    named = set().union(*(make_targets(text) for text in documents().values()))
    assert named <= defined
    assert defined >= COMMANDS | {"check", "soak", "bench", "requirements"}


def test_the_guide_stays_short() -> None:
    assert documents()["AGENTS.md"].count("\n") <= GUIDE_LINES


def test_the_changelog_begins_with_this_version() -> None:
    assert newest_version(documents()["CHANGELOG.md"]) in {"Unreleased", __version__}


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = sorted(path.split("/")[-1][:4] for path in documents() if path.startswith("docs/decisions/"))
    assert len(set(numbers)) == len(numbers)
    assert all(re.fullmatch(r"\d{4}", number) for number in numbers)


@pytest.mark.parametrize("link", ["missing.md", "../README.md", "other.md#no-such-heading", "#nowhere"])
def test_a_dead_link_is_found(link: str) -> None:
    texts = {"docs/a.md": f"See [this]({link}).", "docs/other.md": "# A heading: here\n"}
    assert len(list(dead_links(texts, set(texts)))) == 1


@pytest.mark.parametrize(
    "link",
    ["other.md", "./other.md#a-heading-here", "../docs/other.md", "https://sqlite.org/wal.html", "#top"],
)
def test_a_living_link_passes(link: str) -> None:
    texts = {
        "docs/a.md": f"# Top\nSee [this]({link}).\n```\n[not](a-link.md)\n```\n",
        "docs/other.md": "# A heading: here\n",
    }
    tree.assert_none(dead_links(texts, set(texts)))


def test_commands_are_read_from_code_and_not_from_prose() -> None:
    assert make_targets("To make sense, type `make run` or\n\n    make test SCALE=full\n") == {"run", "test"}


def test_the_newest_heading_of_a_changelog_is_read() -> None:
    assert newest_version("# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n") == "Unreleased"
    assert newest_version("# Changelog\n\n## 0.2.0 - 2026-01-01\n") == "0.2.0"
    assert newest_version("# Changelog\n") == ""
