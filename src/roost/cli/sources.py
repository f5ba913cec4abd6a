"""Where a message of a session comes from, in a word or two."""

from roost.core.jsonvalue import JsonObject, JsonValue

SYSTEM, PERSON = "the gateway", "user"


def source_of(row: JsonObject) -> str:
    """Who said it, and by which channel or from which session."""
    found = row.get("provenance")
    told: JsonObject = found if isinstance(found, dict) else {}
    session, channel = told.get("sourceSessionKey"), told.get("sourceChannel")
    if row.get("role") == "assistant":
        return SYSTEM
    if told.get("sourceRole") == "subagent":
        return f"sub-agent {session}" if session else "sub-agent"
    match told.get("kind"):
        case "inter_session":
            return f"session {session}" if session else "another session"
        case "internal_system":
            return _word(told.get("sourceTool")) or SYSTEM
        case _:
            who = _word(row.get("sender")) or PERSON
            return f"{who} ({channel})" if channel else who


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
