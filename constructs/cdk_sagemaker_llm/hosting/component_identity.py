"""
What the service cannot change of a component in place, as ids and names that change
with it.

UpdateInferenceComponent knows no new name, endpoint or variant, while CloudFormation's
schema allows all three: another logical id makes it create and delete.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.scope import stack_of, stage_of

_USUAL_VARIANT = "AllTraffic"
_USUAL_ID = "Resource"
_DIGITS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentIdentity:
    """
    Where a component runs, and what it is called.

    Args:
        endpoint: The endpoint.

        variant_name: The variant whose instances are shared.

        name: The component's name; ``None`` if CloudFormation makes one.

        is_part: Whether endpoint and component are parts of one pattern, so that the
            component's own path changes with its endpoint.
    """

    endpoint: EndpointBase
    variant_name: str
    name: str | None
    is_part: bool

    def resource_id(self, scope: Construct) -> str:
        """
        Choose the resource's id.

        Placeholders count by the construct that they refer to, never by their text,
        which changes with every construct before them.
        """
        fixed = "/".join(filter(None, self._parts(scope)))
        return f"{_USUAL_ID}{_digest(fixed)}" if fixed else _USUAL_ID

    def _parts(self, scope: Construct) -> list[str | None]:
        endpoint = self.endpoint
        chosen = endpoint.chosen_name if isinstance(endpoint, Endpoint) else None
        variant = None if self.variant_name == _USUAL_VARIANT else self.variant_name
        return [
            _settled(scope, chosen),
            _settled(scope, self.name),
            _settled(scope, variant),
            None if self.is_part else _path(endpoint),
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterIdentity:
    """
    Which base an adapter is for, and what it is called.

    Args:
        base: The base.

        base_id: What its endpoint, variant and name make of its resource's id; its name
            if it was made elsewhere.

        name: The adapter's name; ``None`` if CloudFormation makes one.

        is_part: Whether the adapter is defined below its base, so that its own path
            changes with it.
    """

    base: Construct
    base_id: str
    name: str | None
    is_part: bool

    def resource_id(self, scope: Construct) -> str:
        """
        Choose the resource's id, which is another one wherever the base's is.
        """
        parts = [
            None if self.base_id == _USUAL_ID else _settled(scope, self.base_id),
            _settled(scope, self.name),
            None if self.is_part else _path(self.base),
        ]
        fixed = "/".join(filter(None, parts))
        return f"{_USUAL_ID}{_digest(fixed)}" if fixed else _USUAL_ID


def derived_name(
    prefix: str, scope: Construct, identity: ComponentIdentity | AdapterIdentity
) -> str:
    """
    Complete a prefix to a name that is another one wherever the component is replaced:
    a replacement is created before its predecessor is gone.

    Args:
        prefix: What the name begins with.

        scope: The component.

        identity: What the service cannot change of it.
    """
    return f"{prefix}-{_digest(f'{scope.node.path}/{identity.resource_id(scope)}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _settled(scope: Construct, name: str | None) -> str | None:
    if not is_unresolved(name):
        return name
    try:
        return json.dumps(stack_of(scope).resolve(name), sort_keys=True)
    except RuntimeError:
        # A name that the CDK makes where another environment asks for it: the same as
        # long as the construct's path is.
        return "generated"


def _path(construct: Construct) -> str:
    """
    Return where something is defined, from its stage on: the same in every stage.
    """
    return construct.node.path.removeprefix(f"{stage_of(construct).node.path}/")
