"""mbt specs: list the modules that come with mbt, or copy them."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
from rich.table import Table

from mbt.commands.common import packaged_modules
from mbt.console import console, print_json
from tracegen.errors import MbtError
from tracegen.spec import load_spec

_KINDS = (".tla", ".cfg", ".toml")


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def specs(context: click.Context, as_json: bool) -> None:
    """List the modules that come with mbt; each can be named wherever a SPEC is wanted."""
    if context.invoked_subcommand is not None:
        return
    loaded = [load_spec(path) for path in packaged_modules().values()]
    if as_json:
        print_json(
            [
                {
                    "module": spec.module,
                    "title": spec.title,
                    "path": str(spec.path),
                    "models": {name: model.title for name, model in spec.models.items()},
                }
                for spec in loaded
            ]
        )
        return
    table = Table("module", "what", "models", box=None)
    for spec in loaded:
        table.add_row(spec.module, spec.title, " ".join(spec.models))
    console().print(table)


@specs.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def copy(folder: Path) -> None:
    """Copy the modules, their configurations and TOMLs into DIR, to change them there."""
    source = next(iter(packaged_modules().values())).parent
    files = [file for file in sorted(source.iterdir()) if file.suffix in _KINDS]
    there = [file.name for file in files if (folder / file.name).exists()]
    if there:
        raise MbtError(f"{folder} holds {', '.join(there)} already; nothing was copied")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(file, folder / file.name)
    except OSError as error:
        raise MbtError(f"cannot copy to {folder}: {error.strerror}") from None
    click.echo(f"copied {len(files)} files to {folder}")
