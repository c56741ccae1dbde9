"""
Writing what models need into their execution role: which policy each statement goes
to, within the sizes that IAM takes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from aws_cdk import Aws, CfnResource, Fn, Names, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable, Node

from cdk_sagemaker_llm.findings import Rule, raise_errors
from cdk_sagemaker_llm.hosting.common.reporting import at_synth
from cdk_sagemaker_llm.hosting.common.scope import account_of, belongs, stack_of
from cdk_sagemaker_llm.hosting.roles.given_roles import (
    access_id,
    remind,
    stays_as_it_is,
    trust_findings,
)
from cdk_sagemaker_llm.hosting.roles.nag import acknowledge
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    covers,
    document_json,
    size_of,
    united,
)
from cdk_sagemaker_llm.tokens import is_placeholder

# IAM counts all inline policies of a role together, 10,240 characters; half is left to
# what others grant to it.
_INLINE_SIZE = 10_240 // 2
_MANAGED_SIZE = 6_144
# Of the 128 characters of a policy's name a hyphen and a UUID take 37.
_LONGEST_PATH = 80
# The default quota of managed policies attached to a role.
_MOST_MANAGED = 10

# What fails to be created leaves nothing behind.
_KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE

NO_ROOM = Rule(
    "LLM189",
    "the models of one role need more permissions than IAM lets a role have",
    "IAM user guide, quotas",
)


@dataclass(frozen=True, slots=True)
class _Written:
    """
    A policy in the tree, and the reasons that cdk-nag has for its wildcards.
    """

    policy: iam.Policy | iam.ManagedPolicy
    node: Node
    acknowledged: dict[str, str] = field(default_factory=dict)


class RoleAccess:
    """
    What the models and endpoints of one stack need of one role, in one policy.

    It is united and without repeats, and grows as they are defined. What does not fit
    a role's inline policies goes to managed policies.

    Args:
        id: Their id there; those after the first have a number too.

        is_given: Whether the role is the user's own, which may refuse to be changed.
    """

    def __init__(
        self, role: iam.IRole, home: Construct, id: str, *, is_given: bool
    ) -> None:
        self._role = role
        self._home = home
        self._id = id
        self._is_given = is_given
        self._is_untouched = False
        self._documents: list[list[Statement]] = []
        self._policies: list[_Written] = []
        self._sharers: list[iam.IRole] = [role]
        self._is_kept = False

    @functools.cached_property
    def role_arn(self) -> str:
        """
        The role's ARN, asked for once.
        """
        return self._role.role_arn

    def shared_by(self, role: iam.IRole) -> RoleAccess:
        """
        Return this access for another object of the same role.
        """
        # Held, so that no other role is known by its number.
        self._sharers.append(role)
        return self

    def keep(self, *, where: bool) -> None:
        """
        Let the role and its policies outlive what runs with it, where a key or a VPC
        is used.

        After DeleteEndpoint SageMaker needs them for some minutes, to retire the grants
        of keys and to remove network interfaces (SageMaker API reference,
        DeleteEndpoint). A role that was given is not this one's to keep.
        """
        if not where or self._is_given or self._is_kept:
            return
        self._is_kept = True
        self._role.apply_removal_policy(_KEPT)
        for written in self._policies:
            _keep(written.policy)

    def allow(self, statements: Iterable[Statement]) -> list[IDependable]:
        """
        Let the role do something more; return the policies to wait for.

        SageMaker uses the role the moment that it is named: what names it must depend
        on them.
        """
        needed = list(statements)
        added = self._place_together(needed)
        for statement in () if added else needed:
            number = self._place(statement)
            if number is not None:
                added.setdefault(number, []).append(statement)
        for number, new in added.items():
            self._write(number, new)
        return [written.policy for written in self._policies]

    def _place_together(
        self, statements: Sequence[Statement]
    ) -> dict[int, list[Statement]]:
        """
        Put the first statements into the first document, if it holds all of them.

        Most roles never need another, and one by one it takes much longer.
        """
        is_first = statements and not self._documents
        if not is_first or size_of(united(statements)) > _INLINE_SIZE:
            return {}
        self._documents.append(list(statements))
        return {0: list(statements)}

    def _place(self, statement: Statement) -> int | None:
        """
        Put a statement into the first document with room; ``None`` if one has it.

        What was placed before stays where it is: a model that is defined after others
        moves nothing of theirs from one policy to another.
        """
        if any(covers(document, statement) for document in self._documents):
            return None
        for number, document in enumerate(self._documents):
            room = _MANAGED_SIZE if number else _INLINE_SIZE
            both = united([*document, statement])
            if self._is_untouched or size_of(both) <= room:
                document.append(statement)
                return number
        if len(self._documents) > _MOST_MANAGED:
            fault = NO_ROOM.finding(
                f"the models of one role need more than {_INLINE_SIZE} characters of "
                f"inline and {_MOST_MANAGED} managed policies",
                "give some of them an endpoint with a role of its own",
            )
            raise_errors(self._home.node.path, [fault])
        self._documents.append([statement])
        return len(self._documents) - 1

    def _write(self, number: int, new: Sequence[Statement]) -> None:
        found = united(self._documents[number])
        if number == len(self._policies):
            policy = self._make(number, document_json(found))
            if self._is_kept:
                _keep(policy)
            self._policies.append(_Written(policy, policy.node))
        elif self._is_untouched:
            # A customised role notes what it is asked for, and reports it at the end.
            for each in new:
                parsed = iam.PolicyStatement.from_json(each.to_json())
                self._role.add_to_principal_policy(parsed)
        else:
            resource = self._policies[number].node.default_child
            if isinstance(resource, iam.CfnPolicy | iam.CfnManagedPolicy):
                resource.policy_document = document_json(found)
        written = self._policies[number]
        acknowledge(self._home, written.node, found, written.acknowledged)

    def _make(
        self, number: int, document: Mapping[str, Any]
    ) -> iam.Policy | iam.ManagedPolicy:
        parsed = iam.PolicyDocument.from_json(document)
        if number:
            name = f"{self._id}{number}"
            return iam.ManagedPolicy(
                self._home, name, document=parsed, roles=[self._role]
            )
        # Where the app customises its roles, this one has a name in its ARN.
        if not self._is_given and is_placeholder(self.role_arn):
            return iam.Policy(self._home, self._id, document=parsed, roles=[self._role])
        # Stacks that share a role write into it side by side, and one inline policy
        # would overwrite another of the same name, of this app or another; what ends a
        # stack's id is no other stack's.
        path = Names.unique_resource_name(self._home, max_length=_LONGEST_PATH)
        policy = iam.Policy(
            self._home,
            self._id,
            document=parsed,
            policy_name=f"{path}-{Fn.select(2, Fn.split('/', Aws.STACK_ID))}",
        )
        # By the role's own means: it may be told to stay as it is.
        self._role.attach_inline_policy(policy)
        self._is_untouched = stays_as_it_is(policy)
        if self._is_untouched:
            remind(policy, self._role, self._asked_for)
        return policy

    def _asked_for(self) -> list[Statement]:
        return [each for document in self._documents for each in united(document)]


def _keep(policy: iam.Policy | iam.ManagedPolicy) -> None:
    resource = policy.node.default_child
    if isinstance(resource, CfnResource):
        resource.apply_removal_policy(_KEPT)


# The accesses of a stack, by the roles that Python knows, and by their names.
_accesses: WeakKeyDictionary[Stack, dict[int | str, RoleAccess]] = WeakKeyDictionary()


def make_execution_role(scope: Construct, name: str) -> iam.Role:
    """
    Make a role that only SageMaker, acting for this account, may take.
    """
    role = iam.Role(
        scope,
        name,
        assumed_by=service_of("sagemaker", account_of(scope)),
        description="Runs a language model on SageMaker",
    )
    # Who shares it in this stack adds to the policy beside it.
    access = RoleAccess(role, scope, "Access", is_given=False)
    _accesses.setdefault(stack_of(scope), {})[id(role)] = access
    return role


def access_of(scope: Construct, role: iam.IRole) -> RoleAccess:
    """
    Return what the scope's stack needs of a role, the same for all who share it.

    A given role is known by its name, or where that is decided at deployment by its
    place in the app: never by the text of a placeholder, nor by the order of models.
    """
    stack = stack_of(scope)
    accesses = _accesses.setdefault(stack, {})
    if id(role) not in accesses:
        place = access_id(role, stack)
        if place not in accesses:
            home = Construct(stack, place)
            belongs(home, stack)
            accesses[place] = RoleAccess(role, home, "Policy", is_given=True)
            at_synth(home, lambda: trust_findings(role))
        accesses[id(role)] = accesses[place].shared_by(role)
    return accesses[id(role)]


@functools.cache
def service_of(name: str, account: str) -> iam.ServicePrincipal:
    """
    Return a service when it acts for an account: no other may have it take the role.
    """
    return iam.ServicePrincipal(
        f"{name}.amazonaws.com",
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )
