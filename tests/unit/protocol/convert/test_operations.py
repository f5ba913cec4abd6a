"""Deliveries, leases and findings as clients are shown them."""

from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.findings import Finding, Severity
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.protocol.convert.operations import SHOWN_CHARS, audit_result, delivery_row, lease_row
from roost.scanners.stdlib import StdlibScanner

MAIN = SessionKey.named("main", "main")


def delivery(text: str, error: str | None = None) -> Delivery:
    return Delivery(
        id="d1",
        key=MAIN,
        address=Address(channel="loopback", to="ada"),
        kind=DeliveryKind.REPLY,
        text=text,
        created_at=5,
        state=DeliveryState.FAILED,
        error=error,
    )


def test_a_delivery_is_shown_by_its_first_words_without_secrets() -> None:
    row = delivery_row(delivery("sk-ant-api03-" + "a" * 95 + " " + "x" * 900, "gone"), StdlibScanner())
    text = row["text"]
    assert isinstance(text, str)
    assert len(text) == SHOWN_CHARS
    assert "sk-ant-api03-aaaaaaaa" not in text
    assert (row["state"], row["to"], row["error"]) == ("failed", "ada", "gone")
    assert "error" not in delivery_row(delivery("hello"), StdlibScanner())


def test_a_lease_says_whether_it_holds() -> None:
    lease = Lease(gateway=Gateway(name="g", holder="p", address="ws://x"), epoch=2, expires_at=10)
    assert lease_row(lease, 9)["live"] is True
    assert lease_row(lease, 10)["live"] is False


def test_findings_are_counted_and_all_is_well_without_critical_ones() -> None:
    warned = Finding(id="a", severity=Severity.WARN, text="t", setting="s", fix="f")
    critical = Finding(id="b", severity=Severity.CRITICAL, text="t", setting="s", fix="f")
    assert audit_result([warned])["ok"] is True
    found = audit_result([critical, warned])
    assert (found["ok"], found["summary"]) == (False, {"critical": 1, "warn": 1, "info": 0})
    assert found["findings"][0]["checkId"] == "b"
