"""`/explain`: why, all of it or one aspect."""

from roost.core.commands import Aspect
from roost.core.errors import InvalidInput
from roost.engine.commands.asked import Answer, Asked, Means, saying
from roost.engine.explaining import Explainer, Inquiry


async def explain(means: Means, asked: Asked) -> Answer:
    word = asked.argument.lower()
    if word and word not in tuple(Aspect):
        raise InvalidInput(f"/explain knows no {word!r}", hint=f"say one of {', '.join(Aspect)}")
    inquiry = Inquiry(
        session=asked.session,
        principal=asked.speaker.principal,
        at=asked.at,
        turn=means.turn(asked),
        chat=asked.arrival.opening.facts,
        thread=await means.thread(asked),
    )
    explainer = Explainer(means.store, means.rules)
    chosen = [Aspect(word)] if word else list(Aspect)
    return saying("\n".join([await explainer.why(one, inquiry) for one in chosen]))
