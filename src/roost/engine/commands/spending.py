"""`/usage`: figures below every answer, and what was spent."""

from dataclasses import replace
from types import MappingProxyType

from roost.core.errors import InvalidInput
from roost.core.figures import DAY_MS, counted, dollars, thousands
from roost.core.footers import UsageLevel, usage_level
from roost.core.ledger import LedgerTotal
from roost.core.queries import LedgerQuery
from roost.core.trees import Tree
from roost.engine.commands.asked import Answer, Asked, Means, Said, overrides_of, saying

_NEXT = MappingProxyType(
    {UsageLevel.OFF: UsageLevel.TOKENS, UsageLevel.TOKENS: UsageLevel.FULL, UsageLevel.FULL: UsageLevel.OFF}
)


async def usage(means: Means, asked: Asked) -> Answer:
    word = asked.argument.lower()
    if word == "cost":
        return saying(await _cost(means, asked))
    level = UsageLevel.parse(word)
    if word not in ("", "reset") and level is None:
        raise InvalidInput(
            f"/usage knows no {asked.argument!r}", hint=f"say {', '.join(UsageLevel)}, reset or cost"
        )

    def answer(tree: Tree) -> Said:
        own = overrides_of(tree)
        chosen = level or (None if word == "reset" else _NEXT[usage_level(own)])
        shown = chosen or UsageLevel.OFF
        return Said(text=f"Figures below answers: {shown}.", overrides=replace(own, usage=chosen))

    return answer


async def _cost(means: Means, asked: Asked) -> str:
    own = await means.store.usage(LedgerQuery(key=asked.key))
    tree = await means.store.usage(LedgerQuery(tree_of=asked.key))
    today = await means.store.usage(LedgerQuery(key=asked.key, since=asked.at - DAY_MS))
    lines = [
        _line("This session", own),
        _line("With sub-agents", tree),
        _line("This session, last 24 h", today),
    ]
    if asked.speaker.principal.is_owner:
        lines.append(_line("Whole gateway", await means.store.usage(LedgerQuery())))
    return "\n".join(lines)


def _line(name: str, total: LedgerTotal) -> str:
    usage = total.usage
    figures = f"{thousands(usage.input)} in, {thousands(usage.output)} out"
    return f"{name}: {dollars(usage.cost_micros)}, {figures}, {counted(total.calls, 'model call')}"
