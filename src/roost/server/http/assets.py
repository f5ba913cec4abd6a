"""The page that people open: files inside the package, as they were built. No credential is needed to load it."""

import gzip
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response

from roost.server.http.offers import NOT_FOUND
from roost.server.http.pages import Turned

BUILT = "web"
INDEX = "index.html"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)
HEADERS = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)
# The names of these follow from what is in them.
NAMED, FOR_EVER, ASKED_AGAIN = "assets/", "public, max-age=31536000, immutable", "no-cache"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "md": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One file, compressed when it is first asked for."""

    name: str
    body: bytes

    @cached_property
    def packed(self) -> bytes:
        return gzip.compress(self.body, mtime=0)

    @cached_property
    def tag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:32]}"'

    def response(self, request: Request) -> Response:
        headers = {
            **HEADERS,
            "Cache-Control": FOR_EVER if self.name.startswith(NAMED) else ASKED_AGAIN,
            "ETag": self.tag,
            "Vary": "Accept-Encoding",
        }
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        body = self.body
        if "gzip" in request.headers.get("accept-encoding", ""):
            body, headers["Content-Encoding"] = self.packed, "gzip"
        return Response(body, headers=headers, media_type=_TYPES[self.name.rpartition(".")[2]])


class Assets:
    def __init__(self) -> None:
        self._all = {name: Asset(name=name, body=file.read_bytes()) for name, file in _built()}

    async def index(self, request: Request) -> Response:
        return self._all[INDEX].response(request)

    async def file(self, request: Request) -> Response:
        asset = self._all.get(request.url.path.removeprefix("/"))
        if asset is None:
            raise Turned(NOT_FOUND, "there is no such file", "not_found")
        return asset.response(request)


def _built() -> list[tuple[str, Traversable]]:
    """The files that are served, by their paths; what a build says about itself is not."""
    root = files("roost") / BUILT
    found = [*root.iterdir(), *(root / NAMED).iterdir()]
    prefix = {one.name: NAMED for one in (root / NAMED).iterdir()}
    served = [one for one in found if one.is_file() and one.name.rpartition(".")[2] in _TYPES]
    return [(prefix.get(one.name, "") + one.name, one) for one in served]
