"""The guard of our HTTP servers: the right host, the right token, and strict headers.

The Host header is checked because a page of any site could otherwise reach a server on this machine
through a name that it lets point here.
"""

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_COOKIE = "kernelmill_token"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Wraps an application. Without a token only programs of this machine may connect."""

    def __init__(self, app: ASGIApp, host: str, token: str = "") -> None:
        self._app = app
        self._hosts = {*LOOPBACK, host}
        self._any_host = host in ("0.0.0.0", "::")
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if not self._any_host and host not in self._hosts:
            return PlainTextResponse("this server does not have that name\n", 421)
        origin = headers.get("origin", "")
        if origin and origin.partition("://")[2] != headers.get("host", ""):
            return PlainTextResponse("pages of other sites may not connect\n", 403)
        if not self._token:
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        given = query.pop("token", [""])[0]
        if given and hmac.compare_digest(given.encode(), self._token.encode()):
            return self._redirect(scope, query)
        if self._is_known(headers):
            return None
        return PlainTextResponse("a token is needed: open the address that was printed\n", 401)

    def _redirect(self, scope: Scope, query: dict[str, list[str]]) -> Response:
        """Keep the token in a cookie, out of the address."""
        rest = urlencode(query, doseq=True)
        response = RedirectResponse(f"{scope['path']}{'?' if rest else ''}{rest}", 303)
        response.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
        return response

    def _is_known(self, headers: Headers) -> bool:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            cookie = None
        given = [cookie.value] if cookie is not None else []
        given += [bearer.strip()] if scheme.lower() == "bearer" else []
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in given)
