"""
``sagemaker-llm adopt``: an app for endpoints that were made elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdk_sagemaker_llm.account.reader import RefusedError
from cdk_sagemaker_llm.adoption.deployment import Deployment, Remark
from cdk_sagemaker_llm.adoption.reading import (
    CALLS,
    UnknownEndpointError,
    read_deployment,
)
from cdk_sagemaker_llm.adoption.scripts import read_script
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._account import (
    AccountOptions,
    AsPolicy,
    print_policy,
)
from cdk_sagemaker_llm.cli.commands._options import AsJson, grouped
from cdk_sagemaker_llm.cli.output.answers import harmless, note
from cdk_sagemaker_llm.text import any_of, counted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.cli.app.adopting import Adopted

# What is installed to have it.
EXTRA = "cli,client"
MISUSE = 2
_WRITTEN = "adopted"


@grouped
def adopt(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ENDPOINT...|FILE",
            help="The endpoints' names, or a script (.py) or notebook (.ipynb) that "
            "makes some; omitted with --policy.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The app's folder, which must be new."
        ),
    ] = Path(_WRITTEN),
    account: AccountOptions,
    policy: AsPolicy = False,
    as_json: AsJson = False,
) -> None:
    """
    Write an app for endpoints that a notebook, the console or another tool has made.

    Reads the endpoints with all that belongs to them (models, components, adapters,
    scaling, schedules, alarms, tags) and changes nothing. The app comes to the same
    resources, so that `cdk import` takes them over and replaces none. What this
    library's constructs would refuse or warn of is told, and stands beside the line;
    credentials are never written.

    Exits with 0, or with 2 on misuse or where there is no such endpoint.
    """
    try:
        if policy:
            print_policy(CALLS)
            return
        if not names:
            raise MisuseError("name the endpoints")
        _refuse_existing(output)
        found = _adopted(_read(names, account))
        _write(found, output)
    except (RefusedError, ValueError) as fault:
        typer.echo(f"sagemaker-llm adopt: {harmless(str(fault))}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps(_facts(found, output), indent=2))
    else:
        typer.echo("\n".join(_lines(found, output)))


def _read(names: Sequence[str], account: AccountOptions) -> Deployment:
    if any(name.endswith((".py", ".ipynb")) for name in names):
        return _read_file(names, account.region or "")
    reader = account.reader(CALLS)
    try:
        return read_deployment(reader, names, note)
    except UnknownEndpointError as fault:
        raise MisuseError(str(fault)) from fault


def _read_file(names: Sequence[str], region: str) -> Deployment:
    if len(names) > 1:
        raise MisuseError(f"one file at a time, got {any_of(names)}")
    found = read_script(Path(names[0]), region=region)
    if not found.requests:
        lines = [f"{one.where}: {harmless(one.what)}" for one in found.remarks]
        raise ValueError(
            "\n".join([*lines, f"{names[0]} deploys nothing that is known"])
        )
    return found


def _adopted(deployment: Deployment) -> Adopted:
    # It loads the CDK, which the help of other commands does not need.
    from cdk_sagemaker_llm.cli.app.adopting import adopted  # noqa: PLC0415

    note("writing the app, and holding it against what was read")
    return adopted(deployment)


def _refuse_existing(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise MisuseError(f"{folder} is there already; --output names another folder")


def _write(found: Adopted, folder: Path) -> None:
    try:
        for path, content in found.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    except OSError as fault:
        raise MisuseError(f"{folder} cannot be written: {fault.strerror}") from fault


def _lines(found: Adopted, folder: Path) -> Iterator[str]:
    yield from (f"{one.where}: {harmless(one.what)}" for one in found.remarks)
    if found.remarks:
        yield ""
    yield f"{counted(len(found.resources), 'resource')} in {folder}:"
    kinds: dict[str, int] = {}
    for one in found.resources.values():
        kinds[one.type] = kinds.get(one.type, 0) + 1
    yield from (f"  {count} {kind}" for kind, count in kinds.items())
    if any(one.arn for one in found.resources.values()):
        yield "to take them over, in that folder:"
        yield f"  cdk import --resource-mapping {_mapping()}"
        yield "  cdk diff"


def _mapping() -> str:
    from cdk_sagemaker_llm.cli.app.adopting import MAPPING  # noqa: PLC0415 - as above

    return MAPPING


def _facts(found: Adopted, folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "files": sorted(found.files),
        "resources": [
            {
                "logical_id": logical_id,
                "type": one.type,
                "name": one.name,
                "identifier": dict(one.identifier) if one.arn else None,
            }
            for logical_id, one in found.resources.items()
        ],
        "remarks": [_remark(one) for one in found.remarks],
    }


def _remark(one: Remark) -> dict[str, str]:
    return {"where": one.where, "what": one.what}
