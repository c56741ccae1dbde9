"""
What tests hold of a synthesised app: its templates, and what is found wrong with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syrupy.extensions.json import JSONSnapshotExtension

from cdk_sagemaker_llm.cli.app.acknowledgements import acknowledge, acknowledged_in
from cdk_sagemaker_llm.cli.app.assembly import masked
from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.cli.app.template_shapes import is_assembly
from cdk_sagemaker_llm.findings import Finding, Severity, errors_of

if TYPE_CHECKING:
    from aws_cdk import App

# As the CDK writes a warning that has an id.
_WARNING = re.compile(r"(.*) \[ack: cdk-sagemaker-llm:(LLM\d+)\]", re.DOTALL)


class TemplateSnapshotExtension(JSONSnapshotExtension):
    """
    A syrupy extension for templates: a JSON file each, with asset hashes masked.

    The hash of an asset changes with every line of the file that it is of; that a
    template is another than before should not.

    ``assert template == snapshot(extension_class=TemplateSnapshotExtension)``
    """

    def serialize(self, data: Any, **options: Any) -> Any:  # noqa: ANN401 - syrupy's own types
        """
        Write a template as JSON, its keys in order and its asset hashes masked.

        Args:
            data: The template, as a dictionary.
        """
        return masked(str(super().serialize(data, **options)))


def findings_of(app: App | Path | str) -> list[Finding]:
    """
    Return what synthesis warns of, and the errors that ``sagemaker-llm check`` finds in
    the templates, as far as the app has not acknowledged them.

    ``assert findings_of(app) == []``

    Args:
        app: The app, which is synthesised if it is not yet, or the folder of its cloud
            assembly, such as ``cdk.out``.

    Raises:
        ValueError: If the folder is no cloud assembly, or a file in it cannot be read.
    """
    from aws_cdk import cx_api  # noqa: PLC0415 - slow to load

    if isinstance(app, Path | str):
        if not is_assembly(Path(app)):
            raise ValueError(
                f"app must be an App, or a folder such as cdk.out, got {str(app)!r}; "
                "cdk synth writes one"
            )
        assembly = cx_api.CloudAssembly(str(app))
    else:
        assembly = app.synth()
    warnings = [
        Finding(Severity.WARNING, found[2], found[1])
        for stack in assembly.stacks_recursively
        for message in stack.messages
        if (found := _WARNING.fullmatch(str(message.entry.data)))
    ]
    folder = Path(assembly.directory)
    reports, _ = acknowledge(hosted_reports(folder), acknowledged_in(folder))
    if faults := [report.fault for report in reports if report.fault]:
        raise ValueError("; ".join(faults))
    errors = [one for report in reports for one in errors_of(report.findings)]
    return [*dict.fromkeys([*warnings, *errors])]
