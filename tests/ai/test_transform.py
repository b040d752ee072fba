from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.call_id import completions_id
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.transform import NO_RESULT, plain_call_id, transform_messages
from pinyon.ai.usage import Usage

MODEL = Model(id="m", name="m", api="anthropic-messages", provider="p", base_url="http://x")
SEEING = Model(id="m", name="m", api="anthropic-messages", provider="p", base_url="http://x", input=["text", "image"])


def user(text: str = "hi") -> UserMessage:
    return UserMessage(content=[TextContent(text)], timestamp=1)


def answer(*content: Any, stop: Any = "stop", model: str = "m", provider: str = "p") -> AssistantMessage:
    return AssistantMessage(
        content=list(content),
        api="anthropic-messages",
        provider=provider,
        model=model,
        usage=Usage(),
        stop_reason=stop,
        timestamp=2,
    )


def call(call_id: str, name: str = "ls") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments={})


def result(call_id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="ls", content=[TextContent(text)], is_error=False, timestamp=3
    )


def transform(messages: Sequence[Message], **options: Any) -> list[Message]:
    return transform_messages(messages, MODEL, clock_ms=lambda: 9, **options)


def pairs_are_valid(messages: Sequence[Message]) -> bool:
    """Every call is answered once, right behind its message, and ids are unique and not empty."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id)
            continue
        if open_calls:
            return False
        if isinstance(message, AssistantMessage):
            ids = [block.id for block in message.tool_calls]
            if "" in ids or len(set(ids)) < len(ids) or seen & set(ids):
                return False
            seen |= set(ids)
            open_calls = ids
    return not open_calls


def test_unchanged_messages_are_passed_on_as_the_same_objects() -> None:
    messages: list[Message] = [user(), answer(TextContent("a"), call("1")), result("1"), user("b")]
    assert all(a is b for a, b in zip(transform(messages), messages, strict=True))


def test_thinking_of_another_model_is_dropped_and_its_text_kept_without_signatures() -> None:
    foreign = answer(ThinkingContent("hm", "reasoning_content"), TextContent("text", "sig"), call("1"), model="other")
    (sent, *_) = transform([foreign])
    assert isinstance(sent, AssistantMessage)
    assert sent.content == [TextContent("text"), call("1")]


def test_a_call_of_another_model_loses_its_signature_and_its_namespace() -> None:
    signed = ToolCall(id="1", name="ls", arguments={}, thought_signature="sig", namespace="ns")
    own, foreign = (transform([answer(signed, model=name)])[0] for name in ("m", "other"))
    assert isinstance(own, AssistantMessage)
    assert own.content == [signed]
    assert isinstance(foreign, AssistantMessage)
    assert foreign.content == [ToolCall(id="1", name="ls", arguments={})]


def test_signed_thinking_of_the_same_model_stays_and_unsigned_blank_goes() -> None:
    signed, redacted = ThinkingContent("", "sig"), ThinkingContent("", redacted=True)
    (sent,) = transform([answer(signed, redacted, ThinkingContent(" "), TextContent("t"))])
    assert isinstance(sent, AssistantMessage)
    assert sent.content == [signed, redacted, TextContent("t")]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    sent = transform([user(), answer(call("1"), call("2")), result("2"), user("go on")])
    made = sent[2]
    assert isinstance(made, ToolResultMessage)
    assert (made.tool_call_id, made.is_error, made.content) == ("1", True, [TextContent(NO_RESULT)])
    assert pairs_are_valid(sent)


def test_a_result_without_its_call_is_left_out() -> None:
    sent = transform([user(), result("GHOST"), answer(TextContent("a"))])
    assert [type(message) for message in sent] == [UserMessage, AssistantMessage]


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_failed_answers_go_with_their_results(stop: str) -> None:
    sent = transform([user(), answer(call("1"), stop=stop), result("1"), user("again")])
    assert [type(message) for message in sent] == [UserMessage, UserMessage]


def test_repeated_and_missing_ids_are_replaced_in_call_and_result() -> None:
    sent = transform(
        [user(), answer(call("x"), call("x", "nope")), result("x", "1"), result("x", "2"), answer(call("")), result("")]
    )
    assert pairs_are_valid(sent)
    texts = [message.content[0].text for message in sent if isinstance(message, ToolResultMessage)]  # type: ignore[union-attr]
    assert texts == ["1", "2", "ok"]


def test_system_messages_wait_behind_the_results() -> None:
    note = SystemMessage(content="new rule", timestamp=1)
    sent = transform([user(), answer(call("1"), call("2")), result("1"), note, result("2"), user()])
    assert [type(m).__name__[:4] for m in sent] == ["User", "Assi", "Tool", "Tool", "Syst", "User"]


def test_ids_of_other_models_are_normalised_the_same_way_everywhere() -> None:
    sent = transform([answer(call("a|b"), model="other"), result("a|b")], normalize_id=plain_call_id)
    assert isinstance(sent[0], AssistantMessage)
    assert isinstance(sent[1], ToolResultMessage)
    assert sent[0].tool_calls[0].id == sent[1].tool_call_id == "a_b"


def test_images_become_one_note_a_run_for_a_model_that_cannot_see() -> None:
    image = ImageContent("AAAA", "image/png")
    message = UserMessage(content=[image, image, TextContent("t"), image], timestamp=1)
    (sent,) = transform([message])
    assert isinstance(sent, UserMessage)
    assert [type(block) for block in sent.content] == [TextContent, TextContent, TextContent]
    assert transform_messages([message], SEEING)[0] is message


def test_blank_texts_and_empty_answers_are_not_sent() -> None:
    sent = transform([user(), answer(TextContent("  ")), user("b"), answer(TextContent(""), call("1")), result("1")])
    assert [type(message) for message in sent] == [UserMessage, UserMessage, AssistantMessage, ToolResultMessage]
    assert isinstance(sent[2], AssistantMessage)
    assert sent[2].content == [call("1")]


@pytest.mark.parametrize(
    ("call_id", "provider", "expected"),
    [
        ("call_abc|fc_def", "x", "call_abc_fc_def"),
        ("c" * 50, "openai", "c" * 40),
        ("c" * 50, "x", "c" * 50),
    ],
)
def test_completions_ids(call_id: str, provider: str, expected: str) -> None:
    assert completions_id(call_id, provider) == expected


def test_long_combined_ids_are_hashed_into_forty_characters() -> None:
    made = completions_id("call_" + "a" * 60 + "|fc_" + "b" * 60, "x")
    assert len(made) == 40
    assert made != completions_id("call_" + "a" * 60 + "|fc_" + "c" * 60, "x")


ids = st.sampled_from(["", "1", "2", "1_2", "a|b"])
messages = st.lists(
    st.one_of(
        st.just(user()),
        ids.map(result),
        st.lists(ids.map(call), max_size=3).flatmap(
            lambda calls: st.sampled_from(["stop", "toolUse", "error", "aborted", "length"]).map(
                lambda stop: answer(*calls, stop=stop)
            )
        ),
        st.just(SystemMessage(content="s", timestamp=0)),
    ),
    max_size=12,
)


@given(messages)
def test_whatever_a_session_holds_the_request_has_valid_pairs(conversation: list[Message]) -> None:
    assert pairs_are_valid(transform(conversation))
