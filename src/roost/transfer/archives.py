"""One file with parts in it, each known by its hash. What is in the parts is nobody's business here.

One that comes from outside is looked at before any of it is believed, and nothing of it ever becomes a path.
"""

import hashlib
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeAlias, cast

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, JsonValue, as_object, compact
from roost.transfer.folders import Folder
from roost.transfer.lines import MIB, Limits, read_whole

FORMAT, VERSION = "roost-session-bundle", 1
MANIFEST = "manifest.json"
MOST_DIRECTORY = 16 * MIB

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)
_WRITTEN_AT = (1980, 1, 1, 0, 0, 0)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
# The last record of a file, which says how large the list of its parts is; one before it may say otherwise.
_END, _ELSEWHERE = b"PK\5\6", b"PK\6\7"
_END_FORM, _ELSEWHERE_BYTES = struct.Struct("<4s4H2LH"), 20
_LONGEST_END = _END_FORM.size + 0xFFFF
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)

Write: TypeAlias = Callable[[bytes], None]


class Packer:
    """Writes an archive, part by part, and last what each must be. One that is left before that is none."""

    def __init__(self, out: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, allowZip64=False)
        self._parts: dict[str, JsonValue] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(zipfile.LargeZipFile, OSError, ValueError):
            self._zip.close()

    @contextmanager
    def part(self, name: str) -> Iterator[Write]:
        digest, size = hashlib.sha256(), 0

        def write(content: bytes) -> None:
            nonlocal size
            digest.update(content)
            size += len(content)
            part.write(content)

        with _fitting(), self._zip.open(_info(name), "w") as part:
            yield write
        self._parts[name] = {"sha256": digest.hexdigest(), "bytes": size}

    def close(self, said: JsonObject) -> None:
        """With the manifest, which says this besides."""
        manifest: JsonObject = {"format": FORMAT, "version": VERSION, **said, "parts": self._parts}
        with _fitting():
            self._zip.writestr(_info(MANIFEST), compact(manifest))
            self._zip.close()


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _WRITTEN_AT)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


@contextmanager
def _fitting() -> Iterator[None]:
    try:
        yield
    except zipfile.LargeZipFile as error:
        raise Conflict(
            f"that is too large for one file: {error}", hint="take a session further down"
        ) from None


class Archive:
    """One that was opened, and whose parts were compared with their hashes."""

    def __init__(self, opened: zipfile.ZipFile, manifest: JsonObject, parts: frozenset[str]) -> None:
        self._zip = opened
        self.manifest = manifest
        self.parts = parts

    @contextmanager
    def part(self, name: str) -> Iterator[BinaryIO]:
        """One that is there."""
        with self._zip.open(name) as stream:
            yield cast(BinaryIO, stream)


@contextmanager
def opened_archive(path: Path, limits: Limits) -> Iterator[Archive]:
    """A file that somebody gave. Whatever is wrong with it is `InvalidInput`, before the block is entered."""
    with Folder.open(path.parent) as folder, _file(folder, path) as stream:
        try:
            _refuse_crowd(stream)
            opened = zipfile.ZipFile(stream)
            parts = _parts(opened, limits)
            manifest = _manifest(opened, parts, limits)
            _compare(opened, manifest, parts - {MANIFEST})
        except _BROKEN as error:
            raise _refused(str(error) or "it is damaged") from None
        yield Archive(opened, manifest, parts - {MANIFEST})


def _file(folder: Folder, path: Path) -> BinaryIO:
    try:
        return folder.file(path.name)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", hint="name a bundle") from None


def _refused(why: str) -> InvalidInput:
    return InvalidInput(
        f"that is no bundle to be trusted: {why}", hint="nothing was read; bundle the session again"
    )


def _refuse_crowd(stream: BinaryIO) -> None:
    """Before the list of parts is read, however long it says it is."""
    size = stream.seek(0, 2)
    start = max(0, size - _LONGEST_END)
    stream.seek(start)
    tail = stream.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_FORM.size:
        raise _refused("it is no archive")
    directory = _END_FORM.unpack_from(tail, place)[5]
    elsewhere = tail[max(0, place - _ELSEWHERE_BYTES) : place].startswith(_ELSEWHERE)
    if elsewhere or directory > MOST_DIRECTORY:
        raise _refused("it has too many parts")


def _parts(opened: zipfile.ZipFile, limits: Limits) -> frozenset[str]:
    names: set[str] = set()
    total = 0
    for info in opened.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        plain = (
            kind in (0, stat.S_IFREG) and not info.flag_bits & _ENCRYPTED and info.compress_type in _METHODS
        )
        if not _NAME.fullmatch(info.filename) or info.filename in names or not plain:
            raise _refused("a part of it is no plain file with a name of its own")
        names.add(info.filename)
        total += info.file_size
    if total > limits.file_bytes:
        raise _refused(f"it has more than {limits.file_bytes} bytes")
    return frozenset(names)


def _manifest(opened: zipfile.ZipFile, parts: frozenset[str], limits: Limits) -> JsonObject:
    if MANIFEST not in parts:
        raise _refused("it has no manifest")
    with opened.open(MANIFEST) as stream:
        said = read_object(read_whole(cast(BinaryIO, stream), limits.index_bytes).decode())
    if isinstance(said, Malformed) or said.get("format") != FORMAT:
        raise _refused("its manifest is of something else")
    if said.get("version") != VERSION:
        raise InvalidInput(
            f"the bundle has version {said.get('version')}, and this Roost reads {VERSION}",
            hint="read it with the Roost that wrote it, or a newer one",
        )
    return said


def _compare(opened: zipfile.ZipFile, manifest: JsonObject, parts: frozenset[str]) -> None:
    wanted = as_object(manifest.get("parts"))
    if wanted.keys() != parts:
        raise _refused("its manifest names other parts than there are")
    for name, said in wanted.items():
        if _measured(opened, name) != as_object(said):
            raise _refused(f"{name} is not as it was written")


def _measured(opened: zipfile.ZipFile, name: str) -> Mapping[str, JsonValue]:
    digest, size = hashlib.sha256(), 0
    with opened.open(name) as stream:
        while content := stream.read(MIB):
            digest.update(content)
            size += len(content)
    return {"sha256": digest.hexdigest(), "bytes": size}
