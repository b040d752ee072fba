"""Renewed tokens on their way into the store, so that none is lost when the process dies or the disk
is full.

A refresh token that works once is gone as soon as the server has answered. So the journal writes a record before the
exchange (where that fails, the exchange is not begun), puts the answer into it as soon as it is there, and removes it
when the store has it. A record belongs to exactly one stored token: whoever holds the store's lock and finds one for
the stored token takes its answer instead of asking again. One private file for each record, beside the store.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from pinyon._util import json as _json
from pinyon._util.atomic import replace_file
from pinyon.ai.credential import OAuthCredential, credential_from_wire
from pinyon.errors import AuthError

_SUFFIX = ".renewal"


class RenewalJournal:
    """The records beside the store at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def has_record(self, provider_id: str, stored: OAuthCredential) -> bool:
        """Whether a renewal of the stored token was begun and not ended."""
        return self._record_path(provider_id, stored).exists()

    def recover(self, provider_id: str, stored: OAuthCredential) -> OAuthCredential | None:
        """The answer of a renewal that did not reach the store; None without one. Hold the store's lock."""
        try:
            record = _json.decode(self._record_path(provider_id, stored).read_bytes())
        except (OSError, UnicodeDecodeError, _json.JsonError):
            return None
        credential = credential_from_wire(record.get("credential")) if isinstance(record, dict) else None
        return credential if isinstance(credential, OAuthCredential) else None

    def begin(self, provider_id: str, stored: OAuthCredential) -> None:
        """Make sure that an answer can be written; raises `AuthError` where it cannot."""
        try:
            self._write(provider_id, stored, None)
        except OSError as error:
            raise AuthError(
                f"the sign-in of provider {provider_id!r} was not renewed, because new tokens could not be written "
                f"beside {str(self._path)!r}: {error.strerror or error}; make room and make the folder writable"
            ) from None

    def keep(self, provider_id: str, stored: OAuthCredential, renewed: OAuthCredential) -> None:
        """Write the answer down; raises `OSError`."""
        self._write(provider_id, stored, renewed)

    def drop(self, provider_id: str, stored: OAuthCredential) -> None:
        """Forget the record of a token that is no longer stored, or whose renewal failed."""
        with contextlib.suppress(OSError):
            self._record_path(provider_id, stored).unlink()

    def tidy(self, stored: Iterable[tuple[str, OAuthCredential]]) -> None:
        """Remove records of tokens that are not stored any more. Hold the store's lock."""
        kept = {self._record_path(provider_id, credential).name for provider_id, credential in stored}
        with contextlib.suppress(OSError):
            for path in self._path.parent.glob(f".{self._path.name}.*{_SUFFIX}"):
                if path.name not in kept:
                    path.unlink()

    def _write(self, provider_id: str, stored: OAuthCredential, renewed: OAuthCredential | None) -> None:
        record = {"provider": provider_id, "credential": renewed.to_wire() if renewed else None}
        replace_file(self._record_path(provider_id, stored), _json.encode_pretty(record), private=True)

    def _record_path(self, provider_id: str, stored: OAuthCredential) -> Path:
        import hashlib

        mark = hashlib.sha256(f"{provider_id}\0{stored.refresh}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._path.with_name(f".{self._path.name}.{mark}{_SUFFIX}")
