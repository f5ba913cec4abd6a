from roost.core.contextreport import ToolSize, tool_sizes
from roost.core.models import ToolSpec


def test_a_tool_takes_its_description_and_its_schema() -> None:
    tool = ToolSpec(name="read", description="Reads.", parameters={"type": "object"})
    assert tool_sizes([tool]) == (ToolSize(name="read", text=6, schema=len('{"type":"object"}')),)
