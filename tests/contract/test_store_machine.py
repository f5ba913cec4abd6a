"""Random verbs on the reference store and on every other side by side: the same answers, the same state."""

import ast
import inspect
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from roost.core.effects import Effect
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.postgres import PostgresStore
from tests import postgres
from tests.contract import pools
from tests.contract.machine.conversations import Conversations
from tests.contract.machine.surroundings import Surroundings
from tests.contract.machine.work import Work
from tests.scale import examples


class Machine(Conversations, Work, Surroundings):
    """Every verb that writes, in any order."""


Machine.TestCase.settings = settings(
    max_examples=examples(20, 300), stateful_step_count=60, deadline=None, print_blob=True
)
TestMachine = pytest.mark.timeout(1_800)(Machine.TestCase)


class SharedMemory(MemoryStore):
    """The reference for a store that every gateway writes."""

    exclusive = False


class PostgresMachine(Machine):
    address: str

    def __init__(self) -> None:
        super().__init__()
        self._reference = SharedMemory(self._clock)
        self._runner.run(postgres.empty(self.address))

    async def _opened(self) -> Store:
        return await PostgresStore.open(self.address, self._clock, database_clock=self._clock)


@pytest.mark.timeout(1_800)
def test_postgresql_answers_as_the_reference_does(postgres_server: str) -> None:
    run_state_machine_as_test(
        type("OnThisServer", (PostgresMachine,), {"address": postgres_server}),
        settings=settings(
            max_examples=examples(3, 100),
            stateful_step_count=examples(30, 60),
            deadline=None,
            print_blob=True,
        ),
    )


READING = frozenset(
    {
        "active_runs",
        "ancestors",
        "check",
        "completion",
        "completions",
        "conversation",
        "count_firings",
        "dearest",
        "deliveries",
        "delivery",
        "denials",
        "devices",
        "due_jobs",
        "entries",
        "events",
        "exchange",
        "exchanges",
        "exchanges_of",
        "firings",
        "fleet",
        "forks",
        "fullness",
        "gateways",
        "generations",
        "guests",
        "history",
        "inbound",
        "inbound_by_key",
        "job",
        "jobs",
        "ledger",
        "list_sessions",
        "news",
        "next_due_job",
        "overdue_runs",
        "overview",
        "participants",
        "pending_inputs",
        "pointed",
        "remote_exchanges",
        "run",
        "search",
        "session",
        "session_by_id",
        "spawned",
        "spending",
        "spoken",
        "thread_binding",
        "usage",
        "wait_for",
        "workload",
    }
)
"""Verbs that change nothing. Every other one is in the machine."""


def called(rules: type) -> Iterator[str]:
    """The verbs that the rules of a class ask of a store."""
    for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(rules) or rules))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "store":
            yield node.attr


def test_every_verb_that_writes_is_a_rule_of_the_machine() -> None:
    verbs = {name for name, verb in inspect.getmembers(Store, inspect.iscoroutinefunction)}
    rules = {
        verb for part in Machine.__mro__ if part.__module__.startswith(__package__) for verb in called(part)
    }
    assert verbs >= READING
    assert verbs - READING - {"close"} <= rules


def test_every_effect_is_in_a_pool() -> None:
    assert set(get_args(Effect)) == pools.EFFECTS.keys()


@pytest.mark.parametrize("kind", pools.EFFECTS, ids=lambda kind: kind.__name__)
@settings(max_examples=5)
@given(data=st.data())
def test_a_pool_holds_what_it_says(kind: type[Effect], data: st.DataObject) -> None:
    assert type(data.draw(pools.EFFECTS[kind])) is kind
