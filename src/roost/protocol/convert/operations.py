"""Deliveries, leases and findings as clients are shown them."""

from collections import Counter
from collections.abc import Sequence

from roost.core.deliveries import Delivery
from roost.core.findings import Finding, Severity
from roost.core.jsonvalue import JsonObject
from roost.core.leases import Lease
from roost.core.redaction import SecretScanner, redact
from roost.protocol.families.operations import Audited

SHOWN_CHARS = 500


def delivery_row(delivery: Delivery, scanner: SecretScanner) -> JsonObject:
    """Its first words, without secrets."""
    address = delivery.address
    error: JsonObject = {} if delivery.error is None else {"error": redact(delivery.error, scanner)[0]}
    return {
        "id": delivery.id,
        "sessionKey": str(delivery.key),
        "channel": address.channel,
        "to": address.to,
        "kind": str(delivery.kind),
        "state": str(delivery.state),
        "text": redact(delivery.text, scanner)[0][:SHOWN_CHARS],
        "createdAt": delivery.created_at,
        "attempts": delivery.attempts,
        **error,
    }


def lease_row(lease: Lease, now: int) -> JsonObject:
    gateway = lease.gateway
    return {
        "name": gateway.name,
        "holder": gateway.holder,
        "address": gateway.address,
        "epoch": lease.epoch,
        "expiresAt": lease.expires_at,
        "live": lease.live(now),
    }


def audit_result(found: Sequence[Finding]) -> Audited:
    counted = Counter(one.severity for one in found)
    return Audited(
        ok=not counted[Severity.CRITICAL],
        summary={str(severity): counted[severity] for severity in Severity},
        findings=[
            {
                "checkId": one.id,
                "severity": str(one.severity),
                "detail": one.text,
                "setting": one.setting,
                "remediation": one.fix,
            }
            for one in found
        ],
    )
