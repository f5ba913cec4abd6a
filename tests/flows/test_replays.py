"""A session that was lived is exported, and played again without a network, a model or its tools."""

from pathlib import Path

import anyio
import pytest

from roost.app.replaying import replay
from roost.core.messages import Text, ToolCall
from roost.core.models import ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import CallTool, Say, Think, Until
from roost.transfer.exportfolder import export_to
from tests.flows.gateways import ADA, benches
from tests.flows.stages import MAIN

pytestmark = pytest.mark.timeout(120)
SECRET = "sk-" + "a1B2c3D4" * 6


class Weather:
    """A tool whose answer depends on the day."""

    spec = ToolSpec(name="weather", description="", parameters={"type": "object"})
    traits = ToolTraits(parallel=True)

    def __init__(self, today: str) -> None:
        self.today = today

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return ToolOutcome(content=(Text(f"{self.today} in {invocation.arguments['city']}"),))


def ask(call_id: str, city: str) -> CallTool:
    return CallTool(ToolCall(id=call_id, name="weather", arguments={"city": city}))


@pytest.fixture
async def recording(tmp_path: Path) -> Path:
    """Turns with tools, a word in the middle of one, and a secret, from a gateway that served them."""
    gate = anyio.Event()
    async with benches("sqlite", tmp_path) as bench:
        bench.tools = (Weather("rain"),)
        bench.model.add(
            (Think("well"), Say("Hello, Ada.")),
            (Say("I\u2028look."), ask("c1", "Rome"), ask("c2", "Oslo")),
            (Until(gate), ask("c3", "Bern")),
            (Say(f"Rain everywhere; your key is {SECRET}."),),
        )
        async with bench.serving():
            await bench.say("hello")
            await bench.replies()
            await bench.say("how is the weather?")
            await bench.model.asked(3)
            await bench.say("and in Bern, quickly")
            gate.set()
            await bench.replies(ADA, 2)
        (file,) = await export_to(tmp_path / "exports", bench.store, MAIN, StdlibScanner())
    return Path(file)


@pytest.mark.requirement("F10")
async def test_a_session_that_was_lived_comes_out_the_same_when_it_is_played_again(recording: Path) -> None:
    assert SECRET not in await anyio.Path(recording).read_text()
    found = await replay(recording)
    assert (found.difference, found.recording.left_out) == (None, 0)
    assert (len(found.recording.turns), len(found.recording.messages)) == (2, 10)


@pytest.mark.requirement("F10")
async def test_changed_code_shows_as_the_first_message_that_differs(recording: Path) -> None:
    assert (await replay(recording, (Weather("rain"),))).difference is None
    difference = (await replay(recording, (Weather("snow"),))).difference
    assert difference is not None
    assert (difference.number, "rain in Rome" in str(difference.recorded)) == (5, True)
    assert "snow in Rome" in str(difference.replayed)
