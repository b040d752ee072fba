"""A guess at the legacy encoding of a text that is not UTF-8.

For each candidate the bytes are decoded strictly, and the share of very frequent characters among the non-ASCII ones
is measured: real text of a language is full of them, text decoded with the wrong table is not. Without a clear winner
there is no guess.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

_CHINESE_MARKS = "，。、：；！？（）《》“”「」"
_SIMPLIFIED = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好"
    "都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长名字数据文件试测第行界世使请"
)
_TRADITIONAL = (
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可裡後小麼心多天而能好"
    "都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長名字數據件試測第界世使請"
)
_KANA = "".join(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), 0x30FC, 0x3001, 0x3002, 0x300C, 0x300D)))
_KOREAN = "이다는에의을가고하은로지한기를도사서나리자어인시라대해그일아정전수있게들보안녕니세요여제장주부만스과"
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшю"
_WESTERN = "äöüßéèàçñáíóúêâîôãõåøæëïùûìòÄÖÜÉÈÀÇÅØœ‘’“”–—…«»€£°§·¿¡©®"


class _Candidate(msgspec.Struct, frozen=True):
    """An encoding, its frequent characters, and the shares of them and of neighbouring wide bytes that it needs."""

    codec: str
    label: str
    frequent: frozenset[str]
    least_share: float
    crowding: tuple[float, float] = (0.0, 1.0)


_CANDIDATES = (
    _Candidate("gb18030", "GB18030", frozenset(_SIMPLIFIED + _CHINESE_MARKS), 0.15),
    _Candidate("big5hkscs", "Big5", frozenset(_TRADITIONAL + _CHINESE_MARKS), 0.15),
    _Candidate("cp932", "Shift JIS", frozenset(_KANA), 0.3),
    _Candidate("euc_jp", "EUC-JP", frozenset(_KANA), 0.3),
    _Candidate("cp949", "EUC-KR", frozenset(_KOREAN), 0.15),
    _Candidate("cp1251", "Windows-1251", frozenset(_CYRILLIC), 0.6, (0.5, 1.0)),
    _Candidate("koi8_r", "KOI8-R", frozenset(_CYRILLIC), 0.6, (0.5, 1.0)),
    _Candidate("cp866", "CP866", frozenset(_CYRILLIC), 0.6, (0.5, 1.0)),
    _Candidate("cp1252", "Windows-1252", frozenset(_WESTERN), 0.85, (0.0, 0.25)),
)


class Guess(msgspec.Struct, frozen=True):
    """A Python codec name and the name that people know."""

    codec: str
    label: str


def guess_charset(sample: bytes, *, complete: bool) -> Guess | None:
    """The likeliest legacy encoding of `sample`; without `complete` its last character may be cut."""
    best: Guess | None = None
    best_rank = 1.0
    for candidate in _CANDIDATES:
        rank = _share(candidate, sample, complete) / candidate.least_share
        if rank >= best_rank and (best is None or rank > best_rank):
            best, best_rank = Guess(candidate.codec, candidate.label), rank
    return best


def _share(candidate: _Candidate, sample: bytes, complete: bool) -> float:
    text = _decode_strictly(candidate.codec, sample, complete)
    if text is None:
        return 0.0
    wide = [char for char in text if char > "\x7f"]
    if not wide:
        return 0.0
    least, most = candidate.crowding
    if not least <= _crowding(sample) <= most:
        return 0.0
    return sum(char in candidate.frequent for char in wide) / len(wide)


def _decode_strictly(codec: str, sample: bytes, complete: bool) -> str | None:
    for cut in range(1 if complete else 4):
        try:
            return sample[: len(sample) - cut].decode(codec)
        except UnicodeDecodeError as error:
            if error.end < len(sample) - cut - 3:
                return None
    return None


def _crowding(sample: bytes) -> float:
    """Share of non-ASCII bytes that follow another one: accented letters stand alone, other scripts fill words."""
    high = [byte > 0x7F for byte in sample]
    pairs = sum(first and second for first, second in pairwise(high))
    return pairs / max(1, sum(high))
