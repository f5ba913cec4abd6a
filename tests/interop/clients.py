"""A real client, installed by npm into a cache folder outside the tree, with the Node that it needs."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

NODE, CLIENT = "node@24", "openclaw@2026.9.6"
FOLDER = "roost-interop"
SURROUNDINGS = MappingProxyType(dict(os.environ))  # noqa: TID251 — what programs of the machine are started with


class Missing(Exception):
    """A part of the machine that is not there, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """`home` is a folder in which it may keep what it likes."""

    folder: Path
    home: Path
    url: str
    token: str

    def command(self, *arguments: str) -> list[str]:
        return self.node(str(_script(self.folder)), *arguments)

    def node(self, *arguments: str) -> list[str]:
        return [str(_node(self.folder)), *arguments]

    @property
    def package(self) -> Path:
        return _script(self.folder).parent

    @property
    def door(self) -> tuple[str, ...]:
        return ("--url", self.url, "--token", self.token)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PATH": SURROUNDINGS["PATH"],
            "HOME": str(self.home),
            "NO_COLOR": "1",
            "TERM": "xterm-256color",
        }


def install() -> Path:
    """The cache folder, filled if it was empty."""
    base = SURROUNDINGS.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / FOLDER
    if not _script(folder).exists():
        if shutil.which("npm") is None:
            raise Missing("npm is not there: install Node.js, of any version, with npm")
        _npm(folder / "node", NODE)
        _npm(folder / "client", CLIENT, path=_node(folder).parent)
    return folder


def terminal() -> str:
    """A terminal that a program can look at."""
    if shutil.which("tmux") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "--quiet", "--quiet", "--yes", "tmux"], check=False)
    found = shutil.which("tmux")
    if found is None:
        raise Missing("tmux is not there: install it, e.g. apt-get install tmux")
    return found


def _npm(prefix: Path, package: str, path: Path | None = None) -> None:
    prefix.mkdir(parents=True, exist_ok=True)
    search = SURROUNDINGS["PATH"] if path is None else f"{path}{os.pathsep}{SURROUNDINGS['PATH']}"
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(prefix), package]
    subprocess.run(command, env={**SURROUNDINGS, "PATH": search}, check=True)


def _node(folder: Path) -> Path:
    return folder / "node" / "node_modules" / ".bin" / "node"


def _script(folder: Path) -> Path:
    return folder / "client" / "node_modules" / "openclaw" / "openclaw.mjs"
