"""Where a Bedrock request goes: the region, and the host that serves it.

Order of the region: the one in an ARN, the option `region`, `AWS_REGION`, `AWS_DEFAULT_REGION`, the one of the chosen
profile, the one in a base URL of the service itself, then `us-east-1`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.errors import ConfigError

DEFAULT_REGION = "us-east-1"

_ARN = re.compile(r"^arn:aws[a-z-]*:(?:bedrock|sagemaker):([a-z0-9-]+):")
_STANDARD_HOST = re.compile(r"^bedrock-runtime(-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_SUFFIXES = (
    ("cn-", "amazonaws.com.cn"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eusc-", "amazonaws.eu"),
)


class Endpoint(msgspec.Struct, frozen=True):
    """The address of a request and the region that its signature names."""

    url: str
    region: str


class AwsEnvironment:
    """AWS variables of a request: its own `env` first, then those of the process."""

    def __init__(self, options: StreamOptions) -> None:
        self._own: Mapping[str, str] = options.env or {}
        self._extra = options.extra or {}

    def get(self, name: str) -> str:
        """The variable `name`; empty where it is not set."""
        return (self._own.get(name) or os.environ.get(name) or "").strip()

    def is_on(self, name: str) -> bool:
        """Whether a switch is set to `1` or `true`."""
        return self.get(name).lower() in ("1", "true")

    def option(self, name: str) -> str:
        """An option that only this API knows; empty where it is not given."""
        value = self._extra.get(name)
        return value.strip() if isinstance(value, str) else ""

    @property
    def own_profile(self) -> str:
        """The profile that was chosen for this request or stored with the credential, not by the process."""
        return self.option("profile") or (self._own.get("AWS_PROFILE") or "").strip()

    @property
    def profile(self) -> str:
        """The profile in effect; empty for none."""
        return self.own_profile or self.get("AWS_PROFILE")


def endpoint_of(model: Model, env: AwsEnvironment) -> Endpoint:
    """Where to send a request for `model`. Raises `ConfigError` for a region that is none."""
    chosen = _chosen_region(model, env)
    host = urlsplit(model.base_url).hostname or ""
    standard = _STANDARD_HOST.match(host)
    region = chosen or (standard[2] if standard else DEFAULT_REGION)
    if not _REGION.fullmatch(region):
        raise ConfigError(f"{region!r} is no AWS region; correct AWS_REGION, or the region of the profile")
    custom = model.base_url if host and not standard else _variable_endpoint(env)
    if custom:
        base = custom
    elif standard and not chosen:
        base = model.base_url
    else:
        is_fips = env.is_on("AWS_USE_FIPS_ENDPOINT") or bool(standard and standard[1])
        base = f"https://bedrock-runtime{'-fips' if is_fips else ''}.{region}.{_suffix(region)}"
    return Endpoint(f"{base.rstrip('/')}/model/{quote(model.id, safe='')}/converse-stream", region)


def is_gov_cloud(model: Model, region: str) -> bool:
    """Whether a request goes to the government's regions, which lag behind in what they understand."""
    return region.startswith("us-gov-") or model.id.startswith(("us-gov.", "arn:aws-us-gov:"))


def _chosen_region(model: Model, env: AwsEnvironment) -> str:
    arn = _ARN.match(model.id)
    if arn:
        return arn[1]
    named = env.option("region") or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    return named or (_profile_region(env) if env.profile else "")


def _profile_region(env: AwsEnvironment) -> str:
    """The region that a profile names in the shared configuration file."""
    import configparser

    path = Path(env.get("AWS_CONFIG_FILE") or "~/.aws/config").expanduser()
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"the AWS configuration {str(path)!r} cannot be read: {error}") from error
    section = "default" if env.profile == "default" else f"profile {env.profile}"
    return parser.get(section, "region", fallback="").strip()


def _variable_endpoint(env: AwsEnvironment) -> str:
    if env.is_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        return ""
    return env.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME") or env.get("AWS_ENDPOINT_URL")


def _suffix(region: str) -> str:
    return next((suffix for prefix, suffix in _SUFFIXES if region.startswith(prefix)), "amazonaws.com")
