from uuid import UUID

from roost.engine.ids import FreshIds, new_code, uuid7
from roost.testing.clock import FakeClock


def test_an_id_is_a_uuid_of_version_7_whatever_chance_says() -> None:
    for chance in (bytes(10), b"\xff" * 10):
        made = UUID(uuid7(1_750_000_000_000, chance))
        assert (made.version, made.variant) == (7, "specified in RFC 4122")
        assert made.int >> 80 == 1_750_000_000_000


def test_ids_sort_by_the_time_they_were_made() -> None:
    clock = FakeClock()
    fresh = FreshIds(clock)
    made = []
    for _ in range(50):
        made.append(fresh())
        clock.advance(1)
    assert made == sorted(made)


def test_ids_of_one_moment_differ() -> None:
    fresh = FreshIds(FakeClock())
    assert len({fresh() for _ in range(1000)}) == 1000


def test_a_code_is_read_out_without_a_mistake_and_is_guessed_by_nobody() -> None:
    made = {new_code() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(code) == 8 and not set(code) & set("01OI") for code in made)
