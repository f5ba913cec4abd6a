"""OpenAI's responses."""

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from roost.models.endpoints import Endpoint
from roost.models.library.model import Named, Wire


def _connect(endpoint: Endpoint, client: httpx2.AsyncClient) -> Named:
    provider = OpenAIProvider(
        openai_client=AsyncOpenAI(
            base_url=endpoint.base_url, api_key="dressed later", http_client=client, max_retries=0
        )
    )
    asked = OpenAIResponsesModelSettings(extra_body=dict(endpoint.params))
    return lambda name: OpenAIResponsesModel(name, provider=provider, settings=asked)


RESPONSES = Wire(
    api="openai-responses",
    base_url="https://api.openai.com/v1",
    key_header="authorization",
    connect=_connect,
    # What is said is kept here, not there.
    extras=OpenAIResponsesModelSettings(openai_store=False),
)
