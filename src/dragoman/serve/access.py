"""Who may ask: by which name of the host, with which key, and from the pages of which sites."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.serve.failures import RequestError

#: A name or address, and perhaps a port; what else there may be in a URL is not for this header.
_HOST = re.compile(rb"([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?", re.IGNORECASE)

#: What a page of any site can have a browser send without asking first.
_FORMS = (b"", b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain")

Headers = Mapping[bytes, bytes]


@dataclass(frozen=True)
class Access:
    """Who may ask: those with the key, if there is one, by one of these names of the host, if they are known."""

    key: str | None = None
    hosts: frozenset[str] | None = None

    def knows(self, given: bytes | None) -> bool:
        """Whether a key is the right one, in UTF-8 or as older clients write headers; without a key, all are known."""
        if self.key is None:
            return True
        wanted = [os.fsencode(self.key)]
        if not self.key.isascii() and all(ord(character) < 256 for character in self.key):
            wanted.append(self.key.encode("latin-1"))
        return any(hmac.compare_digest(given or b"", one) for one in wanted)

    def knows_sender(self, headers: Headers) -> bool:
        """Whether a request has the key in its headers."""
        scheme, _, bearer = headers.get(b"authorization", b"").strip().partition(b" ")
        bearer = bearer if scheme.lower() == b"bearer" else scheme
        return self.knows(headers.get(b"x-api-key") or bearer.strip())

    def check_key(self, given: str | None) -> None:
        """Refuse a request without the key, or with another."""
        if not self.knows((given or "").encode(errors="surrogatepass")):
            raise no_key()

    def check_host(self, headers: Headers) -> None:
        """Refuse a name that is not ours, or is none: another site may have its name lead a browser here."""
        host = headers.get(b"host")
        found = None if host is None else _HOST.fullmatch(host)
        if host is not None and found is None:
            raise RequestError(400, "the host of this request is no name or address with a port")
        if self.hosts is not None and (found is None or found[1].decode().lower() not in self.hosts):
            raise RequestError(421, "the service does not go by the host of this request")


def no_key() -> RequestError:
    """What to say to a stranger."""
    return RequestError(401, "the request has no valid key; send it as Authorization: Bearer KEY, or as X-API-Key")


def check_origin(method: str, headers: Headers, allowed: frozenset[str]) -> None:
    """Refuse forms that pages of other sites send: a browser sends them without asking, though it keeps the answer."""
    origin = headers.get(b"origin")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if method != "POST" or origin is None or kind not in _FORMS:
        return
    own = origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    if not own and not allowed & {"*", origin.decode("latin-1")}:
        raise RequestError(403, "forms of other sites are not answered; expected JSON, or a site that --cors names")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
