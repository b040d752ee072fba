"""Every flag of a chat-completions server: what a request looks like with it, and without it."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
from tests.ai.apis.completions import LS, SYSTEM, USER, ask, model

from pinyon._util import json as wire_json
from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat, completions_compat
from pinyon.ai.apis.openai_message import RESULTS_SEEN
from pinyon.ai.apis.openai_payload import EncodingMemory, build_payload
from pinyon.ai.apis.openai_thinking import _FORMATS
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.testing.fake_openai import delta_chunk, sse_reply

THINKING_OFF: dict[str, dict[str, Any]] = {
    "openai": {},
    "openrouter": {"reasoning": {"effort": "none"}},
    "deepseek": {"thinking": {"type": "disabled"}},
    "zai": {"thinking": {"type": "disabled"}},
    "together": {"reasoning": {"enabled": False}},
    "qwen": {"enable_thinking": False},
    "qwen-chat-template": {"chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": True}},
    "chat-template": {"chat_template_kwargs": {"think": False, "fixed": 1}},
    "baseten": {"chat_template_args": {"on": False}},
    "string-thinking": {"thinking": "none"},
    "ant-ling": {},
}
THINKING_ON: dict[str, dict[str, Any]] = {
    "openai": {"reasoning_effort": "hi"},
    "openrouter": {"reasoning": {"effort": "hi"}},
    "deepseek": {"thinking": {"type": "enabled"}, "reasoning_effort": "hi"},
    "zai": {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "hi"},
    "together": {"reasoning": {"enabled": True}, "reasoning_effort": "hi"},
    "qwen": {"enable_thinking": True, "reasoning_effort": "hi"},
    "qwen-chat-template": {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}},
    "chat-template": {"chat_template_kwargs": {"think": True, "word": "hi", "tokens": 8192 - 1024, "fixed": 1}},
    "baseten": {"chat_template_args": {"on": True}, "reasoning_effort": "hi"},
    "string-thinking": {"thinking": "hi"},
    "ant-ling": {"reasoning": {"effort": "hi"}},
}
TEMPLATES = {
    "chatTemplateKwargs": {
        "think": {"$var": "thinking.enabled"},
        "word": {"$var": "thinking.effort", "omitWhenOff": True},
        "tokens": {"$var": "thinking.budget"},
        "unknown": {"$var": "thinking.colour"},
        "fixed": 1,
    },
    "chatTemplateArgs": {"on": {"$var": "thinking.enabled"}},
}


def answer(*content: Any) -> AssistantMessage:
    return AssistantMessage(
        content=list(content),
        api="openai-completions",
        provider="fake",
        model="fake-1",
        stop_reason="stop",
        usage=Usage(),
        timestamp=2,
    )


def result(*content: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id="1", tool_name="ls", content=list(content), is_error=False, timestamp=3)


CALL = ToolCall("1", "ls", {})
IMAGE = ImageContent("AAAA", "image/png")
HISTORY: list[Message] = [SYSTEM, USER, answer(CALL), result(TextContent("ok")), USER]


def body_of(messages: list[Message], *, reasoning: Any = None, **fields: Any) -> dict[str, Any]:
    target = model(**fields)
    payload = build_payload(
        target, completions_compat(target), messages, StreamOptions(reasoning=reasoning), EncodingMemory()
    )
    return dict(wire_json.decode(wire_json.encode_clean(payload.body)))


def sent(messages: list[Message], **compat: Any) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = body_of(messages, compat=compat, input=["text", "image"])["messages"]
    return wire


def test_every_flag_is_in_a_test() -> None:
    folder = pathlib.Path(__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("test_openai_*.py"))
    names = set(re.findall(r"\w+", text))
    assert set(OpenAICompletionsCompat.__struct_encode_fields__) - names == set()


def test_every_thinking_format_is_in_both_tables() -> None:
    assert set(THINKING_ON) == set(THINKING_OFF) == set(_FORMATS)


@pytest.mark.parametrize(("level", "table"), [("off", THINKING_OFF), ("high", THINKING_ON)])
@pytest.mark.parametrize("form", _FORMATS)
def test_thinking_is_switched_in_the_servers_own_words(level: str, table: dict[str, Any], form: str) -> None:
    plain = body_of(HISTORY)
    compat = {"thinkingFormat": form, "supportsReasoningEffort": True, **TEMPLATES}
    body = body_of(HISTORY, reasoning=level, compat=compat, thinking_level_map={"high": "hi"})
    assert {name: value for name, value in body.items() if name not in plain} == table[form]


def test_results_carry_the_tools_name_where_the_server_needs_it() -> None:
    assert "name" not in sent(HISTORY)[3]
    assert sent(HISTORY, requiresToolResultName=True)[3]["name"] == "ls"


def test_an_answer_stands_between_results_and_the_user_where_the_server_needs_it() -> None:
    roles = [message["role"] for message in sent(HISTORY)]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    bridged = sent(HISTORY, requiresAssistantAfterToolResult=True)
    assert [message["role"] for message in bridged] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert bridged[2]["content"] == ""
    assert bridged[4] == {"role": "assistant", "content": RESULTS_SEEN}


def test_images_of_results_follow_as_a_user_message_behind_that_answer() -> None:
    shown: list[Message] = [SYSTEM, USER, answer(CALL), result(IMAGE)]
    assert [message["role"] for message in sent(shown)][3:] == ["tool", "user"]
    assert [message["role"] for message in sent(shown, requiresAssistantAfterToolResult=True)][3:] == [
        "tool",
        "assistant",
        "user",
    ]


def test_content_of_a_bare_call_is_null_or_an_empty_text() -> None:
    assert sent(HISTORY)[2]["content"] is None
    assert sent(HISTORY, requiresNonNullAssistantContent=True)[2]["content"] == ""


def test_an_empty_list_of_tools_is_sent_only_behind_calls_and_only_where_the_server_needs_it() -> None:
    bare = SystemMessage(content="S", timestamp=0)
    history: list[Message] = [bare, *HISTORY[1:]]
    needed = {"requiresToolsWithToolHistory": True}
    assert "tools" not in body_of(history)
    assert body_of(history, compat=needed)["tools"] == []
    assert "tools" not in body_of([bare, USER], compat=needed)
    assert [tool["function"]["name"] for tool in body_of(HISTORY, compat=needed)["tools"]] == [LS.name]


def test_thinking_goes_out_as_a_leading_text_part_where_the_server_knows_no_field() -> None:
    thought: list[Message] = [SYSTEM, USER, answer(ThinkingContent("hm", "reasoning_content"), TextContent("t")), USER]
    assert sent(thought)[2] == {"role": "assistant", "content": "t", "reasoning_content": "hm"}
    parts = [{"type": "text", "text": "hm"}, {"type": "text", "text": "t"}]
    assert sent(thought, requiresThinkingAsText=True)[2] == {"role": "assistant", "content": parts}


@pytest.mark.parametrize("compat", [{}, {"supportsFinishReason": False}])
def test_an_answer_without_finish_reason_is_whole_only_where_the_server_never_sends_one(compat: dict[str, Any]) -> None:
    chunks = [delta_chunk({"role": "assistant", "content": "all"})]
    message = ask(sse_reply(chunks), fields={"compat": compat}).message
    assert (message.text, message.stop_reason) == ("all", "stop" if compat else "error")


@pytest.mark.parametrize("name", ["thinking_token_budget", "thinking_budget", "thinking_budget_tokens"])
def test_a_thinking_budget_has_its_field_only_while_thinking(name: str) -> None:
    compat = {"thinkingTokenBudgetField": name}
    assert body_of(HISTORY, reasoning="low", compat=compat)[name] == 2048
    assert name not in body_of(HISTORY, reasoning="off", compat=compat)
    assert name not in body_of(HISTORY, reasoning="low")
