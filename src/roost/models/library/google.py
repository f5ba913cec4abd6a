"""Google's generateContent."""

import httpx2
from google.genai.client import Client
from google.genai.types import HttpOptions, ResourceScope
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.settings import ModelSettings

from roost.models.endpoints import Endpoint
from roost.models.library.model import Named, Wire


def _connect(endpoint: Endpoint, client: httpx2.AsyncClient) -> Named:
    options = HttpOptions(
        base_url=endpoint.base_url,
        # The base address holds the version.
        base_url_resource_scope=ResourceScope.COLLECTION,
        httpx_async_client=client,
        timeout=endpoint.idle_ms,
        extra_body=dict(endpoint.params),
    )
    provider = GoogleProvider(client=Client(vertexai=False, api_key="dressed later", http_options=options))
    return lambda name: GoogleModel(name, provider=provider)


GOOGLE = Wire(
    api="google-generative-ai",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    key_header="x-goog-api-key",
    connect=_connect,
    extras=ModelSettings(),
)
