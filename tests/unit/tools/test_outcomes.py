from roost.core.errors import Forbidden, NotFound
from roost.core.messages import Text
from roost.core.tools import ToolOutcome
from roost.tools.outcomes import attempted, refused, told


def test_an_error_is_told_with_what_to_do() -> None:
    outcome = refused(Forbidden("no", hint="ask"))
    assert outcome.is_error
    assert outcome.content == (Text("no. To go on: ask."),)
    assert outcome.details == {"status": "error", "code": "forbidden"}
    assert refused(NotFound("gone")).content == (Text("gone."),)


async def test_work_that_a_model_can_put_right_becomes_an_outcome() -> None:
    def work() -> ToolOutcome:
        raise NotFound("no such file")

    assert (await attempted(work)).is_error
    assert await attempted(lambda: told("done")) == told("done")
