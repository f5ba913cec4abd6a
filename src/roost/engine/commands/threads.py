"""`/session`: how long this thread stays bound to its session. Who bound it may change that, and the owner."""

from dataclasses import replace

from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.figures import duration, moment, read_duration
from roost.core.threads import BindThread, ThreadBinding, UnbindThread
from roost.engine.commands.asked import Answer, Asked, Means, Said, saying

_NEVER = frozenset({"off", "none", "0"})


async def session(means: Means, asked: Asked) -> Answer:
    bound = await means.thread(asked)
    if bound is None:
        raise NotFound(
            "this chat is not bound to a session", hint="a thread is bound when a session is spawned for it"
        )
    if not asked.words:
        return saying(_binding_text(means, bound))
    if not bound.is_changed_by(asked.speaker.principal):
        raise Forbidden("only who bound this thread, or the owner, may change that", hint="ask one of them")
    match asked.words:
        case ("unbind",):
            return lambda tree: Said(
                text="This thread is no longer bound.", effects=(UnbindThread(address=bound.address),)
            )
        case ("idle", time):
            return _bind(means, replace(bound, idle_ms=_time(time)))
        case ("max-age", time):
            return _bind(means, replace(bound, max_age_ms=_time(time)))
        case _:
            raise InvalidInput(
                f"/session knows no {asked.argument!r}", hint="say idle <time>, max-age <time> or unbind"
            )


def _time(text: str) -> int:
    time = 0 if text in _NEVER else read_duration(text)
    if time is None:
        raise InvalidInput(f"{text!r} is no time", hint="write it as 30m, 24h or 7d, or off")
    return time


def _bind(means: Means, binding: ThreadBinding) -> Answer:
    return lambda tree: Said(text=_binding_text(means, binding), effects=(BindThread(binding=binding),))


def _binding_text(means: Means, bound: ThreadBinding) -> str:
    idle = duration(bound.idle_ms) if bound.idle_ms else "never"
    oldest = duration(bound.max_age_ms) if bound.max_age_ms else "never"
    since = moment(bound.bound_at, means.rules.zone)
    return f"This thread is bound to {bound.key} since {since}. Ends when idle: {idle}; when old: {oldest}."
