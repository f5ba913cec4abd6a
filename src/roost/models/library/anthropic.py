"""Anthropic's messages."""

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider

from roost.models.endpoints import Endpoint
from roost.models.library.model import Named, Wire


def _connect(endpoint: Endpoint, client: httpx2.AsyncClient) -> Named:
    # The library adds the version itself.
    base_url = endpoint.base_url.rstrip("/").removesuffix("/v1")
    provider = AnthropicProvider(
        anthropic_client=AsyncAnthropic(
            base_url=base_url, api_key="dressed later", http_client=client, max_retries=0
        )
    )
    asked = AnthropicModelSettings(extra_body=dict(endpoint.params))
    return lambda name: AnthropicModel(name, provider=provider, settings=asked)


# A conversation is sent again and again; here its beginning is read from a cache only if one asks for it.
ANTHROPIC = Wire(
    api="anthropic-messages",
    base_url="https://api.anthropic.com",
    key_header="x-api-key",
    connect=_connect,
    extras=AnthropicModelSettings(cache=True),
)
