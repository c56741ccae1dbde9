"""
The checks as a plugin of the CDK's own validation, in apps of any constructs.

What belongs here turns what is found of templates into what the CDK reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import (
    IPolicyValidationContext,
    IPolicyValidationPlugin,
    PolicyValidationPluginReport,
    PolicyViolatingResource,
    PolicyViolation,
)

import cdk_sagemaker_llm
from cdk_sagemaker_llm.cli.app.acknowledgements import (
    NAMESPACE,
    Acknowledgement,
    acknowledge,
    acknowledged_in,
    read_acknowledgements,
    warned_in,
)
from cdk_sagemaker_llm.cli.app.findings import Report, hosted_reports
from cdk_sagemaker_llm.cli.app.template_shapes import is_assembly
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.hosting.common.reporting import checked

_UNREADABLE = "unreadable"
_UNNEEDED = "unneeded-acknowledgement"


@jsii.implements(IPolicyValidationPlugin)
class SageMakerLlmChecks:
    """
    All checks that a template allows, when an app is synthesised.

    It takes an app of L1 classes, of the alpha constructs, of other libraries or of
    this one: ``Validations.of(app).add_plugins(SageMakerLlmChecks())``.
    Errors stop the synthesis, warnings are shown, and each is acknowledged at its
    construct or above by ``cdk-sagemaker-llm::`` and the code.

    Args:
        acknowledgements:
            A file of findings that are acknowledged, as ``sagemaker-llm check`` reads
            it.
            If omitted, only what the app itself acknowledges is.

    Raises:
        ValueError: If the file cannot be read, or one of its entries has no reason.
    """

    @checked
    def __init__(self, *, acknowledgements: str | Path | None = None) -> None:
        self._acknowledged = (
            []
            if acknowledgements is None
            else read_acknowledgements(Path(acknowledgements))
        )

    @property
    def name(self) -> str:
        """
        What the report calls the plugin.
        """
        return NAMESPACE

    @property
    def version(self) -> str:
        """
        The version of this library.
        """
        return str(cdk_sagemaker_llm.__version__)

    @property
    def rule_ids(self) -> list[str] | None:
        """
        Nothing, as what the CDK counts of them is of no use here.
        """
        return None

    def validate(
        self, context: IPolicyValidationContext
    ) -> PolicyValidationPluginReport:
        """
        Check the templates of the app, or of the stage that the plugin was added to.

        Args:
            context: What was synthesised.
        """
        folders = {Path(one).resolve().parent for one in context.template_paths}
        reports, in_app, warned = [], [], []
        for root in dict.fromkeys(map(_root, sorted(folders))):
            reports += hosted_reports(root)
            in_app += acknowledged_in(root)
            warned += warned_in(root)
        annotated = [one for one in in_app if one.of_annotation]
        every, unneeded = acknowledge(reports, [*self._acknowledged, *annotated])
        # What is acknowledged by its own name, the CDK sets aside, and reports.
        own = [one for one in in_app if not one.of_annotation]
        unneeded += acknowledge(every, own)[1]
        left = [
            one
            for one in acknowledge(every, warned)[0]
            if one.place is None or one.place.template.parent in folders
        ]
        violations = [*_violations(left), *map(_superfluous, unneeded)]
        gaps = {
            f"not checked: {report.subject}": "; ".join(report.left_out)
            for report in left
            if report.left_out
        }
        return PolicyValidationPluginReport(
            success=all(one.severity != Severity.ERROR for one in violations),
            violations=violations,
            metadata=gaps or None,
        )


def _root(folder: Path) -> Path:
    """
    Return the folder of the whole app, in which those of its stages are.
    """
    while is_assembly(folder.parent):
        folder = folder.parent
    return folder


def _violations(reports: Iterable[Report]) -> Iterator[PolicyViolation]:
    for report in reports:
        for finding in report.findings:
            yield PolicyViolation(
                rule_name=finding.code,
                description=finding.message,
                fix=finding.remedy or None,
                severity=str(finding.severity),
                violating_resources=[_resource(report)],
            )
        if report.fault:
            yield PolicyViolation(
                rule_name=_UNREADABLE,
                description=report.fault,
                severity=str(Severity.ERROR),
                violating_resources=[_resource(report)],
            )


def _resource(report: Report) -> PolicyViolatingResource:
    place = report.place
    if place is None:
        return PolicyViolatingResource(locations=[])
    return PolicyViolatingResource(
        locations=[],
        construct_path=place.construct_path or None,
        resource_logical_id=place.logical_id,
        template_path=str(place.template),
    )


def _superfluous(one: Acknowledgement) -> PolicyViolation:
    where: dict[str, Any] = {} if one.source else {"construct_path": one.path}
    return PolicyViolation(
        rule_name=_UNNEEDED,
        description=f"the acknowledgement of {one}, which nothing finds there",
        fix="take it out",
        severity=str(Severity.WARNING),
        violating_resources=[PolicyViolatingResource(locations=[], **where)],
    )
