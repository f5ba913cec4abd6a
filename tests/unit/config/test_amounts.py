import pytest

from roost.config.amounts import ByteSize, Dollars, Duration, SpellingError


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("250ms", 250),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1.5h", 5_400_000),
        (" 30 D ", 2_592_000_000),
        ("0m", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(written: str, milliseconds: int) -> None:
    assert Duration.parse(written) == Duration(milliseconds)


def test_a_bare_number_counts_in_the_unit_that_its_key_names() -> None:
    assert (
        Duration.parse("30", "d")
        == Duration.parse(30, "d")
        == Duration.parse(30.0, "d")
        == Duration.parse("30d")
    )
    assert Duration.parse(24, "h") == Duration.parse("24h")


@pytest.mark.parametrize(
    "written", ["", "m", "-5m", "5", 5, "5 weeks", "1e3s", "0.0001ms", "5m5s", True, None, [], "٣m"]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(SpellingError):
        Duration.parse(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("1kb", 1024),
        ("10gb", 10 * 1024**3),
        ("1.5mb", 1_572_864),
        (4096, 4096),
        ("4096", 4096),
        ("2TB", 2 * 1024**4),
    ],
)
def test_a_size_is_a_number_and_a_unit_or_bytes(written: object, size: int) -> None:
    assert ByteSize.parse(written) == ByteSize(size)


@pytest.mark.parametrize("written", ["10pb", "-1", False, float("inf"), float("nan"), "0.3b"])
def test_what_is_no_size_is_refused(written: object) -> None:
    with pytest.raises(SpellingError):
        ByteSize.parse(written)


@pytest.mark.parametrize("written", ["999999999999999999d", "53375995584d"])
def test_what_no_store_could_hold_is_refused_as_too_much(written: str) -> None:
    assert Duration.parse("53375995583d").milliseconds < 2**62
    with pytest.raises(SpellingError, match="more than can be reckoned with"):
        Duration.parse(written)


@pytest.mark.parametrize("milliseconds", [0, 1, 999, 1000, 90_000, 3_600_000, 86_400_000, 86_400_001])
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    assert Duration.parse(str(Duration(milliseconds))) == Duration(milliseconds)


def test_amounts_are_written_in_their_largest_whole_unit() -> None:
    assert str(Duration.parse("90s")) == "90s"
    assert str(Duration.parse("3600s")) == "1h"
    assert str(ByteSize.parse("10240mb")) == "10gb"
    assert str(ByteSize(0)) == "0b"


@pytest.mark.parametrize(
    ("written", "micros", "text"),
    [(2, 2_000_000, "2"), (2.5, 2_500_000, "2.5"), ("0.000001", 1, "0.000001"), ("100", 100_000_000, "100")],
)
def test_a_sum_of_money_is_read_and_written_in_dollars(written: object, micros: int, text: str) -> None:
    assert Dollars.parse(written) == Dollars(micros)
    assert str(Dollars(micros)) == text
