"""Settings from the program instead of files, and resources under its control."""

import asyncio
import tempfile
from pathlib import Path

from pinyon import DefaultResourceLoader, InMemorySessionManager, LoaderOptions, PiAgent, SettingsManager
from pinyon.testing import scripted_model


async def main() -> None:
    folder = Path(tempfile.mkdtemp())
    settings = SettingsManager.in_memory({"compaction": {"enabled": False}, "retry": {"maxRetries": 1}})
    loader = DefaultResourceLoader(
        cwd=folder,
        agent_dir=folder / "agent",
        settings_manager=settings,
        options=LoaderOptions(system_prompt_override=lambda _: "You answer in one word."),
    )
    await loader.reload()
    model = scripted_model("Yes.")
    async with await PiAgent.create(
        cwd=folder,
        settings_manager=settings,
        resource_loader=loader,
        session_manager=InMemorySessionManager(),
        model=model.get_model(),
        stream_fn=model.stream,
    ) as pi:
        session = await pi.create_agent_session()
        print(session.system_prompt.splitlines()[0])
        print("compaction:", session.auto_compaction_enabled)
        print("retries:", settings.get_retry_settings().max_retries)
        print((await session.run("Ready?")).text)


asyncio.run(main())
