"""
Change sets: what their execution will do, and what they may take over of what exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moto.cloudformation.exceptions import CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet

from cdk_sagemaker_llm.catalog import resource_types
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.changes import Change, changes
from cdk_sagemaker_llm.local.cloudformation.registry import importable_names
from cdk_sagemaker_llm.local.cloudformation.stack import EmbeddedStack


class ChangeSetNotFound(CloudFormationError):  # noqa: N818 - the service's name
    # The CDK CLI waits for it after it has deleted a change set.
    code = "ChangeSetNotFound"


class InvalidChangeSetStatus(CloudFormationError):  # noqa: N818 - the service's name
    code = "InvalidChangeSetStatus"


class EmbeddedChangeSet(ChangeSet):
    """
    A change set that announces what its execution will do.
    """

    changes: list[Change]  # type: ignore[assignment]  # in the words of the API
    parent_change_set_id: str | None = None

    def diff(self) -> list[Change]:  # type: ignore[override]  # the same
        """
        List the changes; moto knows only actions and names.
        """
        stack = self.stack
        assert isinstance(stack, EmbeddedStack)  # noqa: S101 - for mypy
        return changes(stack, stack.draft(self.template, self.parameters))


class ImportChangeSet(EmbeddedChangeSet):
    """
    A change set that takes over what exists, and changes nothing else.

    Args:
        imports: What is taken over, in the API's form.
    """

    def __init__(
        self, imports: Sequence[Mapping[str, Any]], **settings: Untyped
    ) -> None:
        self.imports = imports
        super().__init__(**settings)

    @property
    def identifiers(self) -> dict[str, Mapping[str, str]]:
        """
        The properties that each resource is found by.
        """
        return {
            one["LogicalResourceId"]: one["ResourceIdentifier"] for one in self.imports
        }

    def diff(self) -> list[Change]:  # type: ignore[override]  # as above
        """
        List what is taken over.
        """
        found = super().diff()
        after = self.stack.parse_template(self.template)
        check_imports(self.stack.template_dict, after, self.imports, found)
        return [{**one, "Action": "Import"} for one in found]


def identifier_summaries(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """
    Return by which properties the resources of a template are found, a row for each
    type.
    """
    names: dict[str, list[str]] = {}
    for logical_id, body in document["Resources"].items():
        names.setdefault(body["Type"], []).append(logical_id)
    return [
        {
            "ResourceType": kind,
            "LogicalResourceIds": names[kind],
            "ResourceIdentifiers": [",".join(resource_types.identifier(kind))],
        }
        for kind in sorted(names.keys() & importable_names())
    ]


def check_imports(
    before: Mapping[str, Any],
    document: Mapping[str, Any],
    imports: Sequence[Mapping[str, Any]],
    changes: Sequence[Change],
) -> None:
    """
    Refuse what the service refuses before anything is taken over.

    Args:
        before: The template that the stack has.

        document: The one that takes over.

        imports: What is to be taken over, in the API's form.

        changes: What the template would change.
    """
    # Its words, as users report them: webdigi/AWS-VPN-Server-Setup#87,
    # awslabs/aws-security-assessment-solution#6, amazon-ec2-global-dashboard#4.
    kinds = [str(one["ResourceType"]) for one in imports]
    unsupported = [kind for kind in kinds if kind not in importable_names()]
    if unsupported:
        raise ValidationError(
            message="The following resource types are not supported for resource "
            f"import: {','.join(unsupported)}"
        )
    declared = document["Resources"]
    for one, kind in zip(imports, kinds, strict=True):
        name = one["LogicalResourceId"]
        if name not in declared or declared[name]["Type"] != kind:
            raise ValidationError(
                message=f"Resource {name} of {kind}, which is to be imported, is not "
                "in the template"
            )
        keys = resource_types.identifier(kind)
        if one["ResourceIdentifier"].keys() != {*keys}:
            raise ValidationError(
                message=f"Invalid identifier of {name}: {kind} is found by "
                f"{', '.join(keys)}"
            )
    named = {one["LogicalResourceId"] for one in imports}
    bare = [name for name in declared if name in named]
    bare = [name for name in bare if "DeletionPolicy" not in declared[name]]
    if bare:
        raise ValidationError(
            message=f"The following resources to import [{', '.join(bare)}] must have "
            "DeletionPolicy attribute specified in the template."
        )
    others = [
        one["LogicalResourceId"]
        for one in changes
        if one["LogicalResourceId"] not in named or one["Action"] != "Add"
    ]
    others += (
        ["Outputs"] if document.get("Outputs", {}) != before.get("Outputs", {}) else []
    )
    if others:
        raise ValidationError(
            message="As part of the import operation, you cannot modify or add "
            f"[{', '.join(others)}]"
        )
