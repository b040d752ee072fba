"""Renewing the tokens of sign-ins while the store's lock is held, so that no answer of a server is lost on its way."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from pinyon.ai.auth_backend import CredentialBackend, FileBackend
from pinyon.ai.auth_text import parse_entries
from pinyon.ai.credential import Credential, OAuthCredential, credential_from_wire
from pinyon.ai.oauth import REFRESH_TIMEOUT_S, OAuthError, OAuthProvider
from pinyon.ai.provider import canonical_id
from pinyon.ai.renewal_journal import RenewalJournal
from pinyon.errors import AuthError


class Renewals:
    """The renewals of one store. A store in a file has a journal beside it; any other only this process's memory."""

    def __init__(self, backend: CredentialBackend) -> None:
        self._backend = backend
        self._journal = RenewalJournal(backend.path) if isinstance(backend, FileBackend) else None
        self._unstored: dict[str, tuple[OAuthCredential, OAuthCredential]] = {}

    async def exchange(
        self, provider_id: str, flow: OAuthProvider, stored: OAuthCredential, recovered: OAuthCredential | None
    ) -> OAuthCredential:
        """The renewed tokens, written down before anything else happens. The store's lock is held."""
        latest = recovered or stored
        if self._journal is None:
            return await _refresh_in_time(provider_id, flow, latest)
        was_open = self._journal.has_record(provider_id, stored)
        if recovered is None:
            self._journal.begin(provider_id, stored)
        try:
            renewed = await _refresh_in_time(provider_id, flow, latest, was_interrupted=was_open)
        except AuthError:
            if recovered is None:
                self._journal.drop(provider_id, stored)
            raise
        self._unstored[provider_id] = (stored, renewed)
        with contextlib.suppress(OSError):  # the store is written next, and until then this process remembers
            self._journal.keep(provider_id, stored, renewed)
        return renewed

    def recovered(self, provider_id: str, stored: OAuthCredential) -> OAuthCredential | None:
        """What a renewal of the stored token brought that did not reach the store. The store's lock is held."""
        before, renewed = self._unstored.get(provider_id, (None, None))
        if before == stored:
            return renewed
        if self._journal is None:
            return None
        entries = parse_entries(self._backend.load(), self._backend.name)
        named = ((canonical_id(name), credential_from_wire(entry)) for name, entry in entries.items())
        self._journal.tidy((name, entry) for name, entry in named if isinstance(entry, OAuthCredential))
        return self._journal.recover(provider_id, stored)

    def is_open(self, provider_id: str, stored: OAuthCredential) -> bool:
        """Whether a renewal of the stored token was begun and did not reach the store."""
        return self._journal is not None and self._journal.has_record(provider_id, stored)

    def settled(self, provider_id: str, before: Credential | None) -> None:
        """The store was written, and `before` is no longer in it."""
        self._unstored.pop(provider_id, None)
        if self._journal is not None and isinstance(before, OAuthCredential):
            self._journal.drop(provider_id, before)


async def _refresh_in_time(
    provider_id: str, flow: OAuthProvider, credential: OAuthCredential, *, was_interrupted: bool = False
) -> OAuthCredential:
    doing = f"renewing the sign-in of provider {provider_id!r}"
    try:
        async with asyncio.timeout(REFRESH_TIMEOUT_S):
            renewed = await flow.refresh(credential)
        return msgspec.structs.replace(renewed, extra=credential.extra | renewed.extra)
    except TimeoutError:
        raise OAuthError(f"{doing} took longer than {REFRESH_TIMEOUT_S:g} s; try again") from None
    except Exception as error:  # noqa: BLE001 - flows may be extensions, and servers echo tokens
        from pinyon._util.secret import redact

        reason = redact(str(error), [credential.access, credential.refresh])
        hint = " (an earlier renewal was interrupted, so the old token may be used up)" if was_interrupted else ""
        raise OAuthError(f"{doing} failed: {reason}{hint}; try again or sign in again") from None
