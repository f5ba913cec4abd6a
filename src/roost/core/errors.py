"""Every error a caller may decide on, each with a stable code.

    RoostError
    ├── InvalidInput        invalid_input       the request itself is wrong
    ├── NotFound            not_found           no such row, or not yours
    ├── Forbidden           forbidden           yours to see, not to do
    ├── Conflict            conflict            the row changed since you read it
    │   └── KeyTaken        conflict            the key of this request is that of another one
    ├── Fenced              fenced              the claim or lease is no longer held
    ├── Undelivered         undelivered         a message did not arrive, or nobody knows
    ├── LeaseHeld           lease_held          another gateway owns the store
    ├── StoreUnavailable    store_unavailable   nothing was written, try again
    │   └── WriteUnknown    write_unknown       nobody can say whether it was written
    ├── StoreCorrupt        store_corrupt       the file is not a healthy Roost store
    └── ConfigInvalid       config_invalid      the configuration was refused

The message says what happened; `hint` says what to do.
"""

from typing import ClassVar


class RoostError(Exception):
    """Something a caller can act on."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    @property
    def finest(self) -> str:
        """The finest code that is known."""
        return self.code


class InvalidInput(RoostError):
    """The request itself is wrong; nothing was written."""

    code = "invalid_input"


class NotFound(RoostError):
    """No such row, or not one this caller may know of."""

    code = "not_found"


class Forbidden(RoostError):
    """The caller may not do this."""

    code = "forbidden"


class Conflict(RoostError):
    """The row changed since the caller read it."""

    code = "conflict"
    retryable = True


class KeyTaken(Conflict):
    """Under the key of this request something else was asked for before; nothing was written."""

    retryable = False


class Fenced(RoostError):
    """The claim or lease behind this write is no longer held."""

    code = "fenced"


class Undelivered(RoostError):
    """A message did not arrive where it was sent, or nobody knows whether it did."""

    code = "undelivered"


class LeaseHeld(RoostError):
    """Another gateway owns the store."""

    code = "lease_held"
    retryable = True


class StoreUnavailable(RoostError):
    """The store could not commit; nothing of this request was written."""

    code = "store_unavailable"
    retryable = True


class WriteUnknown(StoreUnavailable):
    """The store was lost while it committed: this request was written whole, or nothing of it."""

    code = "write_unknown"
    retryable = False


class StoreCorrupt(RoostError):
    """The file is not a healthy Roost store."""

    code = "store_corrupt"


class ConfigInvalid(RoostError):
    """The configuration was refused; the running one stays in force."""

    code = "config_invalid"
