import asyncpg
import pytest

from roost.core.errors import InvalidInput, RoostError, StoreCorrupt, StoreUnavailable
from roost.stores.postgres.connection import (
    PostgresOptions,
    driver_settings,
    read_address,
    refuse_old_server,
    translated,
    without_password,
)

ADDRESS = "postgresql://ann:hunter2@db.test:5432/roost"


def test_an_address_says_how_the_server_is_used_and_the_driver_does_not_hear_of_it() -> None:
    assert read_address(ADDRESS) == (ADDRESS, PostgresOptions())
    driver, options = read_address(f"{ADDRESS}?schema=second&connections=3&pooler=true&sslmode=require")
    assert driver == f"{ADDRESS}?sslmode=require"
    assert options == PostgresOptions(schema="second", connections=3, pooler=True)


@pytest.mark.parametrize(
    "query", ["schema=a;b", "schema=Big", "schema=1a", "connections=0", "connections=many", "pooler=perhaps"]
)
def test_what_an_address_cannot_mean_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput):
        read_address(f"{ADDRESS}?{query}")


def test_behind_a_pooler_nothing_is_kept_on_a_connection() -> None:
    assert driver_settings(PostgresOptions(pooler=True))["statement_cache_size"] == 0
    assert driver_settings(PostgresOptions())["statement_cache_size"] > 0


def test_an_address_is_shown_without_user_password_and_parameters() -> None:
    assert without_password(f"{ADDRESS}?password=hunter2") == "postgresql://db.test:5432/roost"


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
