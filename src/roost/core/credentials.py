"""What credentials look like: one table of rules, as data for every scanner.

A pattern is ASCII, in the subset that RE2 and `re` read alike (no look-around, no back-references, no Perl
classes), with exactly one capturing group: the secret. A match begins with one of the rule's anchors; a rule
without anchors has no fixed beginning. Where two rules match at the same place the earlier one counts.

Trying a rule at every anchor of a hostile text must stay linear: parts that may fail late are bounded or hold no
further anchor, and a secret that its check may refuse is short, or holds no `=` or `:` but at its end, or no quote of its
own, so that it holds no other match of a rule like it.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from roost.core.likeness import (
    is_reference,
    is_reference_in_address,
    looks_like_a_value,
    looks_mixed,
    looks_opaque,
    looks_random,
)


class Check(Enum):
    """What a secret must look like beyond its pattern."""

    NONE = auto()
    GIVEN = auto()
    GIVEN_IN_ADDRESS = auto()
    VALUE = auto()
    OPAQUE = auto()
    MIXED = auto()
    RANDOM = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of credential; a folded rule ignores case and has lower-case anchors."""

    name: str
    pattern: str
    anchors: tuple[str, ...] = ()
    folded: bool = False
    check: Check = Check.NONE

    def accepts(self, secret: str) -> bool:
        match self.check:
            case Check.NONE:
                return True
            case Check.GIVEN:
                return not is_reference(secret)
            case Check.GIVEN_IN_ADDRESS:
                return not is_reference_in_address(secret)
            case Check.VALUE:
                return looks_like_a_value(secret)
            case Check.OPAQUE:
                return looks_opaque(secret)
            case Check.MIXED:
                return looks_mixed(secret)
            case Check.RANDOM:
                return looks_random(secret)
            case _:
                assert_never(self.check)


def _tokens(*rows: tuple[str, str, str, int]) -> tuple[Rule, ...]:
    """Rules for tokens that say what they are: name, prefixes, body class and the least length of the body."""
    return tuple(
        Rule(
            name=name,
            pattern=rf"\b((?:{'|'.join(map(re.escape, prefixes.split()))}){body}{{{least},}})",
            anchors=tuple(prefixes.split()),
        )
        for name, prefixes, body, least in rows
    )


def _named(name: str, names: str, secret: str, *, check: Check = Check.NONE) -> Rule:
    """A rule for a value behind a name, as in headers, JSON, YAML, forms and assignments."""
    return Rule(
        name=name,
        pattern=f"(?i:{'|'.join(map(re.escape, names.split()))}){_IS}({secret})",
        anchors=tuple(names.split()),
        folded=True,
        check=check,
    )


_IS = r"""\\{0,3}["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\{0,3}["']?"""
_QUOTE = r"""\\{0,3}["']"""
_HEADER_IS = (
    rf"(?:{_QUOTE}[ \t]{{0,4}}(?:=>|[:=])[ \t]{{0,4}}{_QUOTE}|[ \t]{{0,4}}[:=][ \t]{{0,4}}(?:{_QUOTE})?)"
)
_FLAG = (
    "--(?i:(?:(?:access|admin|api|app|auth|bot|client|database|db|gateway|git|github|gitlab|http|npm|private|proxy|refresh"
    "|registry|remote|root|service|session|user|vault)-)?(?:token|password|passwd|passphrase|secret|secret-key)|(?:[a-z0-9]{1,16}-){0,2}api-?key)"
)
_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_]"
_URL = "[A-Za-z0-9_-]"
_DOTTED = "[A-Za-z0-9_.-]"
_BASE64 = "[A-Za-z0-9+/=_-]"
_HEX = "[0-9a-fA-F]"
_OPAQUE = "[A-Za-z0-9._~+/=%-]"
_UUID_BODY = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

# A key says at once what it is, behind whatever its line begins with, or within some twenty words has a line of it.
_MARGIN = r"[^A-Za-z0-9-]*(?:[nr][^A-Za-z0-9-]+)?(?:[0-9]{1,6}[^A-Za-z0-9-]+)?(?:\\{1,7}[nr])*"
_KEY_BEGINS = rf"{_MARGIN}(?:[A-Za-z0-9+/=\\]{{18}}|MI[A-I]|MHc|MHQ|MC4|b3Bl|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):)"
_KEY_FOLLOWS = (
    r"(?:(?:-{0,2}[^- \t\r\n])*-{0,2}[ \t\r\n]){0,20}?(?:-{0,2}[^- \t\r\n])*?[G-Z][A-Za-z0-9+/=\\]{39}"
)
_TO_ITS_END = "(?:[^-]|-{1,4}[^-]|-{5,}[^-E])*"

# A command that stands for its output, and what a template puts in, may go on behind the next space.
_DOLLAR = r"""\$(?:[^ \t\r\n"'`\\;|&)<>({]|\{[^ \t\r\n"'`\\;|&)<>{])"""

_NOT_IN_PLACE = r"""@/ \t\r\n"'<>"""
"""What ends the part of an address that says who and where; more of it may follow an `@` that is not the last."""

_SELF_NAMED = _tokens(
    ("openai-style", "sk-", _URL, 20),
    ("elevenlabs", "sk_", _HEX, 40),
    ("stripe", "sk_live_ sk_test_ rk_live_ rk_test_", _ALNUM, 10),
    ("stripe-webhook", "whsec_", _BASE64, 20),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", _WORD, 20),
    ("github-fine-grained", "github_pat_", _WORD, 20),
    (
        "gitlab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        _DOTTED,
        16,
    ),
    ("slack", "xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxc- xoxd- xoxe. xapp-", "[A-Za-z0-9.%/+-]", 12),
    ("google-api-key", "AIza", _URL, 30),
    ("google-access", "ya29.", _URL, 20),
    ("google-refresh", "1//0", _URL, 20),
    ("google-client", "GOCSPX-", _URL, 20),
    ("groq", "gsk_", _ALNUM, 20),
    ("perplexity", "pplx-", _ALNUM, 20),
    ("fal", "fal_", "[A-Za-z0-9:-]", 20),
    ("npm", "npm_", _ALNUM, 20),
    ("pypi", "pypi-AgE", _URL, 16),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", _HEX, 32),
    ("docker", "dckr_pat_ dckr_oat_", _URL, 20),
    ("hugging-face", "hf_ api_org_", _ALNUM, 20),
    ("replicate", "r8_", _ALNUM, 20),
    ("xai", "xai-", _ALNUM, 20),
    ("tavily", "tvly-", _URL, 16),
    ("exa", "exa_", "[A-Za-z0-9-]", 20),
    ("atlassian", "ATATT ATCTT ATBB", _BASE64, 20),
    ("supabase", "sbp_ sb_secret_", _WORD, 20),
    ("databricks", "dapi", _HEX, 32),
    ("grafana", "glsa_ glc_", _BASE64, 20),
    ("contentful", "CFPAT-", _URL, 20),
    ("heroku", "HRKU-", _URL, 20),
    ("matrix", "syt_ syr_", _BASE64, 16),
    ("shopify", "shpat_ shpca_ shppa_ shpss_", _HEX, 24),
    ("linear", "lin_api_ lin_oauth_", _ALNUM, 20),
    ("notion", "ntn_", _ALNUM, 30),
    ("notion-legacy", "secret_", _ALNUM, 40),
    ("postman", "PMAK-", _URL, 24),
    ("sentry", "sntrys_ sntryu_", _BASE64, 20),
    ("nvidia", "nvapi-", _URL, 20),
    ("brevo", "xkeysib- xsmtpsib-", _URL, 32),
    ("rubygems", "rubygems_", _HEX, 32),
    ("vault", "hvs. hvb. hvr.", _URL, 20),
    ("tailscale", "tskey-", _URL, 16),
    ("pulumi", "pul-", _HEX, 32),
    ("doppler", "dp.pt. dp.st. dp.ct. dp.sa.", _DOTTED, 20),
    ("newrelic", "NRAK- NRAA- NRII-", _URL, 20),
    ("figma", "figd_ figu_", _URL, 20),
    ("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", _DOTTED, 20),
    ("square", "sq0atp- sq0csp-", _URL, 20),
    ("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 20),
    ("langsmith", "lsv2_pt_ lsv2_sk_", _WORD, 20),
    ("firecrawl", "fc-", "[0-9a-f]", 32),
    ("posthog", "phx_ phs_", _ALNUM, 20),
    ("fly", "fo1_ fm1_ fm2_", _BASE64, 20),
    ("render", "rnd_", _ALNUM, 20),
    ("netlify", "nfp_ nfc_ nfo_", _ALNUM, 20),
    ("artifactory", "AKCp", _ALNUM, 40),
    ("clojars", "CLOJARS_", _HEX, 40),
    ("circleci", "CCIPAT_ CCIPRJ_", _WORD, 20),
    ("buildkite", "bkua_ bkct_", _ALNUM, 20),
    ("sonar", "sqp_ squ_ sqa_", _HEX, 40),
    ("together", "tgp_v1_", _URL, 20),
    ("cerebras", "csk-", _ALNUM, 20),
    ("fireworks", "fw_", _ALNUM, 20),
    ("jina", "jina_", _ALNUM, 30),
    ("prefect", "pnu_ pnb_", _ALNUM, 20),
    ("1password", "ops_eyJ", _BASE64, 20),
    ("dynatrace", "dt0c01.", _DOTTED, 24),
    ("e2b", "e2b_", _HEX, 32),
    ("razorpay", "rzp_live_ rzp_test_", _ALNUM, 14),
    ("plaid", "access-sandbox- access-development- access-production-", "[0-9a-f-]", 30),
    ("easypost", "EZAK EZTK", _ALNUM, 40),
    ("flutterwave", "FLWSECK-", _ALNUM, 20),
    ("infracost", "ico-", _ALNUM, 32),
)

_SHAPED = (
    Rule(  # behind its first line up to the next, or to the end; words that only mention that line are no key
        name="private-key",
        pattern=rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----((?:{_KEY_BEGINS}|{_KEY_FOLLOWS}){_TO_ITS_END})(?:-{{5}}|-{{0,4}}$)",
        anchors=("-----BEGIN ",),
    ),
    Rule(
        name="jwt",
        pattern=rf"\b(eyJ{_URL}{{8,512}}\.{_URL}{{8,}}\.{_URL}{{8,}})",
        anchors=("eyJ",),
    ),
    Rule(
        name="aws-key-id",
        pattern=r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        anchors=("AKIA", "ASIA", "ABIA", "ACCA"),
    ),
    Rule(name="sendgrid", pattern=rf"\b(SG\.{_URL}{{16,32}}\.{_URL}{{16,}})", anchors=("SG.",)),
    Rule(name="resend", pattern=rf"\b(re_{_ALNUM}{{8}}_{_ALNUM}{{20,}})", anchors=("re_",)),
    Rule(name="airtable", pattern=rf"\b(pat{_ALNUM}{{14}}\.[0-9a-f]{{60,}})", anchors=("pat",)),
    Rule(name="mailgun", pattern=r"\b(key-[0-9a-f]{32})\b", anchors=("key-",)),
    Rule(name="twilio", pattern=r"\b(SK[0-9a-f]{32})\b", anchors=("SK",)),
    Rule(name="telegram", pattern=rf"\b[0-9]{{6,16}}:({_URL}{{20,}})", check=Check.RANDOM),
    Rule(name="telegram-address", pattern=rf"\bbot[0-9]{{6,16}}:({_URL}{{20,}})", anchors=("bot",)),
    Rule(name="discord", pattern=rf"\b([MNO]{_URL}{{23,27}}\.{_URL}{{6}}\.{_URL}{{27,}})"),
    Rule(
        name="slack-webhook",
        pattern=r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})",
        anchors=("hooks.slack.com/",),
    ),
    Rule(
        name="discord-webhook",
        pattern=rf"discord(?:app)?\.com/api/webhooks/[0-9]{{6,24}}/({_URL}{{20,}})",
        anchors=("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
    ),
    Rule(
        name="url-password",
        pattern=rf"""://[^ \t\r\n/:"'<>]*:([^{{{_NOT_IN_PLACE}][^{_NOT_IN_PLACE}]*(?:@[^?#,{_NOT_IN_PLACE}]*)*)@""",
        anchors=("://",),
        check=Check.GIVEN_IN_ADDRESS,
    ),
    Rule(  # what begins as a port does is the place of something
        name="url-password-slashed",
        pattern=rf"""://[^ \t\r\n/:@"'<>\[]*:([0-9]*[^{{0-9{_NOT_IN_PLACE}](?:/?[^{_NOT_IN_PLACE}])*)@""",
        anchors=("://",),
        check=Check.GIVEN_IN_ADDRESS,
    ),
)

_IN_CONTEXT = (
    Rule(
        name="authorization",
        pattern=rf"\b(?i:authorization){_IS}(?i:bearer|basic|bot|token|digest|negotiate|apikey|key)[ \t]{{1,4}}"
        rf"([A-Za-z0-9._~+/=-]{{4,}})",
        anchors=("authorization",),
        folded=True,
    ),
    Rule(
        name="authorization-other",
        pattern=rf"\b(?i:authorization){_IS}(?:[A-Za-z][A-Za-z0-9-]{{1,24}}[ \t]{{1,4}})?([A-Za-z0-9._~+/-]{{20,}}={{0,2}})",
        anchors=("authorization",),
        folded=True,
        check=Check.OPAQUE,
    ),
    Rule(
        name="bearer",
        pattern=rf"\b(?i:bearer)[ \t]{{1,4}}({_OPAQUE}{{18,}})",
        anchors=("bearer",),
        folded=True,
    ),
    Rule(
        name="own-header",
        pattern=rf"\b(?i:x-(?:[a-z0-9]{{1,16}}-){{0,3}}(?:api-?key|auth-?key|access-key|token|secret|password)|private-token)"
        rf"""{_HEADER_IS}([^ \t\r\n"'\\;<${{][^ \t\r\n"'\\;]*|{_DOLLAR}[^ \t\r\n"'\\;]*)""",
        anchors=("x-", "private-token"),
        folded=True,
        check=Check.VALUE,
    ),
    _named(
        "token-header",
        "api-key access-token auth-token gateway-token private-token vault-token security-token subscription-key",
        "[A-Za-z0-9._~+/%-]{12,}={0,2}",
        check=Check.OPAQUE,
    ),
    _named(
        "aws-secret",
        "aws_secret_access_key aws_secret_key secretaccesskey secret_access_key",
        "[A-Za-z0-9/+=]{40,}",
    ),
    _named("azure", "accountkey sharedaccesskey sharedaccesssignature", "[A-Za-z0-9+/%&=_.-]{20,}"),
    _named(
        "payment", "cardnumber card_number cvv cvc iban account_number", "[A-Z]{0,2}[0-9][0-9A-Z -]{2,33}"
    ),
    _named("uuid-credential", "api_key apikey api-key token secret password", _UUID_BODY),
    _named(
        "assignment",
        "_key -key apikey secretkey accesskey privatekey authkey token secret password passwd passphrase",
        "[A-Za-z0-9+/_.~-]{18,}={0,2}",
        check=Check.RANDOM,
    ),
    Rule(
        name="quoted-password",
        pattern=r"""(?i:password|passwd|passphrase)\\{0,3}["'][ \t]{0,4}(?:=>|[:=])[ \t]{0,4}\\{0,3}["']"""
        r"""([^ \t\r\n"'\\<>{][^\r\n"'\\]*)""",
        anchors=("password", "passwd", "passphrase"),
        folded=True,
        check=Check.GIVEN,
    ),
    Rule(  # what goes on with a dot or a bracket is code, not a value
        name="password",
        pattern=rf"(?i:password|passwd|passphrase|_secret|_token){_IS}"
        r"([A-Za-z0-9!#%&+/?@^_~-][A-Za-z0-9!#$%&*+/?@^_~-]{5,})[.]?(?:[^A-Za-z0-9.(\[]|$)",
        anchors=("password", "passwd", "passphrase", "_secret", "_token"),
        folded=True,
        check=Check.MIXED,
    ),
    Rule(
        name="query",
        pattern=r"[?&](?i:access_token|refresh_token|id_token|auth_token|client_secret|api_?key|password|passwd|pwd"
        r"|secret|token)=([A-Za-z0-9._~+/%!-]{6,})",
        anchors=("?", "&"),
    ),
    Rule(
        name="signed-query",
        pattern=r"[?&](?i:key|code|sig|signature|auth|x-amz-signature|x-amz-security-token|x-goog-signature)="
        r"([A-Za-z0-9._~+/%-]{16,})",
        anchors=("?", "&"),
        check=Check.MIXED,
    ),
    Rule(
        name="form",
        pattern=r"(?i:access_token|refresh_token|id_token|client_secret)=([A-Za-z0-9._~+/%-]{8,}={0,2})",
        anchors=("access_token=", "refresh_token=", "id_token=", "client_secret="),
        folded=True,
        check=Check.MIXED,
    ),
    *(
        Rule(
            name=f"flag-{name}",
            pattern=rf"{_FLAG}(?:=|[ \t]{{1,4}}|{_QUOTE},[ \t\r\n]{{0,16}})\\{{0,3}}{quote}"
            rf"([^{quote}\\\r\n<{{](?:[^{quote}\\\r\n]|\\[^{quote}\\\r\n])*)\\{{0,3}}{quote}",
            anchors=("--",),
            check=Check.GIVEN,
        )
        for name, quote in (("quoted", '"'), ("single-quoted", "'"))
    ),
    Rule(
        name="flag",
        pattern=rf"""{_FLAG}(?:=|[ \t]{{1,4}})["']?([^ \t\r\n"'`=$<{{(-][^ \t\r\n"'`]*|{_DOLLAR}[^ \t\r\n"'`\\;|&)<>]*)""",
        anchors=("--",),
        check=Check.VALUE,
    ),
)

RULES: tuple[Rule, ...] = (*_SELF_NAMED, *_SHAPED, *_IN_CONTEXT)
