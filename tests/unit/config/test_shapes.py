import pytest

from roost.config.session import Reset
from roost.config.settings import Settings
from roost.config.shapes import KEY, Leaf, ListOf, MapOf, ObjectOf, shape_at
from roost.config.spelling import one_of


def test_the_shape_of_a_place_follows_lists_maps_and_sections() -> None:
    assert shape_at(Settings, ()) == ObjectOf(Settings)
    assert shape_at(Settings, ("session", "resetByChannel", "discord")) == ObjectOf(Reset)
    assert shape_at(Settings, ("gateway", "port")) == Leaf(allowed="integer from 1 to 65535")
    assert isinstance(shape_at(Settings, ("agents", "list")), ListOf)
    assert isinstance(shape_at(Settings, ("models", "providers")), MapOf)
    assert shape_at(Settings, ("agents", "list", 3, "default")) == Leaf(allowed="`true` or `false`")


def test_a_choice_knows_its_options() -> None:
    options = ("none", "daily", "idle")
    assert shape_at(Settings, ("session", "reset", "mode")) == Leaf(allowed=one_of(options), options=options)


def test_credentials_are_marked() -> None:
    places = [
        ("gateway", "auth", "token"),
        ("hooks", "token"),
        ("database",),
        ("models", "providers", "p", "apiKey"),
    ]
    for place in places:
        shape = shape_at(Settings, place)
        assert isinstance(shape, Leaf)
        assert shape.secret


def test_the_name_of_an_item_has_a_shape_of_its_own() -> None:
    assert shape_at(Settings, ("channels", "X", KEY)) == Leaf(allowed="channel name in lower case")


@pytest.mark.parametrize(
    "loc", [("nothing",), ("gateway", "port", "x"), ("gateway", "x", KEY), ("gateway", 0)]
)
def test_there_is_no_shape_where_there_is_no_key(loc: tuple[str | int, ...]) -> None:
    assert shape_at(Settings, loc) is None
