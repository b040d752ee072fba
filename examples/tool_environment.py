import asyncio

from pinyon.env import CommandCall, MemoryEnv
from pinyon.tools import create_all_tool_definitions


async def shell(call: CommandCall) -> int:
    """Stands for a shell, in a test for example."""
    call.write_stdout(f"would run {call.command!r} in {call.cwd}\n")
    return 0


async def main() -> None:
    env = MemoryEnv({"src/app.py": "print('hello')\n"}, cwd="/project", run=shell)
    tools = create_all_tool_definitions(env.cwd, env=env)
    calls: dict[str, dict[str, object]] = {
        "write": {"path": "notes/todo.md", "content": "say hello\n"},
        "grep": {"pattern": "hello"},
        "bash": {"command": "make test"},
    }
    for name, arguments in calls.items():
        result = await tools[name].run(arguments)
        print(f"{name}: {result.content}")


asyncio.run(main())
