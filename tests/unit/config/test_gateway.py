import pytest

from roost.config.gateway import AuthMode, Bind
from roost.core.secrets import Secret
from tests.unit.config.given import refused, settings

NAMED = {"mode": "trusted-proxy", "trustedProxy": {"allowUsers": ["ada"]}}


@pytest.mark.requirement("S19", "S21")
def test_left_alone_the_gateway_is_closed() -> None:
    gateway = settings({}).gateway
    assert gateway.bind.is_loopback
    assert gateway.auth.mode is AuthMode.TOKEN
    assert gateway.trusted_proxies == ()
    assert gateway.control_ui.allowed_origins == ()
    assert gateway.http.endpoints.chat_completions.enabled is False
    assert gateway.port == 18789


def test_the_configuration_of_the_harness_loads() -> None:
    given = settings(
        """
        {
          gateway: { port: 29790, bind: "loopback", auth: { mode: "token", token: "perf-token-0123456789abcdef" } },
          agents: { defaults: { model: { primary: "fake/fake-1" }, maxConcurrent: 128,
            subagents: { maxConcurrent: 128 }, heartbeat: { every: "0m" } } },
          models: { providers: { fake: { baseUrl: "http://127.0.0.1:29801/v1", apiKey: "sk-local",
            api: "openai-completions",
            models: [{ id: "fake-1", name: "Fake", contextWindow: 1000000, maxTokens: 8192,
              cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }] } } },
        }
        """
    )
    assert given.gateway.port == 29790
    assert given.gateway.auth.token == Secret("perf-token-0123456789abcdef")
    assert given.agents.default.model.primary == "fake/fake-1"
    assert given.agents.default.heartbeat.every.milliseconds == 0
    assert given.models.providers["fake"].models[0].context_window == 1_000_000


@pytest.mark.parametrize(
    ("written", "host", "is_loopback"),
    [
        ("loopback", "127.0.0.1", True),
        ("lan", "0.0.0.0", False),
        ("127.0.0.2", "127.0.0.2", True),
        ("::1", "::1", True),
        ("192.168.1.5", "192.168.1.5", False),
    ],
)
def test_an_address_is_given_by_name_or_number(written: str, host: str, is_loopback: bool) -> None:
    bind = Bind.parse(written)
    assert (bind.host, bind.is_loopback) == (host, is_loopback)


@pytest.mark.parametrize("written", ["localhost", "", "0.0.0", "*", 5])
def test_an_address_that_is_none_is_refused(written: object) -> None:
    assert "gateway.bind" in refused({"gateway": {"bind": written}})


@pytest.mark.requirement("S19")
@pytest.mark.parametrize("bind", ["lan", "0.0.0.0", "::", "10.0.0.1"])
def test_beyond_loopback_there_is_no_gateway_without_auth(bind: str) -> None:
    tls = {"cert": "c.pem", "key": "k.pem"}
    assert list(refused({"gateway": {"bind": bind, "tls": tls, "auth": {"mode": "none"}}})) == [
        "gateway.bind"
    ]
    assert settings({"gateway": {"bind": bind, "tls": tls}}).gateway.auth.mode is AuthMode.TOKEN


@pytest.mark.requirement("S19", "S26")
@pytest.mark.parametrize("bind", ["lan", "0.0.0.0", "::", "10.0.0.1"])
def test_beyond_loopback_there_is_no_gateway_in_clear_text_unless_somebody_insists(bind: str) -> None:
    assert "gateway.tls.cert" in refused({"gateway": {"bind": bind}})["gateway.bind"].reason
    insists = {"gateway": {"bind": bind, "dangerouslyAllowClearText": True}}
    assert settings(insists).gateway.is_private
    assert not settings({}).gateway.is_private


@pytest.mark.parametrize(("given", "missing"), [("cert", "key"), ("key", "cert")])
def test_a_certificate_and_its_key_go_together(given: str, missing: str) -> None:
    assert list(refused({"gateway": {"tls": {given: "x.pem"}}})) == [f"gateway.tls.{missing}"]


@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    ("gateway", "path"),
    [
        ({"auth": {"mode": "password"}}, "gateway.auth.password"),
        ({"auth": {"mode": "none", "token": "t"}}, "gateway.auth.mode"),
        ({"auth": {"mode": "none", "password": "t"}}, "gateway.auth.mode"),
        ({"auth": NAMED}, "gateway.trustedProxies"),
        ({"auth": NAMED, "trustedProxies": []}, "gateway.trustedProxies"),
        ({"auth": {"mode": "trusted-proxy"}, "trustedProxies": ["10.0.0.1"]}, "gateway.auth.trustedProxy"),
        ({"auth": {"trustedProxy": {"userHeader": "Cookie"}}}, "gateway.auth.trustedProxy.userHeader"),
        ({"auth": {"trustedProxy": {"userHeader": "x user"}}}, "gateway.auth.trustedProxy.userHeader"),
        ({"trustedProxies": ["0.0.0.0/0"]}, "gateway.trustedProxies[0]"),
        ({"trustedProxies": ["::/0"]}, "gateway.trustedProxies[0]"),
        ({"trustedProxies": ["proxy.local"]}, "gateway.trustedProxies[0]"),
        ({"auth": {"mode": "off"}}, "gateway.auth.mode"),
        ({"tls": {"cert": "", "key": "k"}}, "gateway.tls.cert"),
        ({"dangerouslyAllowClearText": "yes"}, "gateway.dangerouslyAllowClearText"),
        ({"allowedHosts": ["https://x"]}, "gateway.allowedHosts[0]"),
        ({"allowedHosts": ["*"]}, "gateway.allowedHosts[0]"),
        ({"allowedHosts": [""]}, "gateway.allowedHosts[0]"),
    ],
)
def test_auth_that_would_let_everyone_in_is_refused(gateway: object, path: str) -> None:
    assert list(refused({"gateway": gateway})) == [path]


def test_a_proxy_is_an_address_or_a_network() -> None:
    given = settings({"gateway": {"trustedProxies": ["10.0.0.7", "10.1.2.3/16"], "auth": NAMED}})
    assert given.gateway.trusted_proxies == ("10.0.0.7/32", "10.1.0.0/16")


@pytest.mark.parametrize("origin", ["*", "null", "https://a.b/path", "a.b", "file://x", ""])
def test_an_origin_names_one_host(origin: str) -> None:
    assert "gateway.controlUi.allowedOrigins[0]" in refused(
        {"gateway": {"controlUi": {"allowedOrigins": [origin]}}}
    )


def test_origins_are_compared_in_lower_case() -> None:
    origins = ["https://Roost.Example:8443", "http://[::1]:5"]
    given = settings({"gateway": {"controlUi": {"allowedOrigins": origins}}})
    assert given.gateway.control_ui.allowed_origins == ("https://roost.example:8443", "http://[::1]:5")
