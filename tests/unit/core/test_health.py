from roost.core.health import STEADY_MS, Condition, Health, PartHealth, begun, failed, part_health


def test_a_part_that_never_failed_is_well_since_it_began() -> None:
    assert part_health("x", begun(None, 5), 9) == PartHealth(name="x", condition=Condition.OK, since=5)


def test_a_part_that_fails_again_and_again_is_retrying_since_the_first_time() -> None:
    record = failed(begun(None, 5), "one", 10)
    assert part_health("x", record, 11) == PartHealth(
        name="x", condition=Condition.RETRYING, since=10, failures=1, error="one"
    )
    again = failed(begun(record, 20), "two", 21)
    told = part_health("x", again, 22)
    assert (told.since, told.failures, told.error) == (10, 2, "two")


def test_a_part_that_began_again_is_well_once_it_has_worked_for_a_while() -> None:
    record = begun(failed(begun(None, 0), "one", 10), 20)
    assert part_health("x", record, 20 + STEADY_MS - 1).condition is Condition.RETRYING
    well = part_health("x", record, 20 + STEADY_MS)
    assert well == PartHealth(name="x", condition=Condition.OK, since=20, error="one")


def test_what_lies_before_a_steady_time_no_longer_counts() -> None:
    record = begun(failed(failed(begun(None, 0), "one", 10), "two", 12), 20)
    later = failed(record, "three", 20 + STEADY_MS)
    assert (later.failures, later.failing_since) == (1, 20 + STEADY_MS)


def test_a_gateway_is_well_when_all_its_parts_are() -> None:
    well = part_health("x", begun(None, 5), 9)
    ill = part_health("y", failed(begun(None, 5), "one", 6), 9)
    assert Health(parts=(well,)).ok
    both = Health(parts=(well, ill))
    assert (both.ok, both.failing) == (False, (ill.name,))
