"""Ollama, by its chat completions."""

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.settings import ModelSettings

from roost.models.endpoints import Endpoint
from roost.models.library.model import Named, Wire


def _connect(endpoint: Endpoint, client: httpx2.AsyncClient) -> Named:
    base_url = endpoint.base_url.rstrip("/").removesuffix("/v1")
    provider = OllamaProvider(
        openai_client=AsyncOpenAI(
            base_url=f"{base_url}/v1", api_key="dressed later", http_client=client, max_retries=0
        )
    )
    asked = ModelSettings(extra_body=dict(endpoint.params))
    # Ollama always says why it ended; an answer that does not was cut.
    strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)

    def named(name: str) -> OllamaModel:
        profile = merge_profile(provider.model_profile(name), strict)
        return OllamaModel(name, provider=provider, profile=profile, settings=asked)

    return named


OLLAMA = Wire(
    api="ollama",
    base_url="http://127.0.0.1:11434",
    key_header="authorization",
    connect=_connect,
    extras=ModelSettings(),
)
