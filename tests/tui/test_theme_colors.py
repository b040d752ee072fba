"""Colours of the built-in themes, of the one made from the terminal, and of theme files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.theme import TOKENS, parse_theme
from pinyon.tui.capability import color_system, image_protocol, takes_hyperlinks
from pinyon.tui.theme.color import contrast, from_lch, hex_color, luminance, parse_color, to_lch
from pinyon.tui.theme.palette import DARK, LIGHT, PLAIN, Palette, palette_of
from pinyon.tui.theme.system_theme import system_palette
from pinyon.tui.theme.terminal_color import TerminalColors

DARK_GROUNDS = ("#000000", "#1e1e1e", "#282c34")
LIGHT_GROUNDS = ("#ffffff", "#fafafa", "#fdf6e3")
LINES = ("border", "borderAccent", "borderMuted", "scrollbarTrack", "scrollbarThumb", "mdCodeBlockBorder",
         "mdQuoteBorder", "mdHr", "thinkingOff", "thinkingMinimal", "thinkingLow", "thinkingMedium", "thinkingHigh",
         "thinkingXhigh", "thinkingMax", "searchMatchText")  # fmt: skip
PANELS = ("userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg", "selectedBg")
TEXTS = tuple(token for token in TOKENS if not token.endswith("Bg") and token not in LINES)
ON_PANELS = ("accent", "muted", "dim", "success", "warning", "error", "toolTitle", "toolOutput", "toolDiffAdded",
             "toolDiffRemoved", "toolDiffContext", "syntaxKeyword", "syntaxComment", "syntaxString")  # fmt: skip


def grounds_of(palette: Palette, grounds: tuple[str, ...], tokens: tuple[str, ...]) -> list[str]:
    return [*grounds, *(str(palette.color(token)) for token in tokens)]


@pytest.mark.parametrize(("palette", "grounds"), [(DARK, DARK_GROUNDS), (LIGHT, LIGHT_GROUNDS)], ids=["dark", "light"])
def test_text_of_a_built_in_theme_can_be_read_on_its_grounds(palette: Palette, grounds: tuple[str, ...]) -> None:
    assert set(palette.colors) == set(TOKENS)
    for token in TEXTS:
        value = str(palette.color(token))
        for ground in grounds_of(palette, grounds, PANELS if token in ON_PANELS else ()) if value else []:
            assert contrast(parse_color(value), parse_color(ground)) >= 4.5, (token, value, ground)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize(
    ("token", "ground"),
    [
        ("userMessageText", "userMessageBg"),
        ("customMessageText", "customMessageBg"),
        ("customMessageLabel", "customMessageBg"),
        ("searchMatchText", "searchMatchBg"),
    ],
)
def test_text_on_a_panel_can_be_read(palette: Palette, token: str, ground: str) -> None:
    assert contrast(parse_color(str(palette.color(token))), parse_color(str(palette.color(ground)))) >= 4.5


def colors() -> st.SearchStrategy[tuple[float, float, float]]:
    part = st.floats(0, 1)
    return st.tuples(part, part, part)


@given(colors(), st.lists(colors(), min_size=16, max_size=16), st.booleans())
def test_text_of_the_system_theme_can_be_read_whatever_the_terminal_says(
    ground: tuple[float, float, float], numbered: list[tuple[float, float, float]], knows_numbers: bool
) -> None:
    terminal = TerminalColors(background=parse_color(hex_color(ground)))
    terminal.numbered = dict(enumerate(numbered)) if knows_numbers else {}
    palette = system_palette(terminal)
    assert set(palette.colors) == set(TOKENS)
    reachable = max(contrast(ground, (0, 0, 0)), contrast(ground, (1, 1, 1)))
    for token in ("accent", "muted", "dim", "error", "success", "warning", "syntaxKeyword", "mdHeading"):
        found = contrast(parse_color(str(palette.color(token))), parse_color(hex_color(ground)))
        assert found >= min(4.4, reachable - 0.6), (token, palette.color(token))


def test_the_system_theme_of_a_silent_terminal_uses_numbered_colours_and_no_panels() -> None:
    palette = system_palette(TerminalColors())
    assert palette is PLAIN
    assert not palette.has_panels
    assert palette.style("muted").dim
    assert palette.style("accent").color is not None


@pytest.mark.parametrize(
    ("terminal", "is_dark"),
    [
        (TerminalColors(background=(1, 1, 1), colorfgbg="15;0"), False),
        (TerminalColors(background=(0, 0, 0), scheme_is_dark=False), True),
        (TerminalColors(scheme_is_dark=False, colorfgbg="15;0"), False),
        (TerminalColors(colorfgbg="0;15"), False),
        (TerminalColors(colorfgbg="15;8"), True),
        (TerminalColors(), True),
    ],
)
def test_dark_or_light_is_told_by_the_best_witness(terminal: TerminalColors, is_dark: bool) -> None:
    assert terminal.is_dark == is_dark


def test_answers_of_the_terminal_are_taken_in_any_precision() -> None:
    terminal = TerminalColors()
    assert terminal.hear("]11;rgb:ffff/ffff/ffff")
    assert terminal.hear("]10;rgb:0/0/0")
    assert terminal.hear("]4;3;rgba:ff/80/00/ff")
    assert not terminal.hear("[?62;4c")
    assert not terminal.is_dark
    assert terminal.numbered[3] == pytest.approx((1, 128 / 255, 0))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("#abc", "#aabbcc"),
        ("oklch(62.8% 0.2577 29.23)", "#ff0000"),
        ("okhsl(29.23 100% 56.81%)", "#ff0000"),
        ("okhsl(142.5 100% 84.45%)", "#00ff00"),
        ("okhsl(264.05 100% 36.66%)", "#0000ff"),
        ("okhsl(0 0% 0%)", "#000000"),
        ("okhsl(200 50% 100%)", "#ffffff"),
        ("oklch(50% 9 120)", None),
    ],
)
def test_notations_of_colours(text: str, value: str | None) -> None:
    found = parse_color(text)
    assert all(-1e-6 <= part <= 1 + 1e-6 for part in found)
    if value is not None:
        assert found == pytest.approx(parse_color(value), abs=0.02)


@given(colors())
def test_lightness_chroma_and_hue_lead_back_to_the_colour(color: tuple[float, float, float]) -> None:
    assert from_lch(to_lch(color)) == pytest.approx(color, abs=0.01)


@given(st.floats(0, 360), st.floats(0, 100), st.floats(1, 99), st.floats(1, 99))
def test_okhsl_is_lighter_where_it_says_so(hue: float, saturation: float, one: float, other: float) -> None:
    darker, lighter = (parse_color(f"okhsl({hue:.3f} {saturation:.3f}% {part:.3f}%)") for part in sorted((one, other)))
    assert luminance(lighter) >= luminance(darker) - 0.02


def test_a_theme_file_gives_every_colour_to_the_screen() -> None:
    colors: dict[str, str | int] = {token: f"#{number:06x}" for number, token in enumerate(TOKENS, 1)}
    colors |= {"accent": "brand", "muted": 33, "dim": "", "error": "okhsl(29 100% 57%)"}
    theme = parse_theme({"name": "mine", "appearance": "light", "vars": {"brand": "#123456"}, "colors": colors})
    palette = palette_of(theme, is_dark=True)
    assert not palette.is_dark
    assert palette.color("accent") == "#123456"
    assert palette.style("muted").color is not None
    assert palette.style("dim").color is None
    assert str(palette.color("error")).startswith("#ff")
    assert set(palette.colors) == set(TOKENS)


@pytest.mark.parametrize(
    ("environ", "wanted", "system"),
    [
        ({"TERM": "xterm-256color"}, "auto", "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "auto", "truecolor"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, False, "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "PI_TRUE_COLOR": "0"}, True, "256"),
        ({"TERM": "linux"}, "auto", "standard"),
        ({"TERM": "linux", "PI_TRUE_COLOR": "1"}, "auto", "truecolor"),
        ({"TERM": "xterm-kitty"}, "auto", "truecolor"),
        ({"TERM": "rxvt-16color"}, "auto", "standard"),
    ],
)
def test_how_many_colours(environ: dict[str, str], wanted: object, system: str) -> None:
    assert color_system(environ, wanted) == system


@pytest.mark.parametrize(
    ("environ", "wanted", "takes"),
    [
        ({"TERM": "xterm-256color"}, "auto", False),
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "PI_HYPERLINKS": "0"}, True, False),
        ({"TERM": "xterm-kitty"}, "auto", True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, "auto", True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4000"}, "auto", False),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "ghostty"}, "auto", False),
        ({"TERM": "tmux-256color", "TMUX": "x", "PI_HYPERLINKS": "1"}, "auto", True),
    ],
)
def test_links_only_where_they_can_be_clicked(environ: dict[str, str], wanted: object, takes: bool) -> None:
    assert takes_hyperlinks(environ, wanted) is takes


@pytest.mark.parametrize(
    ("environ", "wanted", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "auto", "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "auto", "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "auto", "iterm2"),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, "kitty", None),
        ({"TERM": "xterm-kitty"}, False, None),
        ({"TERM": "xterm-kitty", "PI_IMAGE_PROTOCOL": "none"}, "kitty", None),
        ({"TERM": "xterm-256color", "PI_IMAGE_PROTOCOL": "iterm2"}, "auto", "iterm2"),
        ({"TERM": "xterm-256color"}, "auto", None),
    ],
)
def test_images_only_where_they_can_be_drawn(environ: dict[str, str], wanted: object, protocol: str | None) -> None:
    assert image_protocol(environ, wanted) == protocol
