"""Builds the data files of `pinyon.ai.data.models` from published data sets and `catalogue/rules.yaml`.

    python -m scripts.build_catalogue --sources FOLDER [--download] [--write]

The folder holds the wheels that the rules name; `--download` fetches those that are missing with pip. Without `--write`
only the differences to the present files are told. The same wheels and rules give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from scripts.catalogue.row import Builder, Row, encode_rows
from scripts.catalogue.rule import Rules, SourceRule, load_rules
from scripts.catalogue.source import read_facts

from pinyon.ai.model import Model
from pinyon.ai.provider import DATA_FOLDER, Provider, providers

MODELS = DATA_FOLDER / "models"
MANIFEST = DATA_FOLDER / "manifest.json"

_SHOWN = 12


def find_wheels(rules: Rules, folder: Path, *, download: bool = False) -> dict[str, Path]:
    """The wheel of each data set in `folder`; raises `FileNotFoundError` for one that is missing."""
    wheels = {}
    for name, source in rules.sources.items():
        if download and not _wheel(folder, name, source):
            _download(name, source, folder)
        path = _wheel(folder, name, source)
        if path is None:
            raise FileNotFoundError(f"{folder} holds no wheel of {name} {source.version}; use --download")
        wheels[name] = path
    return wheels


def _wheel(folder: Path, name: str, source: SourceRule) -> Path | None:
    return next(iter(sorted(folder.glob(f"{name.replace('-', '_')}-{source.version}-*.whl"))), None)


def _download(name: str, source: SourceRule, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", source.python, "--dest", str(folder), f"{name}=={source.version}"]
    subprocess.run(command, check=True)


def build(rules: Rules, wheels: Mapping[str, Path]) -> tuple[dict[str, dict[str, Row]], list[str]]:
    """The rows of every provider, and which models were left out for want of limits."""
    apis = {provider.id: provider.apis for provider in providers().values()}
    builder = Builder(rules, read_facts(wheels), apis)
    rows = {provider_id: builder.provider_rows(provider_id) for provider_id in apis}
    return rows, builder.skipped


def faults(rows: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """What is wrong with rows: fields that are none, APIs that the provider does not have, missing default models."""
    for provider_id, models in rows.items():
        provider = providers()[provider_id]
        if provider.default_model and provider.default_model not in models:
            yield f"{provider_id}: the default model {provider.default_model!r} is missing"
        for model_id, row in models.items():
            yield from _row_faults(provider, model_id, row)


def _row_faults(provider: Provider, model_id: str, row: Row) -> Iterator[str]:
    plain = {"api": provider.apis[0], "baseUrl": "", **row, "id": model_id, "provider": provider.id}
    try:
        model = msgspec.convert(plain, Model)
    except msgspec.ValidationError as error:
        yield f"{provider.id}/{model_id}: {error}"
        return
    if unknown := set(row) - set(Model.__struct_encode_fields__):
        yield f"{provider.id}/{model_id}: unknown fields {sorted(unknown)}"
    if model.api not in provider.apis:
        yield f"{provider.id}/{model_id}: the provider has no API {model.api!r}"
    if not 0 < model.max_tokens <= model.context_window:
        yield f"{provider.id}/{model_id}: output limit {model.max_tokens} in a window of {model.context_window}"


def manifest(rules: Rules, wheels: Mapping[str, Path], files: Mapping[str, bytes]) -> bytes:
    """When and from what the files were made, and their digests."""
    sources = [
        {"name": name, **msgspec.to_builtins(source), "sha256": _sha256(wheels[name].read_bytes())}
        for name, source in rules.sources.items()
    ]
    for source in sources:
        del source["python"]
    table: dict[str, Any] = {
        "generatedAt": f"{rules.as_of.isoformat()}T00:00:00Z",
        "sources": sources,
        "files": {name: _sha256(data) for name, data in files.items()},
    }
    return json.dumps(table, indent=2).encode() + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def report(provider_id: str, before: Mapping[str, Row], after: Mapping[str, Row]) -> Iterator[str]:
    """How the rows of a provider change: models that come and go, and the fields of those that stay."""
    new, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = [key for key in after.keys() & before.keys() if after[key] != before[key]]
    if not new and not gone and not changed:
        return
    yield f"{provider_id}: {len(after)} models, {len(new)} new, {len(gone)} gone, {len(changed)} changed"
    for mark, keys in (("+", new), ("-", gone)):
        if keys:
            more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
            yield f"  {mark} {', '.join(keys[:_SHOWN])}{more}"
    for key in sorted(changed)[:_SHOWN]:
        fields = [name for name in {**before[key], **after[key]} if before[key].get(name) != after[key].get(name)]
        yield f"  ~ {key}: " + "; ".join(
            f"{name} {_short(before[key], name)} → {_short(after[key], name)}" for name in fields
        )


def _short(row: Row, name: str) -> str:
    return json.dumps(row[name], ensure_ascii=False) if name in row else "–"


def main(arguments: list[str]) -> int:
    """Build, tell the differences, and write where asked to; 1 when rows are faulty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--download", action="store_true", help="fetch missing wheels with pip")
    parser.add_argument("--write", action="store_true", help="write the files and the manifest")
    args = parser.parse_args(arguments)
    rules = load_rules()
    wheels = find_wheels(rules, args.sources, download=args.download)
    rows, skipped = build(rules, wheels)
    for provider_id, models in rows.items():
        print("\n".join(report(provider_id, _present(provider_id), models)) or f"{provider_id}: unchanged")
    print(f"{sum(map(len, rows.values()))} models; {len(skipped)} left out for want of limits")
    found = list(faults(rows))
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    if args.write and not found:
        _write(rules, wheels, rows)
    return 1 if found else 0


def _present(provider_id: str) -> dict[str, Row]:
    path = MODELS / f"{provider_id}.json"
    return json.loads(path.read_bytes()) if path.is_file() else {}


def _write(rules: Rules, wheels: Mapping[str, Path], rows: Mapping[str, Mapping[str, Row]]) -> None:
    files = {f"{provider_id}.json": encode_rows(models) for provider_id, models in rows.items() if models}
    for path in MODELS.glob("*.json"):
        if path.name not in files:
            path.unlink()
    for name, data in files.items():
        (MODELS / name).write_bytes(data)
    MANIFEST.write_bytes(manifest(rules, wheels, files))
    print(f"wrote {len(files)} files, {sum(map(len, files.values()))} bytes")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
