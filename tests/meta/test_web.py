"""The build of the page that is kept is the build of its sources."""

import gzip
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tests.meta.tree import ROOT

WEB, BUILT = ROOT / "web", ROOT / "src" / "roost" / "web"
STAMP = "build.json"
ALONE = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "stamp.mjs")
FIRST_LOAD = 300_000
"""Bytes, compressed as a gateway sends them."""
REMEDY = "run `make web` and commit what it builds"


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_the_build_was_made_of_these_sources() -> None:
    sources = [*(WEB / name for name in ALONE), *files(WEB / "src"), *files(WEB / "public")]
    names = sorted(path.relative_to(WEB).as_posix() for path in sources)
    whole = sha256("".join(f"{name} {digest(WEB / name)}\n" for name in names).encode())
    assert whole.hexdigest() == json.loads((BUILT / STAMP).read_text())["sources"], REMEDY


def test_the_build_is_what_came_out_of_it() -> None:
    found = {path.relative_to(BUILT).as_posix(): digest(path) for path in files(BUILT)}
    del found[STAMP]
    assert found == json.loads((BUILT / STAMP).read_text())["files"], REMEDY


def test_the_whole_page_is_light() -> None:
    sent = [BUILT / "index.html", *files(BUILT / "assets")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in sent) <= FIRST_LOAD


def test_a_module_of_the_page_is_short() -> None:
    long = [path.name for path in files(WEB / "src") if len(path.read_text().splitlines()) > 300]
    assert not long
