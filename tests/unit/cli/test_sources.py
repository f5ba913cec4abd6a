"""Where a message comes from."""

import pytest

from roost.cli.sources import source_of
from roost.core.jsonvalue import JsonObject


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, "user"),
        ({"role": "assistant"}, "the gateway"),
        ({"provenance": {"kind": "external_user"}, "sender": "Ada"}, "Ada"),
        ({"provenance": {"kind": "external_user", "sourceChannel": "telegram"}}, "user (telegram)"),
        ({"provenance": {"kind": "internal_system"}}, "the gateway"),
        ({"provenance": {"kind": "internal_system", "sourceTool": "cron"}}, "cron"),
        ({"provenance": {"kind": "internal_system", "sourceRole": "subagent"}}, "sub-agent"),
        (
            {"provenance": {"kind": "inter_session", "sourceRole": "subagent", "sourceSessionKey": "k"}},
            "sub-agent k",
        ),
        ({"provenance": {"kind": "inter_session", "sourceSessionKey": "k"}}, "session k"),
        ({"provenance": {"kind": "inter_session"}}, "another session"),
    ],
)
def test_a_message_is_told_of_with_who_said_it_and_by_which_way(row: JsonObject, told: str) -> None:
    assert source_of(row) == told
