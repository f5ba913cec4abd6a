"""Ollama, by its chat completions."""

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.ollama import OllamaModel
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
    return lambda name: OllamaModel(name, provider=provider, settings=asked)


OLLAMA = Wire(
    api="ollama",
    base_url="http://127.0.0.1:11434",
    key_header="authorization",
    connect=_connect,
    extras=ModelSettings(),
)
