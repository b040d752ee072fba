import tempfile
from pathlib import Path

from pinyon.ai.message import UserMessage
from pinyon.export import export_from_file
from pinyon.session import Session

folder = Path(tempfile.mkdtemp())
session = Session.create("/my/project", folder)
session.append_message(UserMessage(content="What is in a.txt?", timestamp=0))
page = export_from_file(str(session.get_session_file()), folder / "page.html")
print(page.name, "holds the whole conversation:", page.stat().st_size > 50_000)
