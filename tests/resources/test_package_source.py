"""What names a package, what is the same package, and what is refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.package.place import place_of
from pinyon.resources.package.source import PackageSourceError, parse_source, suggested_prefix

BASE = Path("/base")


@pytest.mark.parametrize(
    ("text", "identity", "target", "ref"),
    [
        ("git:github.com/o/r", "git:github.com/o/r", "https://github.com/o/r", None),
        ("git:localhost/a/b@v1", "git:localhost/a/b", "https://localhost/a/b", "v1"),
        ("https://x.example/a/b.git", "git:x.example/a/b", "https://x.example/a/b.git", None),
        ("https://X.example/a/b/", "git:x.example/a/b", "https://X.example/a/b", None),
        ("git:https://x.example/g/s/p@feature/x", "git:x.example/g/s/p", "https://x.example/g/s/p", "feature/x"),
        ("https://github.com/o/r#main", "git:github.com/o/r", "https://github.com/o/r", "main"),
        ("ssh://git@h.example/o/r@v2", "git:h.example/o/r", "ssh://git@h.example/o/r", "v2"),
        ("ssh://git@h.example:2222/o/r", "git:h.example_2222/o/r", "ssh://git@h.example:2222/o/r", None),
        ("git:git@h.example:o/r.git@v1", "git:h.example/o/r", "git@h.example:o/r.git", "v1"),
        ("git://h.example/o/r", "git:h.example/o/r", "git://h.example/o/r", None),
        ("git:github:o/r", "git:github.com/o/r", "https://github.com/o/r", None),
        ("github:o/r", "git:github.com/o/r", "https://github.com/o/r", None),
    ],
)
def test_repositories(text: str, identity: str, target: str, ref: str | None) -> None:
    source = parse_source(text, BASE)
    assert (source.identity, source.target, source.ref) == (identity, target, ref)
    assert source.is_pinned == (ref is not None)


@pytest.mark.parametrize(
    ("text", "identity", "target", "is_pinned"),
    [
        ("npm:a", "npm:a", "a", False),
        ("npm:@s/n@^1", "npm:@s/n", "@s/n@^1", False),
        ("npm:@s/n@1.2.3-rc.1", "npm:@s/n", "@s/n@1.2.3-rc.1", True),
        ("npm:a@latest", "npm:a", "a@latest", False),
        ("pypi:My_Pack.age", "pypi:my-pack-age", "My_Pack.age", False),
        ("pip:a==1.0", "pypi:a", "a==1.0", True),
        ("pypi:a==1.*", "pypi:a", "a==1.*", False),
        ("pypi:a[x, y]>=1,<2", "pypi:a", "a[x, y]>=1,<2", False),
        ("./p", "local:/base/p", "/base/p", False),
        ("../p", "local:/p", "/p", False),
        ("git@h.example:o/r", "local:/base/git@h.example:o/r", "/base/git@h.example:o/r", False),
    ],
)
def test_other_sources(text: str, identity: str, target: str, is_pinned: bool) -> None:
    source = parse_source(text, BASE)
    assert (source.identity, source.target, source.is_pinned) == (identity, target, is_pinned)


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "a\0b", "a\nb", "builtin:mcp", "file:///etc", "ftp://h/o/r",
        "git:h.example/../x", "git:h.example/one", "git:../../x/y", "git:h.example/o/..", "git:h.example/o/%2e%2e",
        "git:h.example/o\\r/x", "git:/h.example/o/r", "git:h.example//o/r", "git:-h.example/o/r", "git:h..example/o/r",
        "git:h.example/-o/r", "git:h.example/o/.git", "git:git@h.example:../r", "git:git@h.example:/o/r",
        "git:ext::sh -c id/o/r", "https://-oProxyCommand=x/o/r", "ssh://-oProxyCommand=x/o/r", "https://h.example",
        "git:h.example/o/r@-x", "git:h.example/o/r@", "git:h.example/o/r@a..b", "git:h.example/o/r@a b",
        "git:h.example/o/r@x:y", "https://h.example:port/o/r", "https://[::1/o/r",
        "npm:", "npm:../x", "npm:-x", "npm:@s", "npm:@/x", "npm:a/../b", "npm:a@", "npm:a@-x", "npm:a b",
        "pypi:", "pypi:-r", "pypi:a;b", "pypi:a==1 --index-url=x", "pypi:a@1.0", "pypi:a @ https://x", "pypi:../a",
    ],
)  # fmt: skip
def test_what_could_lead_astray_is_refused(text: str) -> None:
    with pytest.raises(PackageSourceError):
        parse_source(text, BASE)


def test_passwords_in_addresses_are_not_shown() -> None:
    source = parse_source("https://me:hunter2@h.example/o/r@v1", BASE)
    assert "hunter2" not in source.label
    with pytest.raises(PackageSourceError) as caught:
        parse_source("https://me:hunter2@h.example/o", BASE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "prefix"), [("git@h.example:o/r", "git:"), ("github.com/o/r", "git:"), ("./o/r", None), ("name", None)]
)
def test_a_missing_prefix_is_suggested(text: str, prefix: str | None) -> None:
    assert suggested_prefix(text) == prefix


PIECES = st.sampled_from(
    [
        "git:",
        "npm:",
        "pypi:",
        "https://",
        "git@",
        "h.example",
        "/",
        "..",
        "\\",
        "@",
        ":",
        "#",
        "%2e",
        "-",
        "a",
        " ",
        "~",
        "\0",
    ]
)


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=10).map("".join)))
def test_any_text_is_a_source_inside_its_root_or_refused(text: str) -> None:
    try:
        source = parse_source(text, BASE)
    except PackageSourceError:
        return
    if source.kind != "local":
        place = place_of(source, BASE)
        assert ".." not in place.parts
        assert place.is_relative_to(BASE / source.kind)
        assert place != BASE / source.kind
        assert not source.target.startswith("-")
        assert not (source.ref or "").startswith("-")
