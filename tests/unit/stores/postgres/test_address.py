from urllib.parse import urlsplit

import pytest

from roost.core.errors import InvalidInput
from roost.stores.postgres.address import identity, read_address, without_password
from roost.stores.postgres.connection import PostgresOptions

ADDRESS = "postgresql://ida:hunter2@db.test:5432/roost"


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


def test_an_address_is_shown_with_a_schema_that_is_not_the_usual_one() -> None:
    assert without_password(f"{ADDRESS}?schema=second&sslmode=require") == (
        "postgresql://db.test:5432/roost?schema=second"
    )
    assert without_password(f"{ADDRESS}?schema=roost") == "postgresql://db.test:5432/roost"
    assert without_password("postgresql://ida@/roost?host=/run") == "postgresql:///roost"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("postgres://bob@db.test/roost?connections=3&sslmode=require", True),
        ("postgresql://db.test:5432/roost?schema=roost", True),
        ("postgresql://db.test/?dbname=roost", True),
        ("postgresql://roost@/?host=db.test", True),
        ("postgresql://db.test:5433/roost", False),
        ("postgresql://db.test/other", False),
        ("postgresql://elsewhere.test/roost", False),
        ("postgresql://db.test/roost?schema=second", False),
    ],
)
def test_addresses_of_one_store_are_known_by_server_database_and_schema(other: str, same: bool) -> None:
    assert (identity(ADDRESS) == identity(other)) is same


def test_an_address_is_shown_without_user_password_and_parameters() -> None:
    assert without_password(f"{ADDRESS}?password=hunter2") == "postgresql://db.test:5432/roost"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ida:hun#ter2@db.test:5432/roost",
        "postgresql://ida:hun/ter2@db.test:5432/roost",
        "postgresql://ida:77/ter2@db.test:5432/roost",
        "postgresql://ida:77?ter2@db.test:5432/roost",
        "postgresql://ida:77?hun=ter2@db.test:5432/roost",
        "postgresql://ida:hun@ter2@db.test:5432/roost",
        "postgresql://ida:hun[ter2@db.test:5432/roost",
        "postgresql://ida:hun\u2100ter2@db.test:5432/roost",
        "postgresql://ida:hunter2@[::1/roost",
        "postgresql://ida:hunter2@[::1]x/roost",
        "postgresql://ida:hunter2@::1/roost",
        "postgresql://ida:hunter2@db.test:hunter2/roost",
        "postgresql://ida:hunter2@db.test:99999/roost",
        "postgresql://ida:hunter2@db.test:0/roost",
        "postgresql://ida:hunter2@db.test,/roost",
        "postgresql://ida:hunter2@/roost?host=db.test:hunter2",
        "postgresql://ida:hunter2@/roost?host=db.test&port=5432,hunter2",
        "postgresql://ida:hunter2@db.test/roost?pooler",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_a_word_of_it(address: str) -> None:
    with pytest.raises(InvalidInput, match="percent-encode") as refused:
        read_address(address)
    told = str(refused.value)
    assert not any(piece in told for piece in ("ida", "hun", "ter2", "77", "db.test", "99999", "::1"))
    assert refused.value.__context__ is None or refused.value.__suppress_context__


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ida:h%23u%2Fn%40%3Fter2:@db.test:5432/roost",
        "postgresql://ida:hunter2@[::1]:5432/roost",
        "postgresql://ida:hunter2@[::1]/roost",
        "postgresql://one.test:5432,two.test:5433,three.test/roost",
        "postgresql://ida@/roost?host=%2Frun%2Fpostgresql&port=5433",
        "postgresql://%2Frun%2Fpostgresql:5433/roost",
        "postgresql://db.test/roost?user=ida%40home.test",
        "postgresql:///roost",
        "postgres://db.test",
    ],
)
def test_every_form_that_the_driver_knows_is_left_to_it(address: str) -> None:
    assert urlsplit(read_address(address)[0]) == urlsplit(address)
