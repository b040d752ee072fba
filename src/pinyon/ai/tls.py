"""The TLS context of model requests: made once per process, in a thread, when the first https request needs it.

Certificates come from `SSL_CERT_FILE` or `SSL_CERT_DIR`, else from the system (on macOS and Windows through its own
verifier). `NODE_EXTRA_CA_CERTS` adds a file of further authorities, as people behind inspecting proxies have it set.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.thread import in_daemon_thread, start_daemon
from pinyon.ai.transport import TransportError

if TYPE_CHECKING:
    import ssl

_CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
)
_THREAD = "pinyon-tls"
_EXIT_WAIT_S = 2.0
"""OpenSSL frees its tables at exit; a thread that still reads certificates would then end the program by a crash."""
_lock = threading.Lock()


async def tls_context() -> ssl.SSLContext:
    """The context for model requests. Raises `TransportError` when a configured certificate file is unusable."""
    sources = _configured_sources()
    if _is_ready(sources):
        return _context(*sources)
    return await in_daemon_thread(lambda: _locked_context(sources), _THREAD, exit_wait_s=_EXIT_WAIT_S)


def warm_up() -> None:
    """Start making the context in the background, for programs that know that they will need it soon."""
    sources = _configured_sources()

    def work() -> None:
        try:
            _locked_context(sources)
        except TransportError:
            return  # the first request reports it

    start_daemon(work, _THREAD, exit_wait_s=_EXIT_WAIT_S)


def _configured_sources() -> tuple[str | None, str | None, str | None]:
    get = os.environ.get
    return (get("SSL_CERT_FILE") or None, get("SSL_CERT_DIR") or None, get("NODE_EXTRA_CA_CERTS") or None)


_ready: set[tuple[str | None, str | None, str | None]] = set()


def _is_ready(sources: tuple[str | None, str | None, str | None]) -> bool:
    return sources in _ready


def _locked_context(sources: tuple[str | None, str | None, str | None]) -> ssl.SSLContext:
    with _lock:
        context = _context(*sources)
        _ready.add(sources)
        return context


@lru_cache(maxsize=4)
def _context(cert_file: str | None, cert_dir: str | None, extra_file: str | None) -> ssl.SSLContext:
    import ssl

    try:
        context = _base_context(cert_file, cert_dir)
        if extra_file is not None:
            context.load_verify_locations(cafile=extra_file)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(repr(source) for source in (cert_file, cert_dir, extra_file) if source) or "the system"
        text = f"cannot load TLS certificates from {named}: {error}; check SSL_CERT_FILE and NODE_EXTRA_CA_CERTS"
        raise TransportError(text, "tls") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _base_context(cert_file: str | None, cert_dir: str | None) -> ssl.SSLContext:
    import ssl

    if cert_file or cert_dir:
        return ssl.create_default_context(cafile=cert_file, capath=cert_dir)
    if sys.platform in ("darwin", "win32"):
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.create_default_context()
    if not context.get_ca_certs() and ssl.get_default_verify_paths().capath is None:
        found = next((path for path in _CA_FILES if Path(path).is_file()), None)
        if found is not None:
            context.load_verify_locations(cafile=found)
    return context
