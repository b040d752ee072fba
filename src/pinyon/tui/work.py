"""From the editor to the session: sending, queueing, shell commands, stopping, and what is shown of it meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pinyon.agent.event import AgentEnd, MessageEnd, MessageUpdate, TurnStart
from pinyon.ai.content import ImageContent
from pinyon.ai.event import TextDelta, ThinkingDelta, ToolCallDelta
from pinyon.coding.event import (
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    QueueUpdate,
    SessionEvent,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)
from pinyon.errors import PinyonError
from pinyon.tui.block.shell import ShellBlock
from pinyon.tui.welcome import welcome

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

Behavior = Literal["steer", "followUp"]
_COMPACTING = {
    "manual": "Compacting",
    "threshold": "Compacting, the context is nearly full",
    "overflow": "Compacting, the context was too long",
}


class Work:
    """What the user asks for while a session is open."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app
        self._shell: ShellBlock | None = None

    # Sending.

    def submit(self, behavior: Behavior) -> None:
        """Send what is in the editor, as its beginning says: a command, a shell command, or a prompt."""
        app = self._app
        marked = app.editor.buffer.text.strip()
        text = app.editor.attachments.expand(marked).strip()
        images = app.editor.attachments.images(marked)
        if not text and not images:
            return
        app.completer.close()
        command = app.commands.match(text) if not images else None
        if command is not None:
            app.clear_editor(remember="")
            app.start(app.run_slash(*command))
        elif text.startswith("!") and not images:
            self._submit_shell(text)
        elif app.session.model is None:
            app.start(welcome(app))
        else:
            app.clear_editor(remember=text)
            app.transcript.to_end()
            app.start(self._prompt(text, images, marked, behavior))

    async def _prompt(self, text: str, images: list[ImageContent], marked: str, behavior: Behavior) -> None:
        app = self._app
        self._settle_shells()
        try:
            await app.session.prompt(text, images=images, streaming_behavior=behavior, source="interactive")
        except PinyonError as error:
            app.give_back(marked)
            app.notify_user(str(error), "error")

    def send_text(self, text: str) -> None:
        """Do with a text what Enter would do with it in the editor."""
        command = self._app.commands.match(text)
        if command is not None:
            self._app.start(self._app.run_slash(*command))
        elif text.startswith("!"):
            self._submit_shell(text)
        else:
            self._app.history.add(text)
            self.send(text, [])

    def send(self, text: str, images: list[ImageContent]) -> None:
        """Send a prompt that does not come from the editor."""
        self._app.start(self._prompt(text, images, text, "followUp"))

    # Shell commands.

    def _submit_shell(self, text: str) -> None:
        app = self._app
        if self._shell is not None:
            app.notify_user("A shell command is still running; stop it or wait for its end.", "warning")
            return
        is_private = text.startswith("!!")
        command = text[2 if is_private else 1 :].strip()
        if not command:
            return
        if app.editor.buffer.text.strip() == text:
            app.clear_editor(remember=text)
        block = self._shell = ShellBlock(command, is_private=is_private)
        if app.session.is_streaming:
            block.on_change = lambda _: app.pending.update_rows()
            app.pending.shells.append(block)
            app.pending.update_rows()
        else:
            app.transcript.add(block)
            app.transcript.to_end()
        app.start(self._run_shell(block))

    async def _run_shell(self, block: ShellBlock) -> None:
        app = self._app
        app.spinner.start("shell", "Shell command")
        try:
            result = await app.session.execute_bash(
                block.command, block.add_output, exclude_from_context=block.is_private
            )
            block.finish(
                result.output,
                result.exit_code or None,
                cancelled=result.cancelled,
                truncated=result.truncated,
                full_output_path=result.full_output_path or None,
            )
        except (PinyonError, OSError) as error:
            block.finish(str(error), None, cancelled=True, truncated=False, full_output_path=None)
        finally:
            self._shell = None
            app.spinner.stop("shell")
        if not app.session.is_streaming:
            self._settle_shells()

    def _settle_shells(self) -> None:
        """Move finished shell blocks from the pending area to the transcript."""
        app = self._app
        done = [block for block in app.pending.shells if not block.is_running]
        for block in done:
            app.pending.shells.remove(block)
            app.transcript.add(block)
        if done:
            app.pending.update_rows()

    # Stopping.

    def stop(self) -> bool:
        """Stop what runs, the most pressing first; False when nothing does. Queued messages go back to the editor."""
        app = self._app
        session = app.session
        if session.is_retrying or session.is_streaming:
            self.take_queue_back()
            app.start(session.abort())
        elif session.is_compacting:
            session.abort_compaction()
        elif app.spinner.kind == "branchSummary":
            session.abort_branch_summary()
        elif session.is_bash_running:
            session.abort_bash()
        else:
            return False
        return True

    def take_queue_back(self) -> None:
        """Put queued messages before the text of the editor."""
        app = self._app
        steering, follow_ups = app.session.clear_queue()
        waiting = [*steering, *follow_ups]
        if waiting:
            current = app.editor.buffer.text
            app.editing.set_text("\n\n".join([*waiting, current] if current.strip() else waiting))
            app.text_changed()

    # What is shown of it.

    def hear(self, event: SessionEvent) -> None:
        """Show what runs and what waits."""
        app = self._app
        spinner = app.spinner
        match event:
            case TurnStart():
                app.attention.set_busy(is_busy=True)
                spinner.start("working", spinner.working_text)
            case MessageUpdate(assistant_message_event=TextDelta() | ThinkingDelta() | ToolCallDelta() as delta):
                spinner.streamed(len(delta.delta))
            case MessageEnd():
                app.footer_soon()
            case AgentEnd():
                spinner.stop("working")
                app.footer_soon()
            case AgentSettled():
                app.attention.set_busy(is_busy=False)
                app.attention.call("The answer is there")
                for kind in ("working", "retry", "compaction"):
                    spinner.stop(kind)
                self._settle_shells()
                app.footer_soon()
            case AutoRetryStart() | SummarizationRetryScheduled():
                text = f"Retrying ({event.attempt}/{event.max_attempts})"
                spinner.start("retry", text, for_s=event.delay_ms / 1000)
            case AutoRetryEnd() | SummarizationRetryAttemptStart() | SummarizationRetryFinished():
                spinner.stop("retry")
            case CompactionStart():
                app.attention.set_busy(is_busy=True)
                spinner.start("compaction", _COMPACTING[event.reason])
            case CompactionEnd():
                app.attention.set_busy(is_busy=app.session.is_streaming)
                spinner.stop("compaction")
                app.footer_soon()
            case QueueUpdate():
                app.pending.steering, app.pending.follow_ups = event.steering, event.follow_up
                app.pending.update_rows()
            case _:
                pass
