"""Which secrets of a user are known."""

from __future__ import annotations

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import ApiKeyCredential, OAuthCredential
from pinyon.ai.known_secret import known_secrets


def test_keys_tokens_and_key_variables_are_known_and_references_are_not() -> None:
    auth = AuthStorage.in_memory(
        {
            "anthropic": ApiKeyCredential(
                key="literal-key", env={"X": "env-value"}, extra={"sessionToken": "t-1", "note": "n"}
            ),
            "openai": ApiKeyCredential(key="$MY_KEY"),
            "xai": ApiKeyCredential(key="!security find x"),
            "github-copilot": OAuthCredential(access="access-1", refresh="refresh-1", expires=0),
        }
    )
    env = {"OPENROUTER_API_KEY": "from-env", "PATH": "/bin", "GROQ_API_KEY": ""}
    assert known_secrets(auth, env) == {"literal-key", "env-value", "t-1", "access-1", "refresh-1", "from-env"}
