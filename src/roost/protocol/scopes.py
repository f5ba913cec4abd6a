"""A scope that a request needs and its connection has not, as clients are told."""

from roost.core.grants import EVERY, Scope, grant, holds
from roost.protocol.frames import ErrorCode, Failure

__all__ = ["EVERY", "Scope", "grant", "holds", "missing"]


def missing(needed: Scope) -> Failure:
    return Failure(
        code=ErrorCode.FORBIDDEN,
        message=f"missing scope: {needed}",
        details={"code": "MISSING_SCOPE", "missingScope": str(needed), "requiredScopes": [str(needed)]},
    )
