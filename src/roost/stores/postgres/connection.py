"""Reaching the server: how it is used, connections that are ready for use, and errors a caller can act on."""

import os
import re
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import asyncpg

from roost.core.errors import InvalidInput, StoreCorrupt, StoreUnavailable
from roost.stores.postgres.rows import Connection

Pool: TypeAlias = asyncpg.Pool

OLDEST_SERVER = 14
CONNECT_SECONDS = 10
# A server that does not answer for so long is taken for lost.
ANSWER_SECONDS = 60
# What a gateway that stands still holds is let go of before its lease has run out.
IDLE_MS = 4_000
LOCK_MS = 8_000
# Under which the server lists those who work on the store.
WORKER = "roost"

# The transaction is gone, and the connection with it.
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    # It was ended while this gateway stood still: what was heard last belongs to nothing that was asked.
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
# Two of them stood in each other's way: one was undone, and can be done again.
IN_THE_WAY = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_REFUSED = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
# A parameter of the address that the driver does not know is for the server, as a setting, and the server refused it.
_NO_SETTING = (
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
)
_NO_FILE = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)
_FILES = ("sslrootcert", "sslcrl", "sslcert", "sslkey")
_UNFIT = (
    asyncpg.SyntaxOrAccessError,
    asyncpg.IntegrityConstraintViolationError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """How the server is used. `schema` is where the tables are; a pooler in between keeps nothing for a connection."""

    schema: str = "roost"
    connections: int = 10
    pooler: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.schema):
            raise InvalidInput(
                f"{self.schema!r} cannot be the name of a schema", hint="use small letters, digits and _"
            )
        if not 1 <= self.connections <= 1_000:
            raise InvalidInput(f"{self.connections} connections cannot be kept", hint="give 1 to 1000")

    def begin(self, mode: str = "") -> str:
        """How a transaction begins; said each time, for a pooler forgets it in between."""
        named = f" SET LOCAL application_name = '{WORKER}';" if self.pooler else ""
        return (
            f'BEGIN {mode}; SET LOCAL search_path = "{self.schema}"; SET LOCAL jit = off;{named}'
            f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS}; SET LOCAL lock_timeout = {LOCK_MS}"
        )


def driver_settings(options: PostgresOptions) -> dict[str, Any]:
    return {
        "timeout": CONNECT_SECONDS,
        "command_timeout": ANSWER_SECONDS,
        "statement_cache_size": 0 if options.pooler else 1_000,
    }


async def connect(address: str, **settings: Any) -> Connection:
    """A connection of its own. What is wrong with the address is told as that: trying again is no use."""
    try:
        return await asyncpg.connect(address, **settings)
    except asyncpg.ClientConfigurationError as error:
        raise InvalidInput(
            f"the database's address cannot be used: {error.args[0]}",
            hint=error.hint or "give what it takes, or leave it out",
        ) from error
    except _NO_SETTING as error:
        raise InvalidInput(
            f"the server does not take a parameter of the database's address: {error}",
            hint="an address takes schema, connections, pooler, sslmode, sslrootcert, sslcert, sslkey, sslcrl, passfile,"
            " target_session_attrs, and settings of the server such as statement_timeout",
        ) from error
    except _NO_FILE as error:
        if (named := _unreadable_file(address)) is None:
            raise
        raise InvalidInput(
            f"{named} is named in the database's address and cannot be read",
            hint="see that the path is right",
        ) from error


def _unreadable_file(address: str) -> str | None:
    given = dict(parse_qsl(urlsplit(address).query))
    paths = (
        f"{given[name]} (`{name}`)" for name in _FILES if name in given and not _is_readable(given[name])
    )
    return next(paths, None)


def _is_readable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.R_OK)


async def open_pool(address: str, options: PostgresOptions, size: int) -> Pool:
    """Connections that are made when they are needed. A pooler would refuse or forget what they are told at the start."""
    own = {"search_path": f'"{options.schema}"', "jit": "off", "application_name": WORKER}
    told = {} if options.pooler else own
    return await asyncpg.create_pool(
        address,
        min_size=0,
        max_size=size,
        reset=_leave_as_it_is,
        server_settings=told,
        **driver_settings(options),
    )


async def _leave_as_it_is(connection: Connection) -> None:
    """A transaction leaves nothing behind on its connection."""


def refuse_old_server(version: tuple[int, int]) -> None:
    if version[0] < OLDEST_SERVER:
        raise StoreUnavailable(
            f"PostgreSQL {version[0]}.{version[1]} is too old",
            hint=f"use PostgreSQL {OLDEST_SERVER} or newer",
        )


def translated(error: BaseException, where: str) -> Exception:
    """The error a caller can act on."""
    if isinstance(error, asyncpg.DataError | asyncpg.ProgramLimitExceededError):
        return InvalidInput(f"that cannot be stored: {error}", hint="send valid Unicode, of a smaller size")
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return StoreUnavailable(
            f"{where} does not let this user work: {error}",
            hint="GRANT CREATE on the database to it, or make the schema and let it own that",
        )
    if isinstance(error, _REFUSED):
        return StoreUnavailable(
            f"{where} cannot be opened: {error}", hint="check user, password and name in `database`"
        )
    if isinstance(error, asyncpg.DiskFullError):
        return StoreUnavailable(f"no space left for {where}", hint="free space; nothing was lost")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return StoreUnavailable(f"{where} can only be read", hint="name the primary server in `database`")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StoreUnavailable(f"{where} is held by somebody else", hint="try again; nothing was written")
    if isinstance(error, _UNFIT):
        return StoreCorrupt(
            f"{where} does not fit this Roost: {error}", hint="report it; trying again is no use"
        )
    return StoreUnavailable(
        f"{where} cannot be reached: {str(error) or type(error).__name__}",
        hint="try again; nothing of this request was written",
    )
