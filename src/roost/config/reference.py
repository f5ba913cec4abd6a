"""The reference page of the configuration, made from the settings themselves.

`python -m roost.config.reference > docs/configuration.md` writes it.
"""

import sys
from collections.abc import Iterator
from itertools import groupby

from roost.config.catalogue import Key, keys

_HEAD = """\
# Configuration

<!-- Made by `python -m roost.config.reference`; change the settings, not this page. -->

Roost reads one JSON5 file: comments, trailing commas and unquoted keys are fine. Without a file the defaults
below hold. A file with anything wrong in it is refused whole, with every problem named.

A running gateway looks at the file, and at the files that hold credentials, every half second and takes a change over
without a restart. If anything is wrong, or the file is gone, it keeps the configuration it has, and says so in its log and its health. What
a program printed is asked for again at each change of the file. What needs a restart stays as it was until then; a change that
may not stand beside that, such as an open gateway while it still listens beyond loopback, is refused with the rest.

| Variable | Meaning |
|---|---|
| `ROOST_HOME` | Folder of all state. Default `~/.roost`. |
| `ROOST_CONFIG` | The file, which must be there. Default `$ROOST_HOME/roost.json`, which need not. |
| `ROOST_GATEWAY_TOKEN` | `gateway.auth.token`, over the file. |
| `ROOST_GATEWAY_PASSWORD` | `gateway.auth.password`, over the file. |
| `ROOST_DATABASE_URL` | `database`, over the file. |
| `ROOST_PROGRAMS` | Programs that a `{command: […]}` may name, as written there, with `:` between. |

- `${NAME}` inside a text is replaced by that environment variable, which must be set; `$${` stands for `${`.
- Numbers may be written as text, so `"${PORT}"` works. `null` is refused: leave the key out.
- Paths: `~` is the home folder, others are relative to `ROOST_HOME`.
- The host's time zone is the one that `TZ` names (`Europe/Berlin`, with or without a `:` before it), else that of
  `/etc/localtime`; a `TZ` that names none, such as `UTC+3`, is passed over.
- Durations are `250ms`, `30s`, `5m`, `1.5h`, `30d`; sizes `512kb`, `10gb` (1kb is 1024 bytes).
- A credential is a text, `{env: "NAME"}` or `{file: "PATH"}` (mode 0600); an empty one is refused. A provider's may
  also be `{command: ["program", "argument"]}`, run when it is needed: `bw get`, `gopass show`, `op read`, `pass show`,
  `secret-tool lookup`, `security find-generic-password`, or one that `ROOST_PROGRAMS` lists.
- A list that lets someone in lets in nobody when it is empty.
- *Takes effect* says when a change reaches a running gateway. A run keeps the configuration it began with, but for what
  takes effect at once. What waits for a restart is named in the log.
"""

_EXAMPLES = (
    (
        "A model, a token, and private conversations",
        """\
{
  gateway: { auth: { token: { file: "gateway.token" } } },
  agents: { defaults: { model: { primary: "local/small", fallbacks: ["local/large"] } } },
  models: {
    providers: {
      local: {
        baseUrl: "http://127.0.0.1:8080/v1",
        apiKey: "${LOCAL_MODEL_KEY}",
        models: [{ id: "small", contextWindow: 32768 }, { id: "large", contextWindow: "131072" }],
      },
    },
  },
  // My messages share one conversation; everyone else has their own.
  session: { dmScope: "owner-main", identityLinks: { me: ["telegram:1001", "discord:2002"] } },
}
""",
    ),
    (
        "Resets",
        """\
{
  session: {
    reset: { mode: "daily", atHour: 5, idleMinutes: 180 },
    resetByType: { thread: { mode: "idle", idleMinutes: 1440 } },
    resetByChannel: { discord: { mode: "none" } },
    resetTriggers: ["/fresh"],
  },
}
""",
    ),
    (
        "Two agents, one for a team's rooms",
        """\
{
  agents: {
    defaults: { subagents: { maxSpawnDepth: 2, archiveAfterMinutes: 0 }, heartbeat: { every: "2h" } },
    list: [
      { id: "home", default: true },
      {
        id: "team",
        model: "openai/gpt-5",
        sandbox: { mode: "all", workspaceAccess: "ro" },
        tools: { profile: "messaging", alsoAllow: ["sessions_spawn", "sessions_yield", "subagents"] },
      },
    ],
  },
  bindings: [{ agentId: "team", match: { channel: "slack", peer: { kind: "channel", id: "*" } } }],
  channels: { slack: { dmPolicy: "allowlist", allowFrom: ["U123"], groupPolicy: "allowlist" } },
}
""",
    ),
    (
        "What may be sent",
        """\
{
  session: {
    sendPolicy: {
      default: "allow",
      rules: [
        { action: "deny", match: { channel: "discord", chatType: "group" } },
        { action: "deny", match: { keyPrefix: "cron:" } },
      ],
    },
  },
}
""",
    ),
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## Examples"
    for title, text in _EXAMPLES:
        yield f"\n{title}:\n\n```json5\n{text}```"
    for section, members in groupby(keys(), key=lambda key: key.path.split(".")[0].split("[")[0]):
        yield f"\n## `{section}`\n"
        yield from _table(list(members))


def _table(members: list[Key]) -> Iterator[str]:
    yield members[0].description
    yield ""
    yield "| Key | Allowed | Default | Takes effect | Meaning |"
    yield "|---|---|---|---|---|"
    for key in members if len(members) == 1 else members[1:]:
        default = f"`{key.default}`" if key.default else ""
        yield f"| `{key.path}` | {key.allowed} | {default} | {key.takes} | {key.description} |"


if __name__ == "__main__":
    sys.stdout.write(page())
