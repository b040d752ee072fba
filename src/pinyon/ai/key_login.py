"""Signing in with an API key: what each provider asks for, and the credential that the answers make."""

from __future__ import annotations

from pinyon.ai.config_value import Lookup
from pinyon.ai.credential import ApiKeyCredential
from pinyon.ai.oauth import LoginInteraction, LoginPrompt, SelectOption
from pinyon.ai.provider import canonical_id, display_name, find_provider
from pinyon.errors import AuthError

SUBSCRIPTION_PREFIX = "sk-ant-oat"
"""How tokens begin that Anthropic gives to its own client."""


async def ask_for_key(provider_id: str, interaction: LoginInteraction, look_up: Lookup) -> ApiKeyCredential:
    """Ask the user for what `provider_id` needs. `look_up` gives variables that need no answer.

    Raises `AuthError` for a provider that takes no key and for answers that cannot be one.
    """
    known = find_provider(provider_id)
    if known is not None and "api_key" not in known.auth:
        raise AuthError(f"provider {known.id!r} takes no API key; sign in to it instead")
    form = _Form(canonical_id(provider_id), interaction, look_up)
    match form.provider_id:
        case "amazon-bedrock":
            return await form.bedrock()
        case "google-vertex":
            return await form.vertex()
        case _:
            return await form.key_and_variables()


def literal(text: str) -> str:
    """`text` written so that it stands for itself where `$NAME` and `!command` are resolved."""
    escaped = text.replace("$", "$$")
    return f"$!{escaped[1:]}" if escaped.startswith("!") else escaped


class _Form:
    """The questions of one sign-in."""

    def __init__(self, provider_id: str, interaction: LoginInteraction, look_up: Lookup) -> None:
        self.provider_id = provider_id
        self._interaction = interaction
        self._look_up = look_up

    async def key(self) -> ApiKeyCredential:
        message = f"API key for {display_name(self.provider_id)}"
        key = await self._required(message, secret=True)
        if self.provider_id == "anthropic" and key.startswith(SUBSCRIPTION_PREFIX):
            raise AuthError("that is a subscription token, which works in its own client only; give an API key")
        return ApiKeyCredential(key=literal(key))

    async def key_and_variables(self) -> ApiKeyCredential:
        """A key and the variables that the provider needs beside it; a blank answer leaves one to the environment."""
        credential = await self.key()
        known = find_provider(self.provider_id)
        for name in known.requires if known else ():
            hint = "blank: taken from the environment" if self._look_up(name) else None
            answer = await self._line(name.replace("_", " ").capitalize(), placeholder=hint)
            if answer:
                credential.env[name] = answer
            elif not self._look_up(name):
                raise AuthError(f"provider {self.provider_id!r} needs {name}; give it or set it in the environment")
        return credential

    async def bedrock(self) -> ApiKeyCredential:
        choice = await self._select(
            "How do you sign in to Amazon Bedrock?",
            bearer="Bearer token",
            profile="AWS profile",
            chain="What the AWS tools already use on this machine",
        )
        if choice == "bearer":
            return ApiKeyCredential(key=literal(await self._required("Bedrock bearer token", secret=True)))
        if choice == "profile":
            return ApiKeyCredential(env={"AWS_PROFILE": await self._required("AWS profile", "default")})
        return ApiKeyCredential()

    async def vertex(self) -> ApiKeyCredential:
        choice = await self._select(
            "How do you sign in to Google Vertex AI?",
            key="API key",
            default="Application Default Credentials of this machine",
            file="Service account file",
        )
        if choice == "key":
            return await self.key()
        env = {}
        if choice == "file":
            env["GOOGLE_APPLICATION_CREDENTIALS"] = await self._required("Path of the service account file")
        env["GOOGLE_CLOUD_PROJECT"] = await self._required("Google Cloud project")
        env["GOOGLE_CLOUD_LOCATION"] = await self._required("Google Cloud location", "us-central1")
        return ApiKeyCredential(env=env)

    async def _required(self, message: str, placeholder: str | None = None, *, secret: bool = False) -> str:
        answer = await self._line(message, placeholder, secret=secret)
        if not answer:
            raise AuthError(f"{message}: nothing was given")
        if not answer.isprintable():
            raise AuthError(f"{message}: the answer holds a line break or another control character")
        return answer

    async def _line(self, message: str, placeholder: str | None = None, *, secret: bool = False) -> str:
        prompt = LoginPrompt(type="secret" if secret else "text", message=message, placeholder=placeholder)
        return (await self._interaction.prompt(prompt)).strip()

    async def _select(self, message: str, **labels: str) -> str:
        options = tuple(SelectOption(value=value, label=label) for value, label in labels.items())
        answer = await self._interaction.prompt(LoginPrompt(type="select", message=message, options=options))
        if answer not in labels:
            raise AuthError(f"the answer must be one of {', '.join(labels)}")
        return answer
