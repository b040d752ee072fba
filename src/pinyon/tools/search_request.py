"""One call of the grep tool."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pinyon._util.text import clean_surrogates
from pinyon.tools.find_pattern import addresses_git_folder
from pinyon.tools.path import resolve_to_cwd
from pinyon.tools.search_limit import requested_number

DEFAULT_LIMIT = 100
"""Most matches of a search unless the call says otherwise."""


class GrepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for and where: `path` is absolute, `context` the lines around a match on either side."""

    pattern: str
    path: str
    glob: str
    ignore_case: bool
    literal: bool
    context: int
    limit: int

    @classmethod
    def from_params(cls, params: dict[str, Any], cwd: str) -> GrepRequest:
        """The request of validated arguments."""
        return cls(
            pattern=clean_surrogates(str(params.get("pattern", ""))),
            path=resolve_to_cwd(str(params.get("path") or "."), cwd),
            glob=re.sub(r"^(!?)(?:\./+)+", r"\1", clean_surrogates(str(params.get("glob") or ""))),
            ignore_case=bool(params.get("ignoreCase")),
            literal=bool(params.get("literal")),
            context=requested_number(params, "context", 0, minimum=0),
            limit=requested_number(params, "limit", DEFAULT_LIMIT, minimum=1),
        )

    @property
    def with_git_folders(self) -> bool:
        """Whether the call names a `.git` folder, whose content is otherwise left out."""
        return addresses_git_folder(self.path) or addresses_git_folder(self.glob)
