"""Credentials of every kind, put together here so that no file holds one, and texts that only resemble them."""

import json
import random
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

_MIXED = "a7Kd9Qm2Xz4Rb8Lw3Tn6Vp1Yc5Hj0Sf"
_HEX = "3f9a1c7e5b2d8046"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "12345678901234567890"


def mixed(length: int) -> str:
    return "".join(islice(cycle(_MIXED), length))


def hexadecimal(length: int) -> str:
    return "".join(islice(cycle(_HEX), length))


def bare() -> dict[str, str]:
    """Credentials that say themselves what they are, wherever they stand."""
    sized = {
        "sk-": 30, "sk-ant-api03-": 60, "sk-proj-": 48, "sk-or-v1-": 40, "sk_live_": 24, "sk_test_": 24, "rk_live_": 24,
        "whsec_": 32, "ghp_": 36, "gho_": 36, "ghu_": 36, "ghs_": 36, "ghr_": 36, "github_pat_": 60, "glpat-": 20,
        "gldt-": 20, "xoxb-": 40, "xoxp-": 40, "xapp-1-": 40, "AIza": 35, "ya29.": 60, "1//0": 40, "GOCSPX-": 28,
        "gsk_": 48, "pplx-": 48, "fal_": 32, "npm_": 36, "pypi-AgEIcHlwaS5vcmc": 60, "dckr_pat_": 27, "hf_": 34,
        "r8_": 37, "xai-": 40, "tvly-": 32, "exa_": 32, "ATATT": 60, "ATBB": 32, "sbp_": 40, "glsa_": 40, "CFPAT-": 43,
        "HRKU-": 36, "syt_": 40, "lin_api_": 40, "ntn_": 46, "PMAK-": 40, "nvapi-": 60, "hvs.": 40, "tskey-auth-": 30,
        "figd_": 40, "AGE-SECRET-KEY-1": 0,
    }  # fmt: skip
    found = {prefix: prefix + mixed(length) for prefix, length in sized.items() if length}
    return found | {
        "AKIA": "AKIA" + mixed(16).upper(),
        "ASIA": "ASIA" + mixed(16).upper(),
        "age": "AGE-SECRET-KEY-1" + mixed(58).upper(),
        "dop_v1_": "dop_v1_" + hexadecimal(64),
        "dapi": "dapi" + hexadecimal(32),
        "shpat_": "shpat_" + hexadecimal(32),
        "SG.": f"SG.{mixed(22)}.{mixed(43)}",
        "jwt": f"eyJ{mixed(33)}.eyJ{mixed(60)}.{mixed(43)}",
        "discord": f"M{mixed(25)}.{mixed(6)}.{mixed(38)}",
        "airtable": f"pat{mixed(14)}.{hexadecimal(64)}",
        "resend": f"re_{mixed(8)}_{mixed(24)}",
        "twilio": "SK" + hexadecimal(32),
        "mailgun": "key-" + hexadecimal(32),
    }


@dataclass(frozen=True, slots=True)
class Planted:
    """A text, and the secret in it that nobody may read."""

    text: str
    secret: str


def in_context() -> Iterator[Planted]:
    """Credentials that only their surroundings give away."""
    key, uuid = mixed(32), f"{hexadecimal(8)}-9b1c-4d2e-8f3a-{hexadecimal(12)}"
    pem = "\n".join(mixed(64) for _ in range(8))
    yield Planted(f"-----BEGIN RSA PRIVATE KEY-----\n{pem}\n-----END RSA PRIVATE KEY-----", pem)
    yield Planted('{"key": "-----BEGIN PRIVATE KEY-----\\n' + mixed(200) + '\\n-----END"}', mixed(200))
    for scheme in ("Bearer", "Basic", "Bot", "token", "ApiKey"):
        yield Planted(f"Authorization: {scheme} {mixed(20)}", mixed(20))
        yield Planted(f'{{"Proxy-Authorization":"{scheme} {mixed(20)}"}}', mixed(20))
        yield Planted(f"curl -H 'authorization: {scheme} {mixed(20)}' https://x.test", mixed(20))
    yield Planted(f"Authorization: {key}", key)
    yield Planted(f"Authorization: Hawk {key}", key)
    yield Planted(f"Authorization: Custom {LETTERS}", LETTERS)
    yield Planted(f"she sent bearer {key}, then left", key)
    for header in (
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "x-access-token",
        "X-Auth-Token",
        "X-Roost-Gateway-Token",
    ):
        yield Planted(f"{header}: {key}", key)
        yield Planted(f"{header}: {LETTERS}", LETTERS)
        yield Planted(f"{header}: {DIGITS}", DIGITS)
    for header in ("X-Api-Key", "X-Hook-Token", "PRIVATE-TOKEN"):
        yield Planted(f"{header}: hunter", "hunter")
        yield Planted(f'{{"{header}": "hunter"}}', "hunter")
    for scheme in ("https", "wss", "ftp", "postgres", "mysql", "mongodb+srv", "redis", "amqp"):
        yield Planted(f"{scheme}://ann:hunter2@db.test:5432/app", "hunter2")
    yield Planted("redis://:hunter2@cache.test", "hunter2")
    for password in ("pa/ss", "p@ss", "p@ss@word", "12a/34x", "4711"):
        yield Planted(f"postgres://ann:{password}@db.test/app", password)
    yield Planted("imap://ann@x.test:hunter@mail.test", "hunter")
    for name in ("access_token", "api_key", "apikey", "token", "client_secret", "password"):
        yield Planted(f"https://x.test/cb?a=1&{name}={mixed(12)}&b=2", mixed(12))
    yield Planted(f"https://x.test/blob?X-Amz-Signature={hexadecimal(64)}", hexadecimal(64))
    yield Planted(f"grant_type=refresh&refresh_token={key}", key)
    yield Planted(f"client_secret={key}&grant_type=code", key)
    yield from _behind_flags()
    yield from _that_begin_as_variables()
    yield Planted('{"cardNumber": "4111 1111 1111 1111"}', "4111 1111 1111 1111")
    yield Planted('{"cvc":"123"}', "123")
    yield Planted(f"aws_secret_access_key = {mixed(40)}", mixed(40))
    yield Planted(f'"SecretAccessKey": "{mixed(40)}"', mixed(40))
    yield Planted(f"AccountName=x;AccountKey={mixed(86)}==;", mixed(86))
    yield Planted(f"https://hooks.slack.com/services/T0001/B0002/{mixed(24)}", mixed(24))
    yield Planted(f"https://discord.com/api/webhooks/123456789012345678/{mixed(60)}", mixed(60))
    yield Planted(f"bot 123456789:AA{mixed(33)} started", f"AA{mixed(33)}")
    yield Planted(f"https://api.telegram.org/bot123456789:AA{mixed(33)}/getMe", f"AA{mixed(33)}")
    for name in ("OPENAI_API_KEY", "export MY_TOKEN", "app.secret", "DB_PASSWORD"):
        yield Planted(f"{name}={key}", key)
        yield Planted(f"{name}: '{key}'", key)
    yield Planted(f'"HEROKU_API_KEY": "{uuid}"', uuid)
    yield Planted('{"user":"ann","password":"correct horse"}', "correct horse")
    yield Planted('{\\"password\\": \\"hunter2\\"}', "hunter2")
    yield Planted("the password: hunter2.", "hunter2")
    yield Planted("FOO_TOKEN=abc123", "abc123")


def _behind_flags() -> Iterator[Planted]:
    for flag in ("--token", "--password", "--api-key", "--client-secret"):
        yield Planted(f"deploy {flag} {mixed(12)} --now", mixed(12))
        yield Planted(f'deploy {flag}="{mixed(12)}" --now', mixed(12))
        for value in (LETTERS, DIGITS, "hunter", "welcome", "a=b/c:d", "correcthorsebattery"):
            yield Planted(f"deploy {flag} {value} --now", value)
            yield Planted(f"deploy {flag}={value} --now", value)
            yield Planted(f'["deploy", "{flag}", "{value}"]', value)
        yield Planted(f'deploy {flag} "is it me" --now', "is it me")
        yield Planted(f"deploy {flag}='say \"hi\"' --now", 'say "hi"')
        yield Planted(f'{{"command": "deploy {flag} \\"open sesame\\" --now"}}', "open sesame")
    yield Planted("pg --db-password hunter -h db", "hunter")
    yield Planted("ask --openai-api-key hunter -v", "hunter")


def _that_begin_as_variables() -> Iterator[Planted]:
    for password in ("$ecret", "$ECRET$ORDER", "$up3r/x", "$", "${HOST:-hunter}", "s$ECRET"):
        yield Planted(f"https://ann:{password}@host", password)
    yield Planted('{"password": "$up3rsecret"}', "$up3rsecret")
    yield Planted("X-Api-Key: $up3rsecret", "$up3rsecret")
    for flag in ("--token", "--password", "--api-key", "--client-secret"):
        for value in ("$up3rsecret", "$ecret!", "$2b$12$abc", "${HOST:-hunter}", "$ECRET-$ORDER"):
            yield Planted(f"deploy {flag} {value} --now", value)
            yield Planted(f"deploy {flag}='{value}' --now", value)
            yield Planted(f'["deploy", "{flag}", "{value}"]', value)
        yield Planted(f'deploy {flag} "$(cat x)hunter" --now', "$(cat x)hunter")


_HEADS = (
    ("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"),
    ("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2.0.22 (GNU/Linux)\n\n"),
    ("PGP PRIVATE KEY BLOCK", "Comment: of Ann's - see https://x.test/\nVersion: 2\n\n"),
    ("OPENSSH PRIVATE KEY", ""),
    ("PRIVATE KEY", ""),
)
_MARGINS = (
    "", "> ", "| ", "# ", "+ ", "- ", "-", " * ", "  {} | ", "{}\t", "{}: ", "key.pem:{}:", "key.pem-{}-", "│ ", "12:00:01 app[1]: ",
)  # fmt: skip


def key_lines() -> tuple[str, ...]:
    """What a private key holds, line by line."""
    drawn = random.Random(7)
    return tuple(b64encode(b"0\x82\x04" * (row == 0) + drawn.randbytes(45)).decode() for row in range(8))


def private_keys() -> Iterator[str]:
    """Texts with the lines of a key, as programs show them; the last ones end before the key does."""
    body = "\n".join(key_lines())
    whole = [f"-----BEGIN {name}-----\n{head}{body}" for name, head in _HEADS]
    ended = [f"{key}\n-----END {name}-----" for key, (name, _) in zip(whole, _HEADS, strict=True)]
    for key in (*ended, *whole):
        for margin in _MARGINS:
            yield "\n".join(margin.format(row) + line for row, line in enumerate(key.split("\n"), 98))
        yield key.replace("\n", "\r\n")
        yield key.replace("\n", " ")
        yield json.dumps(key)
        yield json.dumps(json.dumps({"key": key}))
        yield json.dumps(key).replace("/", "\\/")
    yield "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\nEEIAbc\n-----END EC PRIVATE KEY-----"
    yield f"-----BEGIN PRIVATE KEY-----\n{key_lines()[0][:7]}"


INNOCENT = (
    "The password is in the usual place; ask Ann. Password: must be at least eight letters.",
    "commit 3f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e, tree 9b1c4d2e8f3a5b6c7d8e9f0a1b2c3d4e5f6a7b8c",
    '{"id": "550e8400-e29b-41d4-a716-446655440000", "key": "550e8400-e29b-41d4-a716-446655440000"}',
    "sha256:3f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e5b2d8046",
    '"integrity": "sha512-z5kDzHTlZ0mRk3Xv1h3gq9hT8sW2nB7cQ4eR6yU1iO0pA5sD8fG3hJ2kL4zX6cV9bN1mM7qW5eR3tY=="',
    'curl -H "Authorization: Bearer $TOKEN" -H "X-Api-Key: ${API_KEY}" https://x.test',
    "apiKey: process.env.OPENAI_API_KEY, token = os.environ['TOKEN2'], password=get_password(user1)",
    "password = base64.b64decode(raw); secret = hashlib.sha256(data).hexdigest()",
    "def sign(private_key: ed25519.Ed25519PrivateKey, api_key: str = '') -> None:",
    "sort_key=created_at_then_updated_at_descending and cache_key=user-profile-page-v2",
    "max_tokens: 4096, prompt_tokens=128, next_token = tokens[17]",
    "see task-1234567890123456789012345, disk-usage-report-of-the-whole-cluster, risk-assessment-2024-01-01-final",
    "https://example.com:8080/a@b?page=2&sort=name&key=name&code=200",
    "deploy --token <token> --password PASSWORD --secret $SECRET",
    'deploy --token "$TOKEN" --password "$db_password_2" --secret=$1 --api-key "$(cat /run/key | head -1)" --token ${API_KEY}.',
    "deploy --token ${{ secrets.TOKEN }} --secret ${TOKEN:?is not set} --password '${process.env.PASSWORD}' && ask --token=$TOKEN|cat",
    '{"command": "deploy --token \\"$TOKEN\\"\\n", "then": "ask --token $token\\nask again", "password": "${DB_PASSWORD}"}',
    "https://ann:$PASSWORD@host https://ann:${password}@host https://ann:$(pass)@host",
    "at 12:30:45.123456 line 123456: something happened in module foo_bar_baz_qux",
    "- name: pypi-publish\n  uses: pypa/gh-action-pypi-publish@release/v1",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "Authorization: required. Authorization = see the chapter on access.",
    "a file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "grep for `-----BEGIN RSA PRIVATE KEY-----` in the repository, and tell me.",
    "this line:\n-----BEGIN PRIVATE KEY-----\nwas added in 3f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e, and is to go from src/keys/reader.py",
    'KEY = f"-----BEGIN RSA PRIVATE KEY-----\\n{pem}\\n-----END RSA PRIVATE KEY-----"',
    "-----BEGIN OPENSSH PRIVATE KEY-----\n...\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n<your key here>\n-----END PRIVATE KEY-----",
    "X-Api-Key: required. The X-Auth-Token header is missing, and X-Api-Key: <key> too.",
    '"X-Api-Key": settings.api_key, "access-token": getAccessTokenFromRequest(request)',
    "Authorization: role-based-access-control-of-everybody",
    "http://localhost:8080/a@b http://[::1]:8080/a@b https://registry.test:4873/@scope/pkg ssh://git@host:org/repo@v1",
    "eyJ is how base64 of an object begins, e.g. eyJhIjoxfQ in a cursor; sk- and ghp_ are prefixes.",
)
"""Texts that hold no secret at all."""

PROSE_ABOUT = (
    "{} is required", "the {} flag", "Use {}, or ask.", "{} must not be empty.", "either {} or a file", "with {} set",
    "{}: what to type", "usage: x [{} TOKEN]", "{} YOUR_API_KEY", "{} <value>", "{} $VALUE", "{} ${{VALUE}}", "{} ...", "{} …",
    "{} (see below)", "`{}` says who", "{}-file path", "{}\nnext line", "{} --json", "{} -v",
)  # fmt: skip
"""What people write about a flag that is followed by a secret where it is used."""
