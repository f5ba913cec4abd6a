"""`roost hooks`: what a webhook would do, without doing it."""

import sys
from pathlib import Path
from typing import Annotated

import orjson
from cyclopts import App, Parameter

from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, facts
from roost.config.hooks import hook_rules
from roost.core.errors import InvalidInput, NotFound
from roost.core.hookorders import Around, read_order

app = App(name="hooks", help="Calls of other services.")

FRESH = "<uuid>"


@app.command(name="test")
async def rehearse(
    name: Annotated[str, Parameter(help="Which hook: wake, agent, or the name of a mapping.")],
    payload: Annotated[Path | None, Parameter(help="A file with its JSON body. Default: the input.")] = None,
    *,
    here: Local = LOCAL,
) -> int:
    """Show which session a call would be for, and what would be said there. Nothing is sent."""
    settings = here.loaded().settings
    rules = hook_rules(settings.hooks)
    if rules.token is None:
        raise NotFound("there are no hooks", hint="set `hooks.enabled` and `hooks.token`")
    body = sys.stdin.buffer.read() if payload is None else payload.read_bytes()
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the body is not JSON: {error}") from None
    around = Around(
        agents=tuple(agent.id for agent in settings.agents.list),
        default_agent=settings.agents.default.id,
        main_name=settings.session.main_key,
        uuid=FRESH,
    )
    order = read_order(name, value, rules, around)
    mapping = rules.mappings.get(name)
    signed = mapping is not None and mapping.secret is not None
    told = {
        "action": str(order.action),
        "session": str(order.key),
        "says": order.text,
        "source": order.tool,
        "proven by": "signature" if signed else "token",
        "told in the last chat": order.deliver,
    }
    if here.json:
        as_json(told)
    else:
        facts(told.items())
    return 0
