"""The configured models and who uses them, as the values that core decides with."""

from collections.abc import Iterator
from functools import partial

from roost.config.agents import Agent, ModelChoice
from roost.config.providers import CatalogueMode, InputKind, ModelCost, ModelDefinition, Provider
from roost.config.settings import Settings
from roost.core.casting import ModelChain, Persona
from roost.core.catalogue import Catalogue
from roost.core.errors import ConfigInvalid, NotFound
from roost.core.models import ModelRef, ModelSpec, Prices

CONTEXT_WINDOW, MAX_TOKENS = 128_000, 8_192


def catalogue(settings: Settings, builtin: ModelSpec) -> Catalogue:
    """The models that the file lists, allows or uses, and the built-in one unless the file replaces what is known."""
    chosen = settings.agents.defaults.models
    joins = settings.models.mode is CatalogueMode.MERGE
    allowed = None if chosen is None else [_model_ref(name) for name in chosen]
    made = partial(
        Catalogue,
        aliases={entry.alias: _model_ref(name) for name, entry in (chosen or {}).items() if entry.alias},
        allowed=allowed,
        unlisted=[
            _spec(name, provider, ModelDefinition(id="*"))
            for name, provider in settings.models.providers.items()
            if not provider.models
        ],
    )
    listed = [*([builtin] if joins else []), *_specs(settings)]
    known = made(listed)
    return made([*listed, *(_checked(where, name, known) for where, name in _in_use(settings, builtin))])


def _in_use(settings: Settings, builtin: ModelSpec) -> Iterator[tuple[str, str]]:
    """Every model that something is to be done with, and where that is said."""
    for agent in settings.agents.list:
        own = persona(agent, builtin)
        for models in filter(None, (own.models, own.child_models, own.heartbeat_models)):
            yield from ((f"agent {agent.id}", name) for name in (models.primary, *models.fallbacks))
    if summaries := settings.agents.defaults.compaction.model:
        yield "agents.defaults.compaction.model", summaries
    for hook, mapping in settings.hooks.mappings.items():
        if settings.hooks.enabled and mapping.model:
            yield f"hooks.mappings.{hook}.model", mapping.model


def _checked(where: str, name: str, known: Catalogue) -> ModelSpec:
    """A model that does not exist is told now, not when it is needed."""
    try:
        return known.find(name)
    except NotFound as error:
        raise ConfigInvalid(f"{where}: {error.message}", hint=error.hint) from None


def persona(agent: Agent, builtin: ModelSpec) -> Persona:
    own, beats = _models(agent.model), agent.heartbeat.model
    return Persona(
        agent=agent.id,
        models=own or ModelChain(primary=str(builtin.ref)),
        reason=f"the model of agent {agent.id}" if own else "no model is configured",
        child_models=None if agent.subagents.model is None else _models(agent.subagents.model),
        child_thinking=agent.subagents.thinking,
        heartbeat_models=None
        if beats is None
        else ModelChain(primary=beats, fallbacks=own.fallbacks if own else ()),
    )


def _models(choice: ModelChoice) -> ModelChain | None:
    if choice.primary is None:
        return None
    return ModelChain(primary=choice.primary, fallbacks=tuple(choice.fallbacks))


def _specs(settings: Settings) -> Iterator[ModelSpec]:
    for name, provider in settings.models.providers.items():
        yield from (_spec(name, provider, model) for model in provider.models)
        listed = {model.id for model in provider.models}
        for ref in map(_model_ref, settings.agents.defaults.models or ()):
            if provider.models and ref.provider == name and ref.model not in listed:
                yield _spec(name, provider, ModelDefinition(id=ref.model))


def _spec(name: str, provider: Provider, model: ModelDefinition) -> ModelSpec:
    window = model.context_window or provider.context_window or CONTEXT_WINDOW
    used = model.context_tokens or provider.context_tokens or window
    return ModelSpec(
        ref=ModelRef(name, model.id),
        context_window=min(window, used),
        max_tokens=model.max_tokens or provider.max_tokens or MAX_TOKENS,
        prices=None if model.cost is None else _prices(model.cost),
        reasoning=model.reasoning,
        images=InputKind.IMAGE in model.input,
    )


def _prices(cost: ModelCost) -> Prices:
    return Prices(
        input=cost.input, output=cost.output, cache_read=cost.cache_read, cache_write=cost.cache_write
    )


def _model_ref(name: str) -> ModelRef:
    provider, _, model = name.partition("/")
    return ModelRef(provider, model)
