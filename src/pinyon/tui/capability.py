"""What a terminal can show, told from its environment; settings and `PI_*` variables overrule the guess."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

ColorSystem = Literal["truecolor", "256", "standard"]
ImageProtocol = Literal["kitty", "iterm2"]

_TRUE_COLOR_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "WarpTerminal", "rio", "mintty")
_TRUE_COLOR_TERMS = ("kitty", "ghostty", "alacritty", "foot", "wezterm", "direct", "contour")
_FEW_COLOR_TERMS = ("linux", "xterm", "ansi", "vt100", "vt220")
_LINK_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "WarpTerminal", "rio", "mintty", "zed")
_LINK_TERMS = ("kitty", "ghostty", "alacritty", "foot", "wezterm", "contour")
_LINK_VARIABLES = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR")
_LINK_VTE = 5000
_KITTY_PROGRAMS = ("ghostty", "WezTerm", "WarpTerminal")
_KITTY_VARIABLES = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "WEZTERM_PANE", "KONSOLE_VERSION")


def color_system(environ: Mapping[str, str], wanted: Any = "auto") -> ColorSystem:
    """How many colours to use. `wanted` is the setting `terminal.trueColor`; `PI_TRUE_COLOR` overrules it."""
    wanted = _flag(environ.get("PI_TRUE_COLOR"), wanted)
    term = environ.get("TERM", "")
    if wanted is True or (wanted is not False and _has_true_color(environ, term)):
        return "truecolor"
    return "standard" if term in _FEW_COLOR_TERMS or "16color" in term else "256"


def takes_hyperlinks(environ: Mapping[str, str], wanted: Any = "auto") -> bool:
    """Whether links can be clicked (OSC 8). `wanted` is the setting `terminal.hyperlinks`, `PI_HYPERLINKS` overrules
    it. Inside tmux and screen the answer is no unless somebody says otherwise.
    """
    wanted = _flag(environ.get("PI_HYPERLINKS"), wanted)
    if isinstance(wanted, bool):
        return wanted
    if is_multiplexed(environ):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM", "") in _LINK_PROGRAMS
        or any(part in environ.get("TERM", "") for part in _LINK_TERMS)
        or any(environ.get(name) for name in _LINK_VARIABLES)
        or (vte.isdigit() and int(vte) >= _LINK_VTE)
    )


def image_protocol(environ: Mapping[str, str], wanted: Any = "auto") -> ImageProtocol | None:
    """How images are drawn, None where they cannot be. `wanted` is the setting `terminal.images`; `PI_IMAGE_PROTOCOL`
    overrules it. Never inside tmux and screen, which would lose track of them.
    """
    given = environ.get("PI_IMAGE_PROTOCOL", "").lower()
    chosen = given if given in ("kitty", "iterm2", "none", "auto") else wanted
    if chosen in ("none", False) or is_multiplexed(environ):
        return None
    if chosen in ("kitty", "iterm2"):
        return "kitty" if chosen == "kitty" else "iterm2"
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if program in _KITTY_PROGRAMS or any(name in term for name in ("kitty", "ghostty")):
        return "kitty"
    if any(environ.get(name) for name in _KITTY_VARIABLES):
        return "kitty"
    return "iterm2" if program == "iTerm.app" or environ.get("ITERM_SESSION_ID") else None


def is_multiplexed(environ: Mapping[str, str]) -> bool:
    """Whether tmux or screen stands between."""
    return bool(environ.get("TMUX") or environ.get("STY")) or environ.get("TERM", "").startswith(("tmux", "screen"))


def _flag(given: str | None, otherwise: Any) -> Any:
    return given == "1" if given in ("0", "1") else otherwise


def _has_true_color(environ: Mapping[str, str], term: str) -> bool:
    return (
        environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
        or "WT_SESSION" in environ
        or environ.get("TERM_PROGRAM", "") in _TRUE_COLOR_PROGRAMS
        or any(part in term for part in _TRUE_COLOR_TERMS)
    )
