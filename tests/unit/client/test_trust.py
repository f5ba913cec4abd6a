"""Whom a client speaks to."""

import hashlib
import ssl
from pathlib import Path

import pytest

from roost.client import Trust, Untrusted
from roost.client.trust import fingerprint_of, read_fingerprint
from roost.core.errors import InvalidInput
from tests.certificates import certificate

BEYOND = ["ws://192.168.1.5:18789", "ws://gateway.example:18789", "ws://[2001:db8::1]:80", "WS://10.0.0.1"]
HERE = ["ws://127.0.0.1:18789", "ws://localhost:1", "ws://[::1]:18789"]


@pytest.mark.requirement("S26")
@pytest.mark.parametrize("url", BEYOND)
def test_clear_text_beyond_this_machine_is_refused_unless_somebody_insists(url: str) -> None:
    with pytest.raises(InvalidInput, match="dangerously-allow-clear-text"):
        Trust().context(url)
    assert Trust(clear_text=True).context(url) is None


@pytest.mark.parametrize("url", HERE)
def test_within_this_machine_nobody_is_on_the_way(url: str) -> None:
    assert Trust().context(url) is None


@pytest.mark.parametrize("where", ["[::1", "127.0.0.1:99999", "127.0.0.1:x", "127.0.0.1:0"])
def test_what_is_no_address_is_refused(where: str) -> None:
    with pytest.raises(InvalidInput, match="no WebSocket address"):
        Trust().context(f"ws://{where}")


def test_without_a_fingerprint_the_authorities_of_the_system_decide() -> None:
    context = Trust().context("wss://gateway.example")
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    Trust().accept("wss://gateway.example", b"whatever they let through")


@pytest.mark.requirement("S26")
def test_with_a_fingerprint_one_certificate_is_accepted_and_no_other(tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path)
    trust = Trust(fingerprint=fingerprint_of(cert))
    context = trust.context("wss://10.0.0.1")
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE
    trust.accept("wss://10.0.0.1", ssl.PEM_cert_to_DER_cert(cert.read_text()))
    with pytest.raises(Untrusted, match="not the one"):
        trust.accept("wss://10.0.0.1", b"another")


@pytest.mark.requirement("S26")
@pytest.mark.parametrize(
    "trust", [Trust(fingerprint="00" * 32), Trust(fingerprint="00" * 32, clear_text=True)]
)
@pytest.mark.parametrize("url", [HERE[0], BEYOND[0]])
def test_a_fingerprint_where_there_is_no_certificate_is_refused(url: str, trust: Trust) -> None:
    with pytest.raises(InvalidInput, match=r"use wss://, or leave --tls-fingerprint out"):
        trust.context(url)


def test_a_fingerprint_is_read_as_tools_write_it() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    colons = ":".join(digest[i : i + 2] for i in range(0, 64, 2)).upper()
    for text in (digest, f"sha256:{digest}", colons, f"SHA256 Fingerprint={colons}"):
        assert read_fingerprint(text) == digest
    with pytest.raises(InvalidInput, match="64 hexadecimal"):
        read_fingerprint("abc")


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none.pem"
    with pytest.raises(InvalidInput, match=r"none\.pem"):
        fingerprint_of(file)
    file.write_text("nothing")
    with pytest.raises(InvalidInput, match=r"gateway\.tls\.cert"):
        fingerprint_of(file)
