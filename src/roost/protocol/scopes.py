"""A scope that a request needs and its connection has not, as clients are told."""

from roost.core.grants import EVERY, Role, Scope, grant, holds
from roost.protocol.frames import ErrorCode, Failure

__all__ = ["EVERY", "NOT_THE_OWNER", "Role", "Scope", "grant", "holds", "missing", "wrong_role"]


NOT_THE_OWNER = Failure(
    code=ErrorCode.FORBIDDEN, message="this is for the owner of the gateway", details={"code": "forbidden"}
)


def missing(needed: Scope) -> Failure:
    return Failure(
        code=ErrorCode.FORBIDDEN,
        message=f"missing scope: {needed}",
        details={"code": "MISSING_SCOPE", "missingScope": str(needed), "requiredScopes": [str(needed)]},
    )


def wrong_role(needed: Role) -> Failure:
    return Failure(
        code=ErrorCode.FORBIDDEN,
        message=f"this is for clients of the role {needed}",
        details={"code": "WRONG_ROLE", "requiredRole": str(needed)},
    )
