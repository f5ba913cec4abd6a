import pytest

from roost.core.seals import SEAL, Seals

LONG, SHORT = 'long "and" quoted value', "hunter22"
SEALS = Seals({LONG: "gateway.auth.token", SHORT: "gateway.auth.password"})
TOKEN, PASSWORD = "{{secret:gateway.auth.token}}", "{{secret:gateway.auth.password}}"


@pytest.mark.requirement("P24")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"it is {LONG}!", f"it is {TOKEN}!"),
        (f"x{LONG}x{LONG}", f"x{TOKEN}x{TOKEN}"),
        ('{"a": "long \\"and\\" quoted value"}', f'{{"a": "{TOKEN}"}}'),
        ("?t=long%20%22and%22%20quoted%20value", f"?t={TOKEN}"),
        (f"say {SHORT}, friend", f"say {PASSWORD}, friend"),
        (f"my{SHORT}s", f"my{SHORT}s"),
        ("nothing", "nothing"),
    ],
)
def test_the_name_of_its_setting_is_kept_instead_of_a_secret(text: str, kept: str) -> None:
    assert SEALS.sealed(text) == kept
    assert SEALS.sealed(kept) == kept


def test_a_secret_within_another_leaves_none_of_it() -> None:
    inner, outer = "inner-value-of-it", "outer/inner-value-of-it/outer"
    assert Seals({inner: "a", outer: "b"}).sealed(f"{outer} {inner}") == "{{secret:b}} {{secret:a}}"


def test_what_is_too_short_to_be_told_from_a_word_stays() -> None:
    assert Seals({"tea": "a"}).sealed("a cup of tea") == "a cup of tea"


def test_any_name_makes_a_seal() -> None:
    odd = Seals({LONG: 'models.providers["a}\n{é"].apiKey'})
    assert SEAL.fullmatch(odd.sealed(LONG))


def test_a_name_that_holds_a_secret_stays_as_it_is() -> None:
    seals = Seals({"password": "gateway.auth.password"})
    once = seals.sealed("my password is password")
    assert once == "my {{secret:gateway.auth.password}} is {{secret:gateway.auth.password}}"
    assert seals.sealed(f"{once}, password") == f"{once}, {{{{secret:gateway.auth.password}}}}"
