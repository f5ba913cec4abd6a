import copy

import pytest
from pydantic import BaseModel, ValidationError

from roost.config.frozen import FrozenMap


class Shelf(BaseModel):
    books: FrozenMap[str, int]


def test_a_map_cannot_be_changed() -> None:
    books = FrozenMap({"a": 1})
    with pytest.raises(TypeError):
        books["b"] = 2  # type: ignore[index]
    assert books == {"a": 1}


def test_changing_what_a_map_was_made_from_does_not_change_it() -> None:
    source = {"a": 1}
    books = FrozenMap(source)
    source["b"] = 2
    assert dict(books) == {"a": 1}


def test_equal_maps_have_equal_hashes_whatever_their_order() -> None:
    one, other = FrozenMap({"a": 1, "b": 2}), FrozenMap({"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert one != FrozenMap({"a": 1})


def test_a_model_reads_checks_and_writes_its_items() -> None:
    shelf = Shelf.model_validate({"books": {"a": 1}})
    assert isinstance(shelf.books, FrozenMap)
    assert shelf.model_dump() == {"books": {"a": 1}}
    assert repr(shelf) == "Shelf(books={'a': 1})"
    assert copy.deepcopy(shelf) == shelf
    with pytest.raises(ValidationError, match=r"books\.b"):
        Shelf.model_validate({"books": {"b": "x"}})
