import gc

from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.usage import Usage


def user() -> UserMessage:
    return UserMessage(content=[TextContent("a"), ImageContent("AAAA", "image/png")], timestamp=1)


def answer() -> AssistantMessage:
    return AssistantMessage(
        content=[ThinkingContent("t", "s"), ToolCall("1", "ls", {"a": 1})],
        api="a",
        provider="p",
        model="m",
        usage=Usage(),
        stop_reason="stop",
        timestamp=1,
    )


def test_a_value_is_found_for_its_message_and_key_only() -> None:
    memo: MessageMemo[int] = MessageMemo()
    first, second = user(), user()
    memo.put(first, "k", 1)
    assert memo.get(first, "k") == 1
    assert memo.get(first, "other") is None
    assert memo.get(second, "k") is None
    memo.put(first, "other", 2)
    assert (memo.get(first, "k"), memo.get(first, "other")) == (None, 2)


def test_a_message_that_was_changed_in_place_has_no_value_any_more() -> None:
    memo: MessageMemo[int] = MessageMemo()
    message, reply = user(), answer()
    memo.put(message, "k", 1)
    memo.put(reply, "k", 2)
    assert isinstance(message.content, list)
    message.content[0] = TextContent("b")
    reply.content[1].arguments = {"a": 2}  # type: ignore[union-attr]
    assert (memo.get(message, "k"), memo.get(reply, "k")) == (None, None)


def test_nothing_keeps_a_message_alive() -> None:
    memo: MessageMemo[int] = MessageMemo()
    messages = [user() for _ in range(3)]
    for message in messages:
        memo.put(message, "k", 1)
        memo.put(message, "k2", 1)
    assert len(memo) == 3
    del message, messages
    gc.collect()
    assert len(memo) == 0
