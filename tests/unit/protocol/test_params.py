"""Parameters are closed, and what is wrong is named where it is."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue
from roost.protocol.params import Count, Names, NoParams, Params, read_params


class Inner(Params):
    deep_name: str


class Sample(Params):
    some_count: Count
    names: Names = ()
    inner: Inner | None = None


def test_parameters_are_read_in_the_spelling_of_the_wire() -> None:
    read = read_params("m", Sample, {"someCount": 1, "names": ["a"], "inner": {"deepName": "x"}})
    assert (read.some_count, read.names) == (1, ("a",))
    assert read.inner is not None
    assert read.inner.deep_name == "x"
    assert read_params("m", NoParams, None) == NoParams()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "invalid m params: must have required property 'someCount'"),
        ({"someCount": 1, "x": 2}, "invalid m params: at root: unexpected property 'x'"),
        ({"some_count": 1}, "must have required property 'someCount'"),
        ({"someCount": "1"}, "at /someCount: input should be a valid integer"),
        ({"someCount": -1}, "at /someCount: "),
        ({"someCount": True}, "at /someCount: "),
        ({"someCount": 1, "names": [1]}, "at /names/0: "),
        ({"someCount": 1, "inner": {}}, "at /inner: must have required property 'deepName'"),
        ({"someCount": 1, "inner": {"deepName": "x", "y": 1}}, "at /inner: unexpected property 'y'"),
        ([], "invalid m params: must be object"),
        ("text", "invalid m params: must be object"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(value: JsonValue, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_params("m", Sample, value)
    assert problem in refused.value.message
