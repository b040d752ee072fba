"""Proof Key for Code Exchange (RFC 7636) and the random values of a sign-in."""

from __future__ import annotations

import base64
import os

import msgspec


class Pkce(msgspec.Struct, frozen=True):
    """A verifier and its S256 challenge."""

    verifier: str
    challenge: str

    def __repr__(self) -> str:
        return "Pkce()"


def create_pkce() -> Pkce:
    """A fresh pair from 32 random bytes."""
    verifier = random_token()
    return Pkce(verifier, challenge_of(verifier))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier."""
    import hashlib

    return _base64url(hashlib.sha256(verifier.encode("ascii")).digest())


def random_token() -> str:
    """43 characters that nobody can guess, for verifiers, states, nonces and paths."""
    return _base64url(os.urandom(32))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
