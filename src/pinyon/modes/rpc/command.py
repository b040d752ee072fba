"""The commands of the protocol: what each takes, does and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET

from pinyon._util import json as _json
from pinyon.agent.queue import QueueMode
from pinyon.ai.message import UserMessage
from pinyon.ai.model import Model, parse_level, supported_levels
from pinyon.errors import ConfigError, SessionError

if TYPE_CHECKING:
    from pinyon.coding.pi_agent import PiAgent
    from pinyon.resources.prompt_template import PromptTemplate
    from pinyon.resources.skill import Skill
    from pinyon.session.tree import SessionTreeNode

Choice = TypeVar("Choice", bound=str)
Fields = Mapping[str, Any]
Answer = Any
"""The `data` of a response; None for a response without data."""

NO_DATA = None
NULL = msgspec.Raw(b"null")
"""Data that is null, where the protocol wants it said."""
NO_MODEL = Model(
    id="unknown",
    name="unknown",
    api="unknown",
    provider="unknown",
    base_url="",
    input=[],
    context_window=0,
    max_tokens=0,
)
"""What stands for the model where there is none."""

CommandFn = Callable[["PiAgent", Fields], Awaitable[Answer]]


class BadCommandError(ConfigError):
    """Raised for a command whose fields cannot be used; the text names the field."""


def text_field(fields: Fields, name: str) -> str:
    """A field that must be a text."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise BadCommandError(f"the field {name!r} must be a string, got {_kind(value)}")
    return value


def optional_text(fields: Fields, name: str) -> str | None:
    """A field that is a text where it is given."""
    return None if fields.get(name) is None else text_field(fields, name)


def flag_field(fields: Fields, name: str) -> bool:
    """A field that must be true or false."""
    value = fields.get(name)
    if not isinstance(value, bool):
        raise BadCommandError(f"the field {name!r} must be true or false, got {_kind(value)}")
    return value


def choice_field(fields: Fields, name: str, choices: Sequence[Choice]) -> Choice:
    """A field that must be one of some texts."""
    value = text_field(fields, name)
    for choice in choices:
        if choice == value:
            return choice
    raise BadCommandError(f"the field {name!r} must be one of {', '.join(choices)}, got {value!r}")


def images_field(fields: Fields) -> list[dict[str, Any]]:
    """The images of a message."""
    value = fields.get("images")
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(image, dict) for image in value):
        raise BadCommandError("the field 'images' must be a list of image objects")
    return value


def _kind(value: object) -> str:
    names = {type(None): "nothing", bool: "a boolean", dict: "an object", list: "a list", str: "a string"}
    return names.get(type(value), "a number")


# Messages


async def steer(pi: PiAgent, fields: Fields) -> Answer:
    """Queue a message for after the present turn."""
    message = text_field(fields, "message")
    return {"disposition": await pi.session.steer(message, images_field(fields), source="rpc")}


async def follow_up(pi: PiAgent, fields: Fields) -> Answer:
    """Queue a message for the end of the run."""
    message = text_field(fields, "message")
    return {"disposition": await pi.session.follow_up(message, images_field(fields), source="rpc")}


async def abort(pi: PiAgent, fields: Fields) -> Answer:
    """Stop everything and answer when it has settled."""
    del fields
    await pi.session.abort()


async def clear_queue(pi: PiAgent, fields: Fields) -> Answer:
    """Drop the waiting messages."""
    del fields
    steering, follow_ups = pi.session.clear_queue()
    return {"steering": steering, "followUp": follow_ups}


async def abort_retry(pi: PiAgent, fields: Fields) -> Answer:
    """End the pause before a repeated request."""
    del fields
    pi.session.abort_retry()


async def compact(pi: PiAgent, fields: Fields) -> Answer:
    """Summarise earlier history."""
    return await pi.session.compact(optional_text(fields, "customInstructions"))


async def bash(pi: PiAgent, fields: Fields) -> Answer:
    """Run a shell command of the user."""
    return await pi.session.execute_bash(
        text_field(fields, "command"),
        exclude_from_context=fields.get("excludeFromContext") is True,
        id=fields.get("id"),
    )


async def abort_bash(pi: PiAgent, fields: Fields) -> Answer:
    """Stop all shell commands of the user."""
    del fields
    pi.session.abort_bash()


# State


async def get_state(pi: PiAgent, fields: Fields) -> Answer:
    """What the session is and does."""
    del fields
    session = pi.session
    path = session.session_file
    state = {
        "model": session.model or NO_MODEL,
        "thinkingLevel": session.thinking_level,
        "isStreaming": session.is_streaming,
        "isCompacting": session.is_compacting,
        "steeringMode": session.agent.steering_mode,
        "followUpMode": session.agent.follow_up_mode,
        "sessionFile": str(path) if path is not None else UNSET,
        "sessionId": session.session_id,
        "sessionName": session.session_name or UNSET,
        "autoCompactionEnabled": session.auto_compaction_enabled,
        "messageCount": session.message_count,
        "pendingMessageCount": session.pending_message_count,
    }
    return {key: value for key, value in state.items() if value is not UNSET}


async def get_messages(pi: PiAgent, fields: Fields) -> Answer:
    """The context as it is."""
    del fields
    return {"messages": pi.session.messages}


async def get_session_stats(pi: PiAgent, fields: Fields) -> Answer:
    """Totals over all entries."""
    del fields
    return pi.session.get_session_stats()


async def get_last_assistant_text(pi: PiAgent, fields: Fields) -> Answer:
    """Text of the last complete answer."""
    del fields
    text = pi.session.get_last_assistant_text()
    return {} if text is None else {"text": text}


async def get_entries(pi: PiAgent, fields: Fields) -> Answer:
    """The entries of the session, all or those after one."""
    since, tree = optional_text(fields, "since"), pi.session.session
    entries = tree.get_entries()
    if since is not None:
        at = next((index for index, entry in enumerate(entries) if entry.id == since), None)
        if at is None:
            raise SessionError(f"there is no entry {since!r} in this session")
        entries = entries[at + 1 :]
    return {"entries": [msgspec.Raw(entry.line) for entry in entries], "leafId": tree.get_leaf_id()}


async def get_tree(pi: PiAgent, fields: Fields) -> Answer:
    """The entries as a tree."""
    del fields
    tree = pi.session.session
    return {"tree": msgspec.Raw(b"".join(_tree_pieces(tree.get_tree()))), "leafId": tree.get_leaf_id()}


def _tree_pieces(roots: Sequence[SessionTreeNode]) -> Iterator[bytes]:
    """The JSON of a list of nodes; a conversation is as deep as it is long, so nothing here calls itself."""
    yield b"["
    levels, tails, is_first = [iter(roots)], [b"]"], True
    while levels:
        node = next(levels[-1], None)
        if node is None:
            levels.pop()
            yield tails.pop()
            is_first = False
            continue
        yield b'{"entry":' if is_first else b',{"entry":'
        yield node.entry.line
        yield b',"children":['
        levels.append(iter(node.children))
        tails.append(b"]" + _label(node) + b"}")
        is_first = True


def _label(node: SessionTreeNode) -> bytes:
    if not node.label:
        return b""
    return b"," + _json.encode({"label": node.label, "labelTimestamp": node.label_timestamp})[1:-1]


async def get_fork_messages(pi: PiAgent, fields: Fields) -> Answer:
    """The user messages that the session could be forked at."""
    del fields
    messages = ((entry.id, entry.message) for entry in pi.session.session.get_entries())
    texts = ((entry_id, message.text) for entry_id, message in messages if isinstance(message, UserMessage))
    return {"messages": [{"entryId": entry_id, "text": text} for entry_id, text in texts if text]}


async def get_commands(pi: PiAgent, fields: Fields) -> Answer:
    """Commands that a prompt may name: templates, then skills as `skill:<name>`."""
    del fields
    resources = pi.services.resources
    templates = [_command(each, each.name, "prompt") for each in resources.prompts]
    return {"commands": [*templates, *(_command(each, f"skill:{each.name}", "skill") for each in resources.skills)]}


def _command(resource: PromptTemplate | Skill, name: str, source: str) -> dict[str, Any]:
    command: dict[str, Any] = {"name": name, "description": resource.description, "source": source}
    return command | ({"sourceInfo": resource.source_info.to_wire()} if resource.source_info is not None else {})


async def set_session_name(pi: PiAgent, fields: Fields) -> Answer:
    """Name the session."""
    name = text_field(fields, "name").strip()
    if not name:
        raise BadCommandError("the field 'name' must not be blank")
    pi.session.set_session_name(name)


# Model


async def set_model(pi: PiAgent, fields: Fields) -> Answer:
    """Switch to a model that has credentials."""
    provider, model_id = text_field(fields, "provider"), text_field(fields, "modelId")
    model = pi.services.registry.find(provider, model_id)
    if model is None or not pi.services.registry.has_configured_auth(model):
        raise BadCommandError(f"the model {f'{provider}/{model_id}'!r} was not found among those with credentials")
    await pi.session.set_model(model)
    return model


async def cycle_model(pi: PiAgent, fields: Fields) -> Answer:
    """Switch to the next model: of the scope where there is one, else of those that have credentials."""
    del fields
    return await pi.session.cycle_model() or NULL


async def get_available_models(pi: PiAgent, fields: Fields) -> Answer:
    """The models that have credentials."""
    del fields
    return {"models": pi.services.registry.get_available()}


async def set_thinking_level(pi: PiAgent, fields: Fields) -> Answer:
    """Change the thinking level; what is no level counts as `off`."""
    pi.session.set_thinking_level(parse_level(text_field(fields, "level")) or "off")


async def cycle_thinking_level(pi: PiAgent, fields: Fields) -> Answer:
    """Switch to the next level of the model."""
    del fields
    level = pi.session.cycle_thinking_level()
    return NULL if level is None else {"level": level}


async def get_available_thinking_levels(pi: PiAgent, fields: Fields) -> Answer:
    """The levels of the model."""
    del fields
    model = pi.session.model
    return {"levels": supported_levels(model) if model is not None else ["off"]}


# Sessions


async def new_session(pi: PiAgent, fields: Fields) -> Answer:
    """Start an empty session."""
    change = await pi.new_session(parent_session=optional_text(fields, "parentSession"))
    return {"cancelled": change.cancelled}


async def switch_session(pi: PiAgent, fields: Fields) -> Answer:
    """Open another session file."""
    change = await pi.switch_session(text_field(fields, "sessionPath"))
    return {"cancelled": change.cancelled}


async def fork(pi: PiAgent, fields: Fields) -> Answer:
    """Go on in a new session from before a user message."""
    change = await pi.fork(text_field(fields, "entryId"))
    text = {} if change.selected_text is None else {"text": change.selected_text}
    return {**text, "cancelled": change.cancelled}


async def clone(pi: PiAgent, fields: Fields) -> Answer:
    """Go on in a copy of the session."""
    del fields
    change = await pi.clone()
    return {"cancelled": change.cancelled}


async def export_html(pi: PiAgent, fields: Fields) -> Answer:
    """Write the page of the session."""
    from pinyon.coding.page_export import export_page

    return {"path": str(export_page(pi.session, pi.services, optional_text(fields, "outputPath")))}


_QUEUE_MODES: tuple[QueueMode, ...] = ("all", "one-at-a-time")


async def set_steering_mode(pi: PiAgent, fields: Fields) -> Answer:
    """How many steering messages a turn takes."""
    pi.session.set_steering_mode(choice_field(fields, "mode", _QUEUE_MODES))


async def set_follow_up_mode(pi: PiAgent, fields: Fields) -> Answer:
    """How many follow-ups a turn takes."""
    pi.session.set_follow_up_mode(choice_field(fields, "mode", _QUEUE_MODES))


async def set_auto_compaction(pi: PiAgent, fields: Fields) -> Answer:
    """Switch automatic compaction."""
    pi.session.set_auto_compaction_enabled(flag_field(fields, "enabled"))


async def set_auto_retry(pi: PiAgent, fields: Fields) -> Answer:
    """Switch automatic retry."""
    pi.session.set_auto_retry_enabled(flag_field(fields, "enabled"))


_FUNCTIONS: tuple[CommandFn, ...] = (
    steer, follow_up, abort, clear_queue, abort_retry, compact, bash, abort_bash,
    get_state, get_messages, get_session_stats, get_last_assistant_text, get_entries, get_tree, get_fork_messages,
    get_commands, set_session_name,
    set_model, cycle_model, get_available_models,
    set_thinking_level, cycle_thinking_level, get_available_thinking_levels,
    new_session, switch_session, fork, clone, export_html,
    set_steering_mode, set_follow_up_mode, set_auto_compaction, set_auto_retry,
)  # fmt: skip

COMMANDS: Mapping[str, CommandFn] = {function.__name__: function for function in _FUNCTIONS}
"""Commands by name; `prompt` is the server's own, because it answers before its work is done."""
