"""A tree of files, directories and links that exists in memory only, with the failures of a POSIX file system."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import msgspec

from pinyon.env.error import FileError
from pinyon.env.filesystem import FileInfo, FileKind

_MAX_LINKS = 40


class Node(msgspec.Struct):
    """One entry: a directory has `children`, a link a `target`, a file `content`."""

    mtime: float
    content: bytes = b""
    children: dict[str, Node] | None = None
    target: str | None = None

    @property
    def kind(self) -> FileKind:
        """What this entry is."""
        if self.children is not None:
            return FileKind.DIRECTORY
        return FileKind.FILE if self.target is None else FileKind.SYMLINK

    def info(self, path: str) -> FileInfo:
        """This entry as it is listed."""
        size = len(self.target.encode()) if self.target is not None else len(self.content)
        return FileInfo(path, posixpath.basename(path), self.kind, size, self.mtime)


class MemoryTree:
    """Entries below `/` by absolute path."""

    def __init__(self, now_s: float) -> None:
        self.root = Node(now_s, children={})

    def find(self, path: str, *, follow: bool = True) -> Node:
        """The entry at `path`; a final link is followed unless told otherwise. Raises `FileError`."""
        return self._walk(path, follow)[1]

    def canonical(self, path: str) -> str:
        """The path of an existing entry with all links resolved."""
        return self._walk(path, follow=True)[0]

    def make_directories(self, path: str, now_s: float) -> dict[str, Node]:
        """The children of the directory at `path`, which is created with its parents where it is missing."""
        node = self.root
        done = "/"
        for name in _names(path):
            done = posixpath.join(done, name)
            children = _children(node, done)
            if name not in children:
                children[name] = Node(now_s, children={})
            node = self.find(done)
        return _children(node, path)

    def write(self, path: str, content: bytes, now_s: float) -> None:
        """Create or replace the file at `path`; a link is written through."""
        try:
            path = self.canonical(path)
        except FileError as error:
            if error.code != "not_found":
                raise
            path = self._link_target(path)
        siblings = self.make_directories(posixpath.dirname(path), now_s)
        name = posixpath.basename(path)
        known = siblings.get(name)
        if not name or (known is not None and known.children is not None):
            raise FileError("is_directory", f"Is a directory: {path!r}", path)
        siblings[name] = Node(now_s, content)

    def detach(self, path: str) -> Node:
        """Take the entry at `path` out of its directory."""
        if path == "/":
            raise FileError("invalid", "The root directory cannot be moved or removed", path)
        node = self.find(path, follow=False)
        del self._siblings(path)[posixpath.basename(path)]
        return node

    def attach(self, path: str, node: Node) -> None:
        """Put an entry at `path` in an existing directory, over a file that stands there."""
        siblings = self._siblings(path)
        known = siblings.get(posixpath.basename(path))
        if known is not None and known.children is not None:
            if node.children is None:
                raise FileError("is_directory", f"Is a directory: {path!r}", path)
            if known.children:
                raise FileError("invalid", f"Directory not empty: {path!r}", path)
        elif known is not None and node.children is not None:
            raise FileError("not_directory", f"Not a directory: {path!r}", path)
        siblings[posixpath.basename(path)] = node

    def _siblings(self, path: str) -> dict[str, Node]:
        return _children(self.find(posixpath.dirname(path)), path)

    def _link_target(self, path: str) -> str:
        node = self._siblings(path).get(posixpath.basename(path)) if self._has_parent(path) else None
        if node is None or node.target is None:
            return path
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), node.target))

    def _has_parent(self, path: str) -> bool:
        try:
            return self.find(posixpath.dirname(path)).children is not None
        except FileError:
            return False

    def _walk(self, path: str, follow: bool) -> tuple[str, Node]:
        node, done, links = self.root, "/", 0
        queue = list(_names(path))
        while queue:
            name = queue.pop(0)
            child = _children(node, path).get(name)
            if child is None:
                raise FileError("not_found", f"No such file or directory: {path!r}", path)
            if child.target is not None and (queue or follow):
                links += 1
                if links > _MAX_LINKS:
                    raise FileError("invalid", f"Too many levels of symbolic links: {path!r}", path)
                queue = [*_names(posixpath.normpath(posixpath.join(done, child.target))), *queue]
                node, done = self.root, "/"
                continue
            node, done = child, posixpath.join(done, name)
        return done, node


def _names(path: str) -> Iterator[str]:
    return (name for name in path.split("/") if name)


def _children(node: Node, path: str) -> dict[str, Node]:
    if node.children is None:
        raise FileError("not_directory", f"Not a directory: {path!r}", path)
    return node.children
