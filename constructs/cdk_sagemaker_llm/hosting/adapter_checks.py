"""
What is checked of an adapter's base before the adapter is made, and what the base is
told so that it takes adapters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from aws_cdk import Stack
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.model import Model
from cdk_sagemaker_llm.hosting.scope import stack_of
from cdk_sagemaker_llm.models import class_of, kind_of
from cdk_sagemaker_llm.serving.adapters import (
    AdapterHost,
    adapter_findings,
    adapter_host,
)
from cdk_sagemaker_llm.serving.environment import added_findings
from cdk_sagemaker_llm.serving.lmi.base import config_of

# CloudFormation takes 500 resources in a stack, of which each adapter is one.
_MANY = 400

UNKNOWN_ROLE = Rule(
    "LLM420",
    "the role that reads an adapter is not known, so that it cannot be allowed to",
)
MANY_ADAPTERS = Rule(
    "LLM421",
    "a stack's adapters come near to all the resources that a stack may have",
    "CloudFormation user guide, quotas",
)

_counts: WeakKeyDictionary[Stack, int] = WeakKeyDictionary()


def base_findings(base: InferenceComponentBase, rank: int | None) -> list[Finding]:
    """
    Check that a base takes an adapter; of an imported one nothing is known.

    Args:
        base: The component of the foundation model.

        rank: The adapter's rank; ``None`` if it is not known.
    """
    definition = _definition_of(base)
    host = None if definition is None else _host_of(definition)
    if definition is None or host is None:
        return []
    found = list(adapter_findings(host, rank))
    if not found and host.switches:
        found += _switch_findings(definition, host.switches)
    return found


def switch_on(base: InferenceComponentBase) -> None:
    """
    Let a base take adapters, unless its definition says of itself that it does.
    """
    model, definition = base.model, _definition_of(base)
    host = None if definition is None else _host_of(definition)
    if definition is None or host is None or not isinstance(model, Model):
        return
    if not host.switches:
        return
    model.definition = replace(
        definition, variables={**definition.variables, **host.switches}
    )
    for name, value in host.switches.items():
        path = f"PrimaryContainer.Environment.{name}"
        model.cfn_model.add_property_override(path, value)


def role_findings(base: InferenceComponentBase, uri: str) -> list[Finding]:
    """
    Say what an endpoint that was made elsewhere must be allowed to.
    """
    return [
        UNKNOWN_ROLE.finding(
            f"the execution role of {base.node.id}'s endpoint is not known here: "
            f"nothing lets it read {uri}",
            "allow it s3:GetObject and s3:ListBucket where it is made",
        )
    ]


def count_findings(scope: Construct) -> list[Finding]:
    """
    Count an adapter of a stack, and tell once of a stack that has nearly all it may.
    """
    stack = stack_of(scope)
    count = _counts[stack] = _counts.get(stack, 0) + 1
    if count != _MANY:
        return []
    return [
        MANY_ADAPTERS.finding(
            f"this stack defines {_MANY} adapters and more, and CloudFormation takes "
            "500 resources in a stack",
            "define further ones in a stack of their own, which may refer to the base",
        )
    ]


def _definition_of(base: InferenceComponentBase) -> ModelDefinition | None:
    return None if base.model is None else base.model.definition


def _host_of(definition: ModelDefinition) -> AdapterHost | None:
    architecture = class_of(kind_of(definition.model))
    return adapter_host(
        definition.container, definition.variables, architecture=architecture
    )


def _switch_findings(
    definition: ModelDefinition, switches: Mapping[str, str]
) -> Iterator[Finding]:
    container = replace(definition.container, environment=definition.variables)
    yield from added_findings(
        switches,
        container,
        accelerators=None,
        architecture=config_of(kind_of(definition.model)),
    )
