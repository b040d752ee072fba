import tempfile
from pathlib import Path

from pinyon.ai.message import UserMessage
from pinyon.session import Session, SessionTree, export_session_to_jsonl

folder = Path(tempfile.mkdtemp())
session = Session.create("/my/project", folder)
question = session.append_message(UserMessage(content="What is in a.txt?", timestamp=0))
session.append_message(UserMessage(content="Use grep.", timestamp=0))
session.branch(question)  # the next entry begins another branch there
session.append_message(UserMessage(content="Use read.", timestamp=0))
session.append_label_change(question, "start")

context = session.build_session_context()
print([message.content for message in context.messages if isinstance(message, UserMessage)])

copy = export_session_to_jsonl(session, folder / "copy.jsonl")  # the current branch alone
tree = SessionTree.load(copy)  # read only
print(len(session.get_entries()), "entries,", len(tree.entries), "of them in the copy:", [e.type for e in tree.entries])
