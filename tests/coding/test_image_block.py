from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import Message, ToolResultMessage, UserMessage
from pinyon.coding.image_block import without_images

IMAGE = ImageContent(data="AA==", mime_type="image/png")


def texts(message: Message) -> list[str]:
    assert isinstance(message, UserMessage | ToolResultMessage)
    assert not isinstance(message.content, str)
    return [block.text for block in message.content if isinstance(block, TextContent)]


def test_a_run_of_images_gives_one_note_in_its_place_and_the_original_keeps_them() -> None:
    message = UserMessage(content=[TextContent(text="a"), IMAGE, IMAGE, TextContent(text="b"), IMAGE], timestamp=0)
    (changed,) = without_images([message])
    first, note, second, again = texts(changed)
    assert (first, second) == ("a", "b")
    assert note == again
    assert "left out" in note
    assert message.content[1] is IMAGE


def test_images_of_tools_are_left_out_too() -> None:
    result = ToolResultMessage(tool_call_id="c", tool_name="read", content=[IMAGE], is_error=False, timestamp=0)
    (changed,) = without_images([result])
    assert len(texts(changed)) == 1


def test_messages_without_images_stay_the_same_objects() -> None:
    messages: list[Message] = [
        UserMessage(content="a", timestamp=0),
        UserMessage(content=[TextContent(text="b")], timestamp=0),
    ]
    assert all(new is old for new, old in zip(without_images(messages), messages, strict=True))
