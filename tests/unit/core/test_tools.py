from math import inf

import pytest

from roost.core.errors import InvalidInput
from roost.core.tools import ToolOutcome


def test_what_a_tool_tells_beside_its_text_has_numbers_that_can_be_kept() -> None:
    assert ToolOutcome(content=(), details={"found": [1.5]}).details == {"found": [1.5]}
    assert ToolOutcome(content=()).details is None
    with pytest.raises(InvalidInput, match="finite"):
        ToolOutcome(content=(), details={"found": [inf]})
