"""
``sagemaker-llm preflight``: whether an account has what an app needs, before anything
of it costs money.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._account import (
    AccountOptions,
    AsPolicy,
    is_near,
    print_policy,
)
from cdk_sagemaker_llm.cli.commands._options import AsJson, grouped
from cdk_sagemaker_llm.cli.output.answers import note
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.text import counted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.account.preflight import Preflight
    from cdk_sagemaker_llm.account.reader import AccountReader

CLEAN, ERRORS, MISUSE = 0, 1, 2


@grouped
def preflight(
    *,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CDK.OUT", help="What cdk synth has written, or one template."
        ),
    ],
    account: AccountOptions,
    hub: Annotated[
        bool,
        typer.Option(
            help="Ask the Hugging Face Hub whether it hands out the models, with the "
            "app's own tokens."
        ),
    ] = True,
    as_policy: AsPolicy = False,
    as_json: AsJson = False,
) -> None:
    """
    Ask an account whether it has what an app needs, before anything is deployed.

    It reads cdk.out, and asks about quotas, instance types, images, objects in S3,
    secrets, keys, roles, subnets, reserved capacity and names. It changes nothing:
    --policy prints what it must be allowed. A token of the app goes to the Hub alone;
    no secret is printed. What could not be asked is listed as not asked. Exits with 0
    (nothing found, warnings aside), 1 (errors) or 2 (misuse, or an app that cannot be
    read).
    """
    try:
        _refuse_absent(path)
        reader = account.reader(())
        if as_policy:
            _print_policy(path, reader)
            return
        found = _preflight(path, reader, account, with_hub=hub)
    except (AssemblyError, MisuseError) as fault:
        typer.echo(f"sagemaker-llm preflight: {fault}", err=True)
        raise typer.Exit(MISUSE) from fault
    typer.echo(_as_json(found) if as_json else "\n".join(_lines(found)))
    raise typer.Exit(ERRORS if _count(found, Severity.ERROR) else CLEAN)


def _refuse_absent(path: Path) -> None:
    if not path.exists():
        raise MisuseError(f"{path} does not exist; name what cdk synth has written")


def _print_policy(path: Path, reader: AccountReader) -> None:
    # Reading an app loads what the help of other commands does not need.
    from cdk_sagemaker_llm.account.preflight import calls_for  # noqa: PLC0415
    from cdk_sagemaker_llm.cli.app.needs import read_needs  # noqa: PLC0415

    partition = _partition(reader)
    needs = read_needs(path, region=reader.region, partition=partition, account="*")
    print_policy(calls_for(needs, partition))


def _preflight(
    path: Path, reader: AccountReader, options: AccountOptions, *, with_hub: bool
) -> Preflight:
    from cdk_sagemaker_llm.account.hub import Hub  # noqa: PLC0415 - as above
    from cdk_sagemaker_llm.account.preflight import (  # noqa: PLC0415 - as above
        CALLS,
        account_of,
        preflight,
    )
    from cdk_sagemaker_llm.account.reader import RefusedError  # noqa: PLC0415 - as above
    from cdk_sagemaker_llm.cli.app.needs import read_needs  # noqa: PLC0415 - as above

    reader = replace(reader, calls=CALLS)
    try:
        number = account_of(reader)
    except RefusedError as refusal:
        raise MisuseError(f"the account cannot be asked: {refusal}") from refusal
    if not number:
        raise MisuseError(f"the account cannot be asked: {reader.not_asked[0].why}")
    needs = read_needs(
        path, account=number, region=reader.region, partition=_partition(reader)
    )
    by_whom: Hub | str = Hub() if with_hub else "--no-hub"
    if is_near(options.endpoint_url):
        by_whom = "an embedded AWS downloads nothing"
    return preflight(
        needs,
        reader,
        account=number,
        hub=by_whom,
        tell=lambda what: note(f"asking about {what}"),
    )


def _partition(reader: AccountReader) -> str:
    return reader.session.get_partition_for_region(reader.region)


def _lines(found: Preflight) -> Iterator[str]:
    for place, finding in found.findings:
        yield f"{place}: {finding.severity} {finding}"
    for one in found.not_asked:
        yield f"not asked: {one.what}: {one.why}"
    whose = f"account {found.account}" if found.account else "an account"
    errors, warnings = (_count(found, one) for one in Severity)
    left = f"; {len(found.not_asked)} not asked" if found.not_asked else ""
    yield (f"{whose}: {counted(errors, 'error')}, {counted(warnings, 'warning')}{left}")


def _count(found: Preflight, severity: Severity) -> int:
    return sum(finding.severity is severity for _, finding in found.findings)


def _as_json(found: Preflight) -> str:
    answer: dict[str, Any] = {
        "account": found.account or None,
        "errors": _count(found, Severity.ERROR),
        "warnings": _count(found, Severity.WARNING),
        "findings": [
            {
                "subject": place,
                "severity": str(finding.severity),
                "code": finding.code,
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for place, finding in found.findings
        ],
        "not_asked": [
            {"subject": one.what, "reason": one.why} for one in found.not_asked
        ],
    }
    return json.dumps(answer, indent=2)
