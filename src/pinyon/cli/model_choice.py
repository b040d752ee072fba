"""Which model the flags ask for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.resolver import ScopedModel
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
    scoped_models: list[ScopedModel] = []


async def choose_model(
    args: CliArgs, services: Services, tree: Session, *, warn: Callable[[str], None], can_cycle: bool = True
) -> ModelChoice:
    """Resolve `--model`, `--models`, `--provider`, `--thinking` and `--api-key`. Raises `ModelError`.

    A session of the demo goes on with its scripted model unless another one is asked for. `can_cycle` says that the
    scope counts later too, when somebody steps through the models.
    """
    is_new = _is_new(tree)
    is_wanted = can_cycle or args.models is not None or (args.model is None and is_new)
    scope = await _scope(args, services, warn) if is_wanted else []
    choice = await _chosen(args, services, tree, warn, scope if is_new else [])
    choice.scoped_models = scope
    return choice


async def _chosen(
    args: CliArgs, services: Services, tree: Session, warn: Callable[[str], None], scope: list[ScopedModel]
) -> ModelChoice:
    if args.model is None:
        return _demo_choice() if _is_demo(tree) else _scoped_choice(args, services, scope)
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


async def _scope(args: CliArgs, services: Services, warn: Callable[[str], None]) -> list[ScopedModel]:
    """The models of `--models` or else of the settings."""
    patterns = args.models or services.settings.get_enabled_models() or []
    if not patterns:
        return []
    scoped, remarks = await services.registry.find_scope(patterns)
    for remark in remarks:
        warn(remark.message)
    return list(scoped)


def _is_new(tree: Session) -> bool:
    projection = tree.build_session_projection()
    return not projection.message_count and projection.model is None


def _scoped_choice(args: CliArgs, services: Services, scope: list[ScopedModel]) -> ModelChoice:
    """Without `--model`: a new session begins in the scope, where there is one."""
    settings = services.settings
    default = {"provider": settings.get_default_provider(), "model_id": settings.get_default_model()}
    found = services.registry.initial_model(**default, scoped=scope) if scope else None
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
