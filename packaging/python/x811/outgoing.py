"""Requests to one ledger: directly, or through the proxy that the environment names. The rules are those of the
command (crates/client/src/outgoing.rs)."""

import base64
import http.client
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy. Its headers may hold a password, and are not shown by `repr`."""

    host: str
    port: int
    headers: dict[str, str] = field(repr=False)


def _address(text: str):
    """Returns the IP address that a host is, in any spelling of IPv4 (`127.1`); None if it is a name."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text))
    except OSError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    if address is None:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _is_exempt(host: str, entry: str) -> bool:
    """True if an entry of NO_PROXY names the host: `*`, an address, a network, or a domain with what is under it."""
    if entry == "*":
        return True
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    domain = entry.removeprefix(".").lower()
    return domain != "" and (host == domain or host.endswith(f".{domain}"))


def proxy_for(url: SplitResult, environment: Mapping[str, str]) -> Proxy | None:
    """Returns the proxy for a URL; None for a loopback host, or where the environment names none."""
    value = lambda name: environment.get(name, environment.get(name.lower(), ""))
    host = url.hostname or ""
    # In CGI, HTTP_PROXY is a header of the request that is answered.
    if "REQUEST_METHOD" in environment or _is_loopback(host):
        return None
    if any(_is_exempt(host, entry.strip()) for entry in value("NO_PROXY").split(",")):
        return None
    names = ("HTTPS_PROXY" if url.scheme == "https" else "HTTP_PROXY", "ALL_PROXY")
    return next((_proxy(name, value(name)) for name in names if value(name)), None)


def _proxy(name: str, text: str) -> Proxy:
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host = None
    if parts.scheme != "http" or not host:
        # It may hold a password: it is not shown.
        raise ValueError(f"{name} is not the address of an HTTP proxy: set it to http://HOST:PORT, "
                         "or name the ledger's host in NO_PROXY")
    if parts.username is None:
        return Proxy(host, port, {})
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(host, port, {"Proxy-Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"})


class Route:
    """The connections to the server of a URL. `authority` is its host, with the port unless it is the default one."""

    def __init__(self, url: SplitResult, environment: Mapping[str, str]):
        self._proxy = proxy_for(url, environment)
        self._is_secure = url.scheme == "https"
        self._host, self._port = url.hostname, url.port
        name = f"[{self._host}]" if ":" in self._host else self._host
        is_usual = self._port in (None, 443 if self._is_secure else 80)
        self.authority = name if is_usual else f"{name}:{self._port}"

    def send(self, method, path, body, headers, timeout_s) -> tuple[http.client.HTTPResponse, socket.socket]:
        """Sends a request. Returns the response and its socket; raises OSError or HTTPException if there is none."""
        proxy = self._proxy
        kind = http.client.HTTPSConnection if self._is_secure else http.client.HTTPConnection
        host, port = (proxy.host, proxy.port) if proxy else (self._host, self._port)
        connection = kind(host, port, timeout=timeout_s)
        if proxy and self._is_secure:
            connection.set_tunnel(self._host, self._port, proxy.headers)
        elif proxy:
            # In plain HTTP the request goes to the proxy, with the whole URL in its first line.
            path, headers = f"http://{self.authority}{path}", headers | proxy.headers
        try:
            connection.request(method, path, body, headers)
            # The connection forgets its socket where the answer is the last one on it.
            opened = connection.sock
            return connection.getresponse(), opened
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
