"""Public names that are imported when they are first used (PEP 562), so that importing a room costs almost nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # the constant of `typing`, without the price of importing it
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def lazy_exports(
    package: str, table: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of `package` for a table of module name → names it gives.

    Module names are absolute. The package repeats the imports under `TYPE_CHECKING` for type checkers; a test compares
    both.
    """
    homes = {name: module for module, names in table.items() for name in names}

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        __import__(home)
        value = getattr(sys.modules[home], name)
        setattr(sys.modules[package], name, value)
        return value

    shadowed = {name for name, home in homes.items() if home == f"{package}.{name}"}
    if shadowed:
        _keep_names(sys.modules[package], shadowed)
    names = sorted(homes)
    return load, lambda: names, names


def _keep_names(package: Any, names: set[str]) -> None:
    """See that names which are those of submodules too mean what the submodules define, whoever imports them first.

    The import system sets every submodule as an attribute of its package.
    """
    module_type = type(sys)

    class Room(module_type):  # type: ignore[misc, valid-type]
        def __setattr__(self, name: str, value: object) -> None:
            if name in names and isinstance(value, module_type):
                value = getattr(value, name)
            super().__setattr__(name, value)

    package.__class__ = Room
