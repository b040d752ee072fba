"""What every sign-in flow works with: client ids of the user, the network, the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon._util.ids import uuid4
from pinyon.ai.transport import DEFAULT_TRANSPORT, Transport
from pinyon.errors import AuthError


class SignInContext(msgspec.Struct, kw_only=True):
    """`client_ids` maps provider ids to client ids from the user's settings; variables win over them. `device_id` names
    this installation to providers that ask for it.
    """

    env: Mapping[str, str] | None = None
    client_ids: dict[str, str] = msgspec.field(default_factory=dict)
    device_id: str | None = None
    keep_device_id: Callable[[str], None] | None = None
    transport: Transport = DEFAULT_TRANSPORT
    clock: Clock = SYSTEM_CLOCK

    def use(
        self,
        *,
        client_ids: Mapping[str, str],
        device_id: str | None,
        keep_device_id: Callable[[str], None] | None = None,
    ) -> None:
        """Take over what stands in the user's settings. `keep_device_id` stores a new device id there."""
        self.client_ids = dict(client_ids)
        self.device_id = device_id
        self.keep_device_id = keep_device_id

    def ensure_device_id(self) -> str:
        """What names this installation; made and kept when it is first needed."""
        if self.device_id is None:
            self.device_id = uuid4()
            if self.keep_device_id is not None:
                self.keep_device_id(self.device_id)
        return self.device_id

    def variable(self, name: str) -> str | None:
        """An environment variable; None where it is unset or empty."""
        return (os.environ if self.env is None else self.env).get(name) or None

    def find_client_id(self, provider_id: str) -> str | None:
        """The client id that the user configured for a provider."""
        return self.variable(client_id_variable(provider_id)) or self.client_ids.get(provider_id) or None

    def missing_client(self, provider_id: str) -> str | None:
        """What to do where the user configured no client id; None where there is one."""
        if self.find_client_id(provider_id):
            return None
        return (
            f"signing in to provider {provider_id!r} needs an OAuth client id of your own: register one with the "
            f"provider and set {client_id_variable(provider_id)}, or 'oauth.{provider_id}.clientId' in settings.json"
        )

    def client_id(self, provider_id: str) -> str:
        """The client id that the user configured; raises `AuthError` that says how to."""
        found = self.find_client_id(provider_id)
        if found is None:
            raise AuthError(str(self.missing_client(provider_id)))
        return found


def client_id_variable(provider_id: str) -> str:
    """The variable that holds the client id for a provider."""
    return f"PINYON_OAUTH_{provider_id.upper().replace('-', '_')}_CLIENT_ID"
