"""How a Bedrock request is signed: a bearer token, or Signature Version 4 with what the credential chain finds.

Tokens need nothing. Signatures and the chain are the vendor's own code (`botocore`, the extra `bedrock`), imported on
first use; looking credentials up may block (files, commands, metadata services) and happens in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pinyon._util.abort import until_aborted
from pinyon._util.thread import in_daemon_thread
from pinyon.ai.apis.bedrock_region import AwsEnvironment, Endpoint
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.errors import AuthError

SERVICE = "bedrock"
TOKEN_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105 - the variable's name

_CHAIN_VARIABLES = (
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_EC2_METADATA_DISABLED",
    "HOME",
)


class Keys(msgspec.Struct, frozen=True):
    """What signatures are made with; never shown."""

    access_key: str
    secret_key: str
    token: str = ""

    def __repr__(self) -> str:
        return "Keys(...)"


class Signature(msgspec.Struct):
    """The headers that sign a request, and the credentials that must not show in any text."""

    headers: dict[str, str]
    secrets: list[str]


def bearer_token(options: StreamOptions, env: AwsEnvironment) -> str:
    """The bearer token of a request; empty for none."""
    return env.option("bearer_token") or (options.api_key or "").strip() or env.get(TOKEN_VARIABLE)


async def sign(
    model: Model,
    options: StreamOptions,
    env: AwsEnvironment,
    endpoint: Endpoint,
    headers: Mapping[str, str],
    body: bytes,
) -> Signature:
    """What signs this request. Raises `AuthError` when there is no credential or the extra is missing."""
    if env.is_on("AWS_BEDROCK_SKIP_AUTH"):
        return Signature({}, [])
    token = bearer_token(options, env)
    if token:
        return Signature({"Authorization": f"Bearer {token}"}, [token])
    work = in_daemon_thread(lambda: _signature(model, env, endpoint, headers, body), "pinyon-aws-credentials")
    return await (work if options.signal is None else until_aborted(work, options.signal))


def _signature(
    model: Model, env: AwsEnvironment, endpoint: Endpoint, headers: Mapping[str, str], body: bytes
) -> Signature:
    """Find keys and sign. Runs in a thread."""
    keys = _explicit_keys(env) or _keys_of_chain(env)
    if keys is None:
        raise AuthError(
            f"no AWS credentials for provider {model.provider!r}; set {TOKEN_VARIABLE}, AWS_PROFILE, or "
            f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    signed = _signed_headers(keys, endpoint, headers, body)
    return Signature(signed, [keys.secret_key, keys.token, keys.access_key, signed.get("Authorization", "")])


def _explicit_keys(env: AwsEnvironment) -> Keys | None:
    """Keys from variables, unless a profile was chosen on purpose."""
    access_key, secret_key = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    if env.own_profile or not access_key or not secret_key:
        return None
    return Keys(access_key, secret_key, env.get("AWS_SESSION_TOKEN"))


def _signed_headers(keys: Keys, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError as error:
        raise _missing_extra() from error
    request = AWSRequest(method="POST", url=endpoint.url, data=body, headers=dict(headers))
    credentials = Credentials(keys.access_key, keys.secret_key, keys.token or None)
    SigV4Auth(credentials, SERVICE, endpoint.region).add_auth(request)
    return dict(request.headers.items())


def _missing_extra() -> AuthError:
    return AuthError(
        "signing requests with AWS credentials needs the extra 'bedrock'; install it with "
        f"`pip install 'pinyon[bedrock]'`, or set {TOKEN_VARIABLE}"
    )


_chains: dict[tuple[str, ...], Any] = {}
"""Credentials that the chain found, which renew themselves, by the variables that led to them."""


def _keys_of_chain(env: AwsEnvironment) -> Keys | None:
    """Ask the chain, or credentials it gave before, which renew themselves."""
    key = (*(env.get(name) for name in _CHAIN_VARIABLES), env.own_profile)
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError as error:
        raise _missing_extra() from error
    try:
        found = _chains.get(key) or _new_session(Session, env).get_credentials()
        if found is None:
            return None
        frozen = found.get_frozen_credentials()
    except BotoCoreError as error:
        _chains.pop(key, None)
        raise AuthError(f"the AWS credential chain failed: {error}; check AWS_PROFILE and ~/.aws") from error
    _chains[key] = found
    if not frozen.access_key or not frozen.secret_key:
        return None
    return Keys(frozen.access_key, frozen.secret_key, frozen.token or "")


def _new_session(session_type: Any, env: AwsEnvironment) -> Any:
    # Naming the profile makes the chain pass over the keys of the process, so it is named only where it was chosen.
    session = session_type(profile=env.own_profile or None)
    for variable, name in (("AWS_CONFIG_FILE", "config_file"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials_file")):
        if path := env.get(variable):
            session.set_config_variable(name, path)
    return session
