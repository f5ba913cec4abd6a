"""One file with parts: as it was written, or refused."""

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.jsonvalue import JsonValue, compact
from roost.transfer.archives import FORMAT, MANIFEST, VERSION, Packer, opened_archive
from roost.transfer.lines import Limits

SMALL = Limits(file_bytes=10_000, index_bytes=2_000)


def written(path: Path, **parts: bytes) -> Path:
    with path.open("wb") as out, Packer(out) as packer:
        for name, content in parts.items():
            with packer.part(name) as write:
                for byte in content:
                    write(bytes([byte]))
        packer.close({"root": "here"})
    return path


def forged(path: Path, *parts: tuple[zipfile.ZipInfo | str, bytes], manifest: JsonValue = None) -> Path:
    """An archive that our own would not be."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in parts:
            out.writestr(name, content)
        if manifest is not None:
            out.writestr(MANIFEST, compact(manifest))
    return path


def named(parts: dict[str, JsonValue]) -> JsonValue:
    return {"format": FORMAT, "version": VERSION, "parts": parts}


def refused(path: Path, match: str, limits: Limits = SMALL) -> None:
    with pytest.raises(InvalidInput, match=match), opened_archive(path, limits):
        pytest.fail("it was opened")


def test_parts_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = written(tmp_path / "b", one=b"hello\nyou", two=b"")
    with opened_archive(path, SMALL) as archive:
        assert archive.parts == {"one", "two"}
        assert archive.manifest["root"] == "here"
        with archive.part("one") as stream:
            assert stream.readline() == b"hello\n"
    assert path.read_bytes() == written(tmp_path / "c", one=b"hello\nyou", two=b"").read_bytes()


@pytest.mark.requirement("F12")
def test_no_byte_can_be_changed_or_lost(tmp_path: Path) -> None:
    part = os.urandom(200)
    content = written(tmp_path / "b", one=part).read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x41
        (tmp_path / "c").write_bytes(changed)
        try:
            with opened_archive(tmp_path / "c", SMALL) as archive, archive.part("one") as stream:
                # What is not the content of a part may be another: a moment, a version, a flag.
                assert stream.read() == part
                assert archive.manifest["root"] == "here"
        except InvalidInput:
            pass
    for size in range(len(content)):
        (tmp_path / "c").write_bytes(content[:size])
        refused(tmp_path / "c", "no bundle")


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def squeezed(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_BZIP2
    return info


@pytest.mark.parametrize(
    "part",
    [
        "../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "..",
        ".hidden",
        "x" * 300,
        "ä",
        "a\nb",
        link("x"),
        squeezed("x"),
        "folder/",
    ],
)
def test_a_part_is_a_plain_file_with_a_plain_name(tmp_path: Path, part: zipfile.ZipInfo | str) -> None:
    refused(forged(tmp_path / "b", (part, b"x"), manifest=named({})), "no plain file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_two_parts_have_one_name(tmp_path: Path) -> None:
    refused(forged(tmp_path / "b", ("x", b"1"), ("x", b"2"), manifest=named({})), "no plain file")


def test_an_encrypted_part_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "b", one=b"x")
    content = bytearray(path.read_bytes())
    flags = content.index(b"PK\1\2") + 8
    content[flags] |= 1
    path.write_bytes(content)
    refused(path, "no plain file")


def test_what_swells_is_refused_before_it_does(tmp_path: Path) -> None:
    refused(forged(tmp_path / "b", ("x", b"0" * 11_000), manifest=named({})), "more than 10000 bytes")
    refused(forged(tmp_path / "c", (MANIFEST, b" " * 3_000)), "more than 2000 bytes")


def test_what_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "b", one=b"0" * 5_000)
    content = bytearray(path.read_bytes())
    struct.pack_into("<L", content, content.index(b"PK\1\2") + 24, 5)
    path.write_bytes(content)
    refused(path, "no bundle")


def with_end(change: Callable[[bytes, bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w"):
        pass
    return change(b"", out.getvalue())


@pytest.mark.parametrize(
    "content",
    [
        with_end(lambda _, end: end[:12] + struct.pack("<L", 1 << 28) + end[16:]),
        with_end(lambda _, end: b"PK\6\7" + b"\0" * 16 + end),
    ],
)
def test_a_list_of_parts_that_is_too_long_is_not_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b").write_bytes(content)
    refused(tmp_path / "b", "too many parts")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\5\6", b"x" * 100_000])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b").write_bytes(content)
    refused(tmp_path / "b", "no archive")


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (None, "no manifest"),
        ([], "of something else"),
        ({"format": "zip"}, "of something else"),
        ({"format": FORMAT, "version": 2}, "version 2"),
        (named({}), "other parts"),
        (named({"x": {}, "y": {}}), "other parts"),
        (named({"x": {}}), "not as it was written"),
        (named({"x": "abc"}), "not as it was written"),
        (named({"x": {"sha256": "0" * 64, "bytes": 1}}), "not as it was written"),
        ({"format": FORMAT, "version": 1, "parts": "x"}, "other parts"),
    ],
)
def test_a_manifest_says_what_there_is(tmp_path: Path, manifest: JsonValue, why: str) -> None:
    refused(forged(tmp_path / "b", ("x", b"x"), manifest=manifest), why)


def test_a_manifest_is_text(tmp_path: Path) -> None:
    refused(forged(tmp_path / "b", (MANIFEST, b"\xff\xfe")), "no bundle")


def test_only_a_file_that_is_there_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "plain file")
    for missing in (tmp_path / "none", tmp_path / "none" / "none"):
        with pytest.raises(NotFound), opened_archive(missing, SMALL):
            pytest.fail("it was opened")


def test_what_does_not_fit_into_one_file_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    with pytest.raises(Conflict, match="too large"):
        written(tmp_path / "b", one=b"x", two=b"y")
