import asyncpg
import pytest

from roost.core.errors import InvalidInput, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.postgres.connection import (
    PostgresOptions,
    driver_settings,
    refuse_old_server,
    translated,
)


def test_behind_a_pooler_nothing_is_kept_on_a_connection() -> None:
    assert driver_settings(PostgresOptions(pooler=True))["statement_cache_size"] == 0
    assert driver_settings(PostgresOptions())["statement_cache_size"] > 0


def test_a_server_that_is_too_old_is_refused_with_what_to_use() -> None:
    refuse_old_server((14, 0))
    with pytest.raises(StoreUnavailable, match=r"13\.9 is too old.*14 or newer"):
        refuse_old_server((13, 9))


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (asyncpg.DataError("x"), InvalidInput, "cannot be stored"),
        (asyncpg.ProgramLimitExceededError("x"), InvalidInput, "smaller size"),
        (asyncpg.InsufficientPrivilegeError("x"), StoreUnavailable, "GRANT CREATE"),
        (asyncpg.InvalidPasswordError("x"), StoreUnavailable, "check user, password and name"),
        (asyncpg.InvalidCatalogNameError("x"), StoreUnavailable, "check user, password and name"),
        (asyncpg.DiskFullError("x"), StoreUnavailable, "free space"),
        (asyncpg.ReadOnlySQLTransactionError("x"), StoreUnavailable, "primary"),
        (asyncpg.LockNotAvailableError("x"), StoreUnavailable, "somebody else"),
        (asyncpg.UndefinedTableError("x"), StoreCorrupt, "does not fit"),
        (asyncpg.ForeignKeyViolationError("x"), StoreCorrupt, "does not fit"),
        (ConnectionRefusedError(), StoreUnavailable, "ConnectionRefusedError"),
    ],
)
def test_an_error_of_the_driver_is_told_with_what_to_do(
    error: Exception, kind: type[RoostError], told: str
) -> None:
    found = translated(error, "the server")
    assert type(found) is kind
    assert told in str(found)
