"""Which model the flags ask for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.stream import StreamFn
from pinyon.cli.args import CliArgs
from pinyon.cli.demo import MODEL_ID, PROVIDER, demo_model
from pinyon.coding.services import Services
from pinyon.session.session import Session


class ModelChoice(msgspec.Struct, kw_only=True):
    """Model and level from the flags; None leaves them to the session and the settings."""

    model: Model | None = None
    thinking_level: ThinkingLevel | None = None
    stream_fn: StreamFn | None = None


async def choose_model(args: CliArgs, services: Services, tree: Session, *, warn: Callable[[str], None]) -> ModelChoice:
    """Resolve `--model`, `--provider`, `--thinking` and `--api-key`. Raises `ModelError`.

    A session of the demo goes on with its scripted model unless another one is asked for.
    """
    if args.model is None:
        return _demo_choice() if _is_demo(tree) else await _scoped_choice(args, services, tree, warn)
    if args.model == f"{PROVIDER}/{MODEL_ID}":
        return _demo_choice()
    resolved = await services.registry.resolve_cli(
        args.model, provider=args.provider, thinking_level=args.thinking, has_inline_key=args.api_key is not None
    )
    if resolved.warning:
        warn(resolved.warning)
    if args.api_key is not None:
        services.auth_storage.set_runtime_api_key(resolved.model.provider, args.api_key)
    return ModelChoice(model=resolved.model, thinking_level=resolved.thinking_level)


async def _scoped_choice(args: CliArgs, services: Services, tree: Session, warn: Callable[[str], None]) -> ModelChoice:
    """Without `--model`: a new session begins in the scope of `--models` or of the settings, where there is one."""
    patterns = args.models or services.settings.get_enabled_models() or []
    projection = tree.build_session_projection()
    if not patterns or projection.message_count or projection.model is not None:
        return ModelChoice(thinking_level=args.thinking)
    scoped, remarks = await services.registry.find_scope(patterns)
    for remark in remarks:
        warn(remark.message)
    settings = services.settings
    default = {"provider": settings.get_default_provider(), "model_id": settings.get_default_model()}
    found = services.registry.initial_model(**default, scoped=scoped) if scoped else None
    if found is None:
        return ModelChoice(thinking_level=args.thinking)
    if args.api_key is not None:
        services.auth_storage.set_runtime_api_key(found.model.provider, args.api_key)
    return ModelChoice(model=found.model, thinking_level=args.thinking or found.thinking_level)


def _is_demo(tree: Session) -> bool:
    recorded = tree.build_session_projection().model
    return recorded is not None and (recorded.provider, recorded.model_id) == (PROVIDER, MODEL_ID)


def _demo_choice() -> ModelChoice:
    from pinyon.cli.demo_script import demo_stream

    return ModelChoice(model=demo_model(), stream_fn=demo_stream)
