import pytest

from roost.core.restarts import SLOWEST_RESTART_MS, restart_ms


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 250), (1, 250), (2, 500), (3, 1_000), (7, 16_000), (8, 30_000)]
)
def test_a_part_that_failed_waits_longer_each_time(failures: int, wait: int) -> None:
    assert restart_ms(failures, 0.0) == wait
    assert wait <= restart_ms(failures, 0.99) < wait * 1.2


def test_a_part_that_failed_very_often_waits_no_longer_than_the_longest() -> None:
    assert restart_ms(10_000, 0.0) == SLOWEST_RESTART_MS
