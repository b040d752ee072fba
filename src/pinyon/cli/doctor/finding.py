"""One thing that the doctor has to say."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["used", "note", "ignored", "broken"]
"""`used`: works as it stands; `note`: good to know; `ignored`: has no effect; `broken`: needs a mend."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found in an area, and for what is ignored or broken how to mend it."""

    area: str
    status: Status
    message: str
    path: str | None = None
    mend: str | None = None
