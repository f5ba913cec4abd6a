"""Whatever the description of the pages leads to, sent well or badly, is answered as it says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import schemathesis
from anyio.abc import TaskStatus
from anyio.from_thread import start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from roost.server.http.entry import ASKED
from roost.server.http.openapi import EVERY, description
from tests.flows.test_hooks import TOKEN
from tests.property.test_http import listening
from tests.scale import examples

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
# Why a run failed and that the gateway cannot do it now are answers; that it broke is none.
WELL = {"expected-statuses": ["2XX", "4XX", "502", "503"]}
REFUSED = {"expected-statuses": ["4XX", "503"]}
# Who asks is drawn here, and not what is wrong with a credential in place of what is wrong with a body.
CONFIG = {
    "checks": {"not_a_server_error": WELL, "negative_data_rejection": REFUSED},
    "generation": {"with-security-parameters": False},
}
SCHEMA = schemathesis.openapi.from_dict({**description()}, config=schemathesis.Config.from_dict(CONFIG))
FOUND = list(SCHEMA.get_all_operations())
PAGES = {found.ok().label: found.ok() for found in FOUND if isinstance(found, Ok)}
# Only of what is read there can be something wrong.
BADLY = [label for label, page in PAGES.items() if any(body.definition["schema"] for body in page.body)]
MODES = [(label, GenerationMode.POSITIVE) for label in PAGES] + [
    (label, GenerationMode.NEGATIVE) for label in BADLY
]
MOSTLY = st.sampled_from([True, True, True, True, False])


async def _serve(folder: Path, done: anyio.Event, *, task_status: TaskStatus[int]) -> None:
    async with listening(folder) as port:
        task_status.started(port)
        await done.wait()


@contextmanager
def _port(folder: Path) -> Iterator[int]:
    """The port of a gateway in a thread of its own: who asks here waits for each answer."""
    with start_blocking_portal() as portal:
        done = portal.call(anyio.Event)
        serving, port = portal.start_task(_serve, folder, done)
        try:
            yield port
        finally:
            portal.call(done.set)
            serving.result()


def _headers(case: Case[Any], *, known: bool, usual: bool) -> dict[str, str]:
    right = TOKEN if case.path.startswith("/hooks/") else "secret-token"
    scopes = {ASKED: "operator.read,operator.write,operator.tools.sessions"} if usual else {}
    return {"Authorization": f"Bearer {right if known else 'wrong'}", **scopes}


@pytest.mark.parametrize(("page", "mode"), MODES)
def test_every_answer_of_a_page_is_one_that_its_description_tells(
    page: str, mode: GenerationMode, tmp_path: Path
) -> None:
    with _port(tmp_path) as port:

        @settings(deadline=None, max_examples=examples(20, 1_000))
        @given(PAGES[page].as_strategy(mode), MOSTLY, MOSTLY)
        def ask(case: Case[Any], known: bool, usual: bool) -> None:
            answer = case.call(
                base_url=f"http://127.0.0.1:{port}",
                headers=_headers(case, known=known, usual=usual),
                allow_redirects=False,
                # A proxy of whoever runs the tests is not asked for what is on this machine.
                proxies={"http": None, "all": None},
            )
            case.validate_response(answer, checks=CHECKS)

        ask()


def test_every_page_of_the_description_can_be_asked_for() -> None:
    assert [found for found in FOUND if not isinstance(found, Ok)] == []
    assert len(PAGES) == sum(len(offer.paths) for offer in EVERY)
