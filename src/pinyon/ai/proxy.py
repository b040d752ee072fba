"""Which proxy the environment names for a URL: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

The lower-case spelling of a variable wins over the upper-case one, as in curl. For an `https` URL, `HTTP_PROXY` counts
where neither of the other two is set. `NO_PROXY` is a list, separated by commas or blanks, of host names (with their
subdomains, a leading dot or `*.` changes nothing), addresses, networks such as `10.0.0.0/8`, each optionally with a
port, or `*` for all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, env: Mapping[str, str] | None = None) -> str | None:
    """The proxy URL for `url`, None for a direct connection. `env` overrides the process environment by name."""
    if not _names_any_proxy(os.environ) and not (env and _names_any_proxy(env)):
        return None
    parts = urlsplit(url)
    proxy = _variable(f"{parts.scheme}_proxy", env) or _variable("all_proxy", env) or _variable("http_proxy", env)
    if not proxy or is_excluded(parts.hostname or "", parts.port, parts.scheme, _variable("no_proxy", env)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_excluded(host: str, port: int | None, scheme: str, no_proxy: str) -> bool:
    """Whether `no_proxy` exempts the host."""
    port = port or _DEFAULT_PORTS.get(scheme)
    return any(_matches(rule, host.lower(), port) for rule in no_proxy.lower().replace(",", " ").split())


def _names_any_proxy(env: Mapping[str, str]) -> bool:
    return any(name in env or name.upper() in env for name in ("http_proxy", "https_proxy", "all_proxy"))


def _variable(name: str, env: Mapping[str, str] | None) -> str:
    for source in (env or {}, os.environ):
        for spelling in (name, name.upper()):
            if spelling in source:
                return source[spelling].strip()
    return ""


def _matches(rule: str, host: str, port: int | None) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        return _is_in_network(host, rule)
    name, rule_port = _split_port(rule)
    if rule_port is not None and rule_port != port:
        return False
    name = name.removeprefix("*").removeprefix(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split_port(rule: str) -> tuple[str, int | None]:
    if rule.startswith("["):
        address, _, rest = rule[1:].partition("]")
        return address, int(rest[1:]) if rest[1:].isdigit() else None
    name, colon, digits = rule.rpartition(":")
    if colon and digits.isdigit() and ":" not in name:
        return name, int(digits)
    return rule, None


def _is_in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
