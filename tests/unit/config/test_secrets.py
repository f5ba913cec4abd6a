import pytest

from roost.config.secrets import configured_secrets
from roost.core.secrets import Secret
from tests.unit.config.given import settings


@pytest.mark.requirement("P24")
def test_every_configured_secret_is_known_by_its_key() -> None:
    given = settings(
        {
            "gateway": {"auth": {"token": "t"}},
            "hooks": {"token": "h"},
            "models": {
                "providers": {
                    "p": {
                        "apiKey": "k",
                        "headers": {"X-A": "v"},
                        "models": [{"id": "m", "headers": {"X-B": "w"}}],
                    },
                    "q": {"apiKey": {"command": ["pass", "show", "q"]}},
                }
            },
        }
    )
    assert configured_secrets(given) == {
        "gateway.auth.token": Secret("t"),
        "hooks.token": Secret("h"),
        "models.providers.p.apiKey": Secret("k"),
        "models.providers.p.headers.X-A": Secret("v"),
        "models.providers.p.models[0].headers.X-B": Secret("w"),
    }
