"""
Resource types that nothing here stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    Scope,
    physical_name,
)


@dataclass(frozen=True, slots=True)
class NotEmulated:
    """
    A type that is recorded, so that references resolve, and nothing more.

    Args:
        silent: Whether the event goes without a remark.
    """

    silent: bool

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Record the resource and say that it was not made.
        """
        name = physical_name(declaration.logical_id)
        place = f"{scope.region}:{scope.account}"
        remark = f"{declaration.type} is not emulated: recorded, nothing was made."
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=name,
            read_attribute=lambda attribute: (
                f"arn:aws:not-emulated:{place}:{name}"
                if attribute.endswith("Arn")
                else f"{name}.{attribute}"
            ),
            reason=None if self.silent else remark,
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Do nothing.
        """

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Do nothing.
        """
