"""`cron`, `hooks` and `recovery`: what happens without a person."""

import re
from collections.abc import Iterable
from typing import Annotated

from roost.config.amounts import Duration
from roost.config.secretfields import Credential
from roost.config.section import Loc, Section, about
from roost.config.spelling import Flag, HoursOrNever, Span, Text, Texts, pattern

_HOOK_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")


class Cron(Section):
    enabled: Annotated[Flag, about("Whether jobs run.")] = True
    session_retention: Annotated[HoursOrNever, about("Age at which sessions of runs are removed.")] = (
        Duration.parse("24h")
    )


class Hooks(Section):
    enabled: Annotated[Flag, about("Whether webhooks are answered; needs `token`.")] = False
    token: Annotated[Credential | None, about("The callers' own token.")] = None
    path: Annotated[str, pattern(_HOOK_PATH, "path below `/`"), about("Where they are answered.")] = "/hooks"
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

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.enabled and self.token is None:
            yield ("token",), "hooks are enabled, which needs one"


class Recovery(Section):
    max_age: Annotated[Span, about("Age beyond which an unfinished run is not resumed.")] = Duration.parse(
        "10m"
    )
