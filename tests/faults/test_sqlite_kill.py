"""SIGKILL at random moments under load, again and again on the same file."""

import os
from pathlib import Path
from random import Random

import pytest

from tests import forks
from tests.faults.load import Fact, judge
from tests.scale import count, seeds

MOST_FACTS = 400


def live_and_die(path: Path, life: str, chance: Random) -> set[Fact]:
    """Everything one process said it had acknowledged before it was killed."""
    ours, theirs = os.pipe()
    child = forks.started("tests.faults.kill_child", str(path), life, streams=(0, theirs, 2))
    os.close(theirs)
    with open(ours, "rb") as said:
        lines = [said.readline() for _ in range(chance.randrange(1, MOST_FACTS))]
        child.kill()
        lines += said.readlines()
    child.join()
    assert child.exitcode == -9, "the process ended by itself"
    return {Fact.parse(line.decode()) for line in lines if line.endswith(b"\n")}


@pytest.mark.requirement("P4", "P3")
@pytest.mark.parametrize("series", seeds(1, 50))
async def test_whatever_a_killed_process_acknowledged_is_there_once(tmp_path: Path, series: int) -> None:
    chance = Random(series)
    path = tmp_path / "roost.db"
    facts: set[Fact] = set()
    for number in range(count(5, 10)):
        facts |= live_and_die(path, f"life-{number}", chance)
        await judge(path, facts)
