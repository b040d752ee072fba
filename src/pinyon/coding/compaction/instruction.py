"""What a model is told when it summarises: its role, and the instructions for each kind of summary."""

from __future__ import annotations

SYSTEM_PROMPT = (
    "You write summaries of conversations between a user and a coding assistant. You are not part of the conversation: "
    "never continue it, answer questions in it or call tools. Reply with the summary alone, in exactly the format that "
    "you are asked for."
)

_SECTIONS = """\
## Goal
What the user wants to reach; several goals if there are several.

## Constraints & Preferences
- Requirements, limits and wishes that the user stated, or "(none)".

## Progress
### Done
- [x] Finished steps and changes
### In Progress
- [ ] What is being worked on
### Blocked
- What stands in the way, if anything

## Key Decisions
- **Decision**: why it was taken

## Next Steps
1. What to do next, in order

## Critical Context
- Facts, data and references without which the work cannot go on, or "(none)"
"""

_EXACT = "Be concise. Keep exact file paths, names of functions and identifiers, and the wording of error messages."

INITIAL = (
    "Summarise the conversation above as a checkpoint from which another model will carry on the work.\n\n"
    f"Use this format:\n\n{_SECTIONS}\n{_EXACT}"
)

UPDATE = (
    "The conversation above is new material since the summary in <previous-summary> was written. Bring that summary up "
    "to date: keep everything in it that still matters, add what is new, move finished steps to Done, renew the next "
    "steps, and drop only what has become irrelevant.\n\n"
    f"Use this format:\n\n{_SECTIONS}\n{_EXACT}"
)

PREFIX = (
    "The messages above are the beginning of a turn whose later messages are kept elsewhere and will follow your "
    "summary. Summarise the beginning, so that the later messages can be understood. Invent nothing.\n\n"
    "Use this format:\n\n"
    "## Original Request\nWhat the user asked for in this turn.\n\n"
    "## Progress So Far\n- What was found, decided and done in the messages above\n\n"
    "## Context for What Follows\n- What the kept messages rely on\n\n"
    f"{_EXACT}"
)

BRANCH = (
    "Summarise the conversation above: it is a branch that the user has left, and the summary tells the other branch "
    "what was tried and learnt there.\n\n"
    "Use this format:\n\n"
    "## Goal\nWhat was attempted on this branch.\n\n"
    '## Constraints & Preferences\n- What the user stated, or "(none)"\n\n'
    "## Progress\n### Done\n- [x] Finished steps\n### In Progress\n- [ ] Begun and left\n"
    "### Blocked\n- What stood in the way\n\n"
    "## Key Decisions\n- **Decision**: why\n\n"
    "## Next Steps\n1. What would have come next\n\n"
    f"{_EXACT}"
)

BRANCH_PREAMBLE = (
    "The user tried another branch of this conversation and then came back here. "
    "This is a summary of what happened on that branch:\n\n"
)
NOTHING_ON_BRANCH = "There is nothing to summarise on the branch that was left."

NO_EARLIER_HISTORY = "No earlier history precedes this turn."
SPLIT_TURN_HEADING = "**Beginning of the turn that continues below:**"


def with_focus(instructions: str, custom: str | None) -> str:
    """Instructions with what the user asks to attend to."""
    return f"{instructions}\n\nAdditional focus: {custom}" if custom else instructions


def history_request(conversation: str, previous_summary: str | None, custom: str | None) -> str:
    """The request for a summary of history, or for the update of an earlier one."""
    earlier = f"<previous-summary>\n{previous_summary}\n</previous-summary>\n\n" if previous_summary else ""
    instructions = with_focus(UPDATE if previous_summary else INITIAL, custom)
    return f"<conversation>\n{conversation}\n</conversation>\n\n{earlier}{instructions}"


def prefix_request(conversation: str, custom: str | None) -> str:
    """The request for a summary of the beginning of a split turn."""
    return f"# Conversation\n{conversation}\n\n# Instructions\n{with_focus(PREFIX, custom)}"


def branch_request(conversation: str, custom: str | None, *, replace: bool = False) -> str:
    """The request for a summary of a branch; with `replace` the user's instructions stand alone."""
    instructions = custom if replace and custom else with_focus(BRANCH, custom)
    return f"<conversation>\n{conversation}\n</conversation>\n\n{instructions}"
