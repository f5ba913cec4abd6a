"""The tools there are, by name. What is known of a tool by its name alone is said with one of these."""

READ = "read"
WRITE = "write"
EDIT = "edit"
LIST = "list"
EXEC = "exec"
SESSIONS_LIST = "sessions_list"
SESSIONS_HISTORY = "sessions_history"
SESSIONS_SEARCH = "sessions_search"
SESSIONS_SEND = "sessions_send"
SESSIONS_SPAWN = "sessions_spawn"
SESSIONS_YIELD = "sessions_yield"
SUBAGENTS = "subagents"
SESSION_STATUS = "session_status"
AGENTS_LIST = "agents_list"
CRON = "cron"

EVERY = (
    READ,
    WRITE,
    EDIT,
    LIST,
    EXEC,
    SESSIONS_LIST,
    SESSIONS_HISTORY,
    SESSIONS_SEARCH,
    SESSIONS_SEND,
    SESSIONS_SPAWN,
    SESSIONS_YIELD,
    SUBAGENTS,
    SESSION_STATUS,
    AGENTS_LIST,
    CRON,
)
