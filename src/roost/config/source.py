"""Where the configuration comes from: one JSON5 file and the environment."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from roost.config.agents import Agent
from roost.config.document import Document, fill
from roost.config.gateway import TOKEN_FILE
from roost.config.plainfiles import Unfit, read_plain
from roost.config.problems import ConfigRefused, Problem, path_text
from roost.config.remarks import Remark, remarks_on
from roost.config.secretfields import OTHERS, Surroundings, open_to_others
from roost.config.section import Loc
from roost.config.settings import Settings
from roost.config.syntax import parse
from roost.config.validation import agreed, validate
from roost.core.secrets import Secret

HOME, FILE, DATABASE = "ROOST_HOME", "ROOST_CONFIG", "ROOST_DATABASE_URL"
TOKEN, PASSWORD = "ROOST_GATEWAY_TOKEN", "ROOST_GATEWAY_PASSWORD"
# As every program of the host reads it.
ZONE = "TZ"
STORE_FILE = "roost.db"
_LARGEST = 4 << 20
_OVERRIDES: Mapping[str, Loc] = {
    TOKEN: ("gateway", "auth", "token"),
    PASSWORD: ("gateway", "auth", "password"),
    DATABASE: ("database",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the settings were read from; `variables` are the overriding ones that were set,
    `credentials` the files that hold some, and `zone` what the environment says of the host's time zone."""

    home: Path
    file: Path
    exists: bool
    variables: tuple[str, ...]
    user: Path
    credentials: tuple[Path, ...] = ()
    zone: str | None = None

    def resolve(self, path: str) -> Path:
        """A path as the configuration writes it: `~` is the user's home, the rest lies below `ROOST_HOME`."""
        return self.home / _from_user(self.user, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings in which nothing is wrong, and what their owner should hear about them."""

    settings: Settings
    warnings: tuple[Remark, ...]
    sources: Sources
    read_again: "Callable[[], Loaded]" = field(repr=False, compare=False)

    def with_change(self, change: Callable[[Settings], Settings]) -> "Loaded":
        """With what the command line says over the file, now and whenever it is read again, if the two go together."""
        settings = agreed(change(self.settings), f"{self.sources.file} with what the command line says")
        return replace(
            self,
            settings=settings,
            warnings=(*(one for one in self.warnings if not one.path), *remarks_on(settings)),
            read_again=lambda: self.read_again().with_change(change),
        )

    @property
    def token_of_process(self) -> Secret | None:
        """The gateway's token, where a variable gave it to this process."""
        return self.settings.gateway.auth.token if TOKEN in self.sources.variables else None

    @property
    def password_of_process(self) -> Secret | None:
        """The gateway's password, where a variable gave it to this process."""
        return self.settings.gateway.auth.password if PASSWORD in self.sources.variables else None

    @property
    def certificate(self) -> tuple[Path, Path] | None:
        """The files of the certificate that clients are shown, and of its key."""
        tls = self.settings.gateway.tls
        if tls.cert is None or tls.key is None:
            return None
        return self.sources.resolve(tls.cert), self.sources.resolve(tls.key)

    def transcript_folder(self, agent: str) -> Path | None:
        """Where the transcripts of an agent lie as files, if the configuration puts them anywhere."""
        template = self.settings.session.mirror or self.settings.session.store
        if template is None:
            return None
        written = self.sources.resolve(template.replace("{agentId}", agent))
        return written.parent if written.suffix == ".json" else written

    def workspace(self, agent: Agent) -> Path:
        """The folder of an agent's files."""
        sources = self.sources
        return sources.resolve(agent.workspace) if agent.workspace else sources.home / "workspace" / agent.id

    def kept_in(self, folder: Path) -> Path | None:
        """What lies in a folder, wherever links lead, and is for no agent: the gateway's state and credentials."""
        real = Path(os.path.realpath(folder))
        return next(
            (one for one in self._private() if any(at.is_relative_to(real) for at in _ends(one))), None
        )

    def _private(self) -> Iterator[Path]:
        sources = self.sources
        yield from (sources.home, sources.file, sources.home / TOKEN_FILE, sources.home / STORE_FILE)
        yield from sources.credentials
        if self.certificate is not None:
            yield self.certificate[1]


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """An environment; the file that it names is read anew by each `read`."""

    environ: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        empty = [name for name in (HOME, FILE, *_OVERRIDES) if self.environ.get(name, "set").strip() == ""]
        if empty:
            problems = [Problem(path=name, reason="empty; give it a value or unset it") for name in empty]
            raise ConfigRefused("the environment", problems)

    @property
    def home(self) -> Path:
        """The folder of all state."""
        return _from_user(self._user, self.environ.get(HOME, "~/.roost")).absolute()

    @property
    def _user(self) -> Path:
        return Path(self.environ["HOME"]) if self.environ.get("HOME") else Path.home()

    @property
    def file(self) -> Path:
        return self.resolve(self.environ[FILE]) if FILE in self.environ else self.home / "roost.json"

    def resolve(self, path: str) -> Path:
        """As `Sources.resolve`."""
        return self.home / _from_user(self._user, path)

    def read(self) -> Loaded:
        """The settings as they are now, or `ConfigRefused` with all that is wrong; a missing file means defaults, unless
        it was named."""
        loaded = self.draft()
        if FILE in self.environ and not loaded.sources.exists:
            raise self._unreadable(f"{FILE} names it, and it does not exist; make it, or unset {FILE}")
        return loaded

    def _read_again(self) -> Loaded:
        """The same for who goes by a file that was there: one that an editor just replaces is not the defaults."""
        loaded = self.read()
        if not loaded.sources.exists:
            raise self._unreadable("it was there and is gone; put it back, or write `{}` for the defaults")
        return loaded

    def draft(self) -> Loaded:
        """The same for who is about to write the file, be it there or not."""
        text = self.text()
        return self.interpret("{}" if text is None else text, exists=text is not None)

    def interpret(self, text: str, *, exists: bool) -> Loaded:
        """The settings that `text` would give as the file's content."""
        value, problems = parse(text)
        if problems:
            raise ConfigRefused(str(self.file), problems)
        document = fill(value, self.environ)
        variables = tuple(name for name in _OVERRIDES if name in self.environ)
        for name in variables:
            _override(document, _OVERRIDES[name], self.environ[name])
        around = Surroundings(environ=self.environ, resolve=self.resolve)
        settings, refused = validate(document, around)
        if settings is None:
            raise ConfigRefused(str(self.file), refused)
        loaded = Loaded(
            settings=settings,
            warnings=(*(Remark(path="", text=text) for text in around.remarks), *remarks_on(settings)),
            sources=Sources(
                home=self.home,
                file=self.file,
                exists=exists,
                variables=variables,
                user=self._user,
                credentials=tuple(around.files),
                zone=self.environ.get(ZONE),
            ),
            read_again=self._read_again if exists else self.read,
        )
        if broad := _broad(loaded):
            raise ConfigRefused(str(self.file), broad)
        return replace(loaded, warnings=(*_open_key(loaded), *loaded.warnings))

    def text(self) -> str | None:
        """What the file says, right or wrong; None where there is none."""
        try:
            content, _ = read_plain(self.file, _LARGEST, "a configuration")
            return content.decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except Unfit as unfit:
            reason = f"it {unfit}"
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 at byte {error.start}"
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
        raise self._unreadable(reason)

    def _unreadable(self, reason: str) -> ConfigRefused:
        return ConfigRefused(str(self.file), [Problem(path="the file", reason=reason)])


def _broad(loaded: Loaded) -> tuple[Problem, ...]:
    """The workspaces that would give an agent what is the gateway's own, each setting once."""
    agents, problems = loaded.settings.agents, dict[str, Problem]()
    for agent in agents.list:
        folder = loaded.workspace(agent)
        kept = loaded.kept_in(folder)
        if kept is not None:
            usual = agent.workspace is not None and agent.workspace == agents.defaults.workspace
            loc: Loc = ("agents", "defaults") if usual else ("agents", "list", agent.id)
            path = path_text((*loc, "workspace"))
            reason = (
                f"{kept} lies in {folder} and is for no agent; name a folder that holds agents' files only"
            )
            problems.setdefault(path, Problem(path=path, reason=reason))
    return tuple(problems.values())


def _open_key(loaded: Loaded) -> Iterator[Remark]:
    """A key that is not there is named by who needs it."""
    if loaded.certificate is None:
        return
    key = loaded.certificate[1]
    try:
        mode = key.stat().st_mode
    except OSError:
        return
    if mode & OTHERS:
        yield Remark(path="", text=open_to_others(key))


def _ends(path: Path) -> tuple[Path, Path]:
    """Where a file is, and where its name is: who can replace a link needs no file."""
    return Path(os.path.realpath(path)), Path(os.path.realpath(path.parent)) / path.name


def _from_user(user: Path, path: str) -> Path:
    return user / path[2:] if path == "~" or path.startswith("~/") else Path(path)


def _override(document: Document, loc: Loc, value: str) -> None:
    """Put a variable's value in its place, unless what stands around the place is wrong anyway."""
    parent = document.value
    for part in loc[:-1]:
        parent = parent.setdefault(part, {}) if isinstance(parent, dict) else None
    if isinstance(parent, dict):
        parent[loc[-1]] = value
        document.hidden.add(loc)


def load(environ: Mapping[str, str]) -> Loaded:
    """The configuration that an environment names."""
    return ConfigSource(environ).read()


def from_environment() -> ConfigSource:
    """The source that this process was started with."""
    return ConfigSource(dict(os.environ))  # noqa: TID251 — the one place that reads the environment
