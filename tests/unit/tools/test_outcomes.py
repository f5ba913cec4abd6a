from types import MappingProxyType

import pytest

from roost.core.errors import Forbidden, InvalidInput, NotFound, RoostError, StoreUnavailable
from roost.core.jsonvalue import JsonObject, in_utf8
from roost.core.messages import Text
from roost.core.tools import ToolOutcome
from roost.tools.outcomes import attempted, found, found_rows, looked_up, refused, told, written
from tests.unit.tools.calls import text_of


def test_an_error_is_told_with_what_to_do() -> None:
    outcome = refused(Forbidden("no", hint="ask"))
    assert outcome.is_error
    assert outcome.content == (Text("no. To go on: ask."),)
    assert outcome.details == {"status": "error", "code": "forbidden"}
    assert refused(NotFound("gone")).content == (Text("gone."),)


def test_what_was_found_is_one_line_of_json() -> None:
    outcome = found({"b": "ü", "a": [1]}, {"count": 1})
    assert outcome.content == (Text('{"b":"ü","a":[1]}'),)
    assert (outcome.details, outcome.is_error) == ({"count": 1}, False)


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (Forbidden("no.", hint="ask"), '{"status":"forbidden","error":"no. To go on: ask."}', "forbidden"),
        (NotFound("gone"), '{"status":"error","error":"gone."}', "not_found"),
        (InvalidInput("what?"), "what?.", "invalid_input"),
    ],
)
async def test_what_cannot_be_had_is_told_by_its_kind(error: RoostError, text: str, code: str) -> None:
    async def work() -> ToolOutcome:
        raise error

    outcome = await looked_up(work())
    assert (outcome.content, outcome.is_error) == ((Text(text),), True)
    assert outcome.details is not None
    assert outcome.details["code"] == code


async def test_what_no_model_can_put_right_goes_on_its_way() -> None:
    async def work() -> ToolOutcome:
        raise StoreUnavailable("later")

    with pytest.raises(StoreUnavailable):
        await looked_up(work())


async def test_work_that_a_model_can_put_right_becomes_an_outcome() -> None:
    def work() -> ToolOutcome:
        raise NotFound("no such file")

    assert (await attempted(work)).is_error
    assert await attempted(lambda: told("done")) == told("done")


def test_rows_stand_behind_what_is_told_of_them() -> None:
    outcome = found_rows({"count": 2}, "rows", [b'{"a":1}', in_utf8({"b": "é"})])
    assert text_of(outcome) == '{"count":2,"rows":[{"a":1},{"b":"é"}]}'
    assert outcome.details == {"count": 2}
    assert text_of(found_rows({"count": 0}, "rows", [])) == '{"count":0,"rows":[]}'
    assert text_of(found_rows({"count": 1}, "rows", [b'{"a":1}'])) == '{"count":1,"rows":[{"a":1}]}'
    assert text_of(found_rows({"no": "\udcff"}, "rows", [b"1"])) == '{"no":"\udcff","rows":[1]}'


@pytest.mark.parametrize(
    "row",
    [
        {"a": 1, "b": None, "c": "é…", "d": [True, 0.5], "e": {"f": '\n"'}},
        {"a file": "no \udcff unicode"},
        {"more than 64 bits": 2**70},
        {"a mapping": MappingProxyType({"a": 1})},
    ],
)
def test_a_row_is_written_as_everything_else(row: JsonObject) -> None:
    assert written(row) == in_utf8(row)
