"""`cron`, `hooks` and `recovery`: what happens without a person."""

import re
from collections.abc import Iterable
from typing import Annotated, TypeAlias

from roost.config.amounts import ByteSize, Duration
from roost.config.frozen import FrozenMap
from roost.config.secretfields import Credential
from roost.config.section import Loc, Section, Takes, about
from roost.config.spelling import AgentId, Flag, HoursOrNever, Positive, Size, Span, Text, Texts, pattern
from roost.core.errors import InvalidInput
from roost.core.hooks import Action, Scheme
from roost.core.jobs import Wake
from roost.core.templates import check

_HOOK_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_HOOK_NAME = re.compile(r"(?!(?:wake|agent)$)[a-z0-9][a-z0-9_-]{0,63}")
HookName: TypeAlias = Annotated[
    str, pattern(_HOOK_NAME, "name (`a`-`z`, `0`-`9`, `_`, `-`), other than `wake` and `agent`")
]


class Cron(Section):
    enabled: Annotated[Flag, about("Whether jobs run.")] = True
    session_retention: Annotated[HoursOrNever, about("Age at which sessions of runs are removed.")] = (
        Duration.parse("24h")
    )


class HookMapping(Section):
    action: Annotated[Action, about("`agent`: a turn of its own; `wake`: an event for the next turn.")] = (
        Action.AGENT
    )
    message: Annotated[
        Text, about("What is said; `{{a.b.0}}` stands for what the payload says there, and nothing else.")
    ] = "{{message}}"
    agent_id: Annotated[AgentId | None, about("Agent. Unset: the default one.")] = None
    session_key: Annotated[
        Text | None,
        about(
            "Session. One with places in it must fit `allowedSessionKeyPrefixes` once they are filled."
            " Unset: as without a mapping."
        ),
    ] = None
    deliver: Annotated[Flag, about("Whether the answer is told where the main session was last met.")] = False
    model: Annotated[Text | None, about("Model of the turn. Unset: the agent's.")] = None
    wake_mode: Annotated[Wake, about("Whether an event is looked at as soon as it comes.")] = Wake.NOW
    secret: Annotated[
        Credential | None, about("What bodies are signed with; a signature then takes the token's place.")
    ] = None
    signature: Annotated[
        Scheme,
        about(
            "`github`: `X-Hub-Signature-256` over the body; `timestamp`: `X-Signature` over `X-Timestamp`, a dot"
            " and the body, or with the delivery's name and another dot before the body."
        ),
    ] = Scheme.GITHUB

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        for name, text in (("message", self.message), ("sessionKey", self.session_key or "")):
            try:
                check(text)
            except InvalidInput as error:
                yield (name,), str(error)


class Hooks(Section):
    enabled: Annotated[Flag, about("Whether webhooks are answered; needs `token`.")] = False
    token: Annotated[Credential | None, about("The callers' own token.")] = None
    path: Annotated[
        str, pattern(_HOOK_PATH, "path below `/`"), about("Where they are answered.", Takes.RESTART)
    ] = "/hooks"
    allowed_agent_ids: Annotated[
        Texts | None, about("Agents a request may name, `*` for all. Unset: the default one.")
    ] = None
    default_session_key: Annotated[Text | None, about("Session of all hooks. Unset: `hook:<uuid>` each.")] = (
        None
    )
    allow_request_session_key: Annotated[Flag, about("Whether a request may name its session.")] = False
    allowed_session_key_prefixes: Annotated[
        Texts, about("What such a name must start with. Empty: none fits.")
    ] = ()
    mappings: Annotated[
        FrozenMap[HookName, HookMapping], about("Hooks by a name of their own, below `path`.")
    ] = FrozenMap()
    max_body_bytes: Annotated[Size, about("Longest body of a call.")] = ByteSize.parse("256kb")
    max_per_minute: Annotated[Positive, about("Calls a minute, all together.")] = 120

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.enabled and self.token is None:
            yield ("token",), "hooks are enabled, which needs one"


class Recovery(Section):
    max_age: Annotated[Span, about("Age beyond which an unfinished run is not resumed.")] = Duration.parse(
        "10m"
    )
