"""
A deployment as Python: a block for each resource, and the ways in which it can be
written, the best first.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.adoption.code import Call, Name, call
from cdk_sagemaker_llm.adoption.deployment import Deployment, Hidden, Open, Remark
from cdk_sagemaker_llm.adoption.resources import (
    ALARM,
    COMPONENT,
    ENDPOINT,
    ENDPOINT_CONFIG,
    MODEL,
    POLICY,
    TARGET,
    AdoptedResource,
)

_SELF = Name("self")
WORDS = {
    MODEL: "Model",
    ENDPOINT_CONFIG: "Config",
    ENDPOINT: "Endpoint",
    COMPONENT: "Component",
    TARGET: "Scaling",
    POLICY: "Policy",
    ALARM: "Alarm",
}
_LONGEST_ID = 40
_NOT_IN_SECRETS = re.compile(r"[^A-Za-z0-9/_+=.@-]")


@dataclass(frozen=True, slots=True)
class Form:
    """
    One way to write the resources of a block.

    Args:
        value: The call that makes it.

        claims: The resources that it makes: the expression of each one's L1 class, and
            what it is to be.

        more: What is called afterwards, with the variable of what that makes, if any.
    """

    value: Call
    claims: Sequence[tuple[str, AdoptedResource]]
    more: Sequence[tuple[str, Call]] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """
    The lines of the stack that make one resource, or a few that belong together.

    Args:
        id: The construct's id in the stack.

        variable: What it is called in the stack's code.

        resources: What it makes.

        forms: The ways to write it, the best first; the last one always works. One
            returns ``None`` where it does not apply.
    """

    id: str
    variable: str
    resources: Sequence[AdoptedResource]
    forms: Sequence[Callable[[Writer, Block], Form | None]]


@dataclass(slots=True)
class Writer:
    """
    What is written of a deployment.

    Args:
        deployment: What it is.

        choices: Which of a block's forms is written, by its id: the first, unless that
            was tried and refused.
    """

    deployment: Deployment
    choices: dict[str, int] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list, init=False)
    # What exists and stays as it is, by its kind and name: a variable and its call.
    givens: dict[tuple[str, str], tuple[str, Call]] = field(
        default_factory=dict, init=False
    )
    arguments: dict[str, str] = field(default_factory=dict, init=False)
    secrets: dict[str, Hidden] = field(default_factory=dict, init=False)
    _taken: set[str] = field(
        default_factory=lambda: {"self", "scope", "id", "settings"}, init=False
    )

    def form(self, block: Block) -> Form:
        """
        Return how a block is written.
        """
        for number in range(self.choices.get(block.id, 0), len(block.forms)):
            # An alarm asks for it that is written with its policy.
            self.choices[block.id] = number
            made = block.forms[number](self, block)
            if made is not None:
                return made
        raise ValueError(f"{block.id} can be written in no way")

    def remarks(self) -> list[Remark]:
        """
        Return what has to be known beside the code: secrets to store first.
        """
        return [
            Remark(
                hidden.name,
                f"looks like {hidden.kind}, and is not written: store it in Secrets "
                f"Manager as {name}, where the app reads it from",
            )
            for name, hidden in self.secrets.items()
        ]

    def block_of(self, kind: str, name: str) -> Block | None:
        """
        Return the block that makes a resource; ``None`` if the app makes none of that
        name.
        """
        for block in self.blocks:
            for one in block.resources:
                if (one.type, one.name) == (kind, name):
                    return block
        return None

    def is_plain(self, block: Block) -> bool:
        """
        Tell whether a block is written with CloudFormation's own class.
        """
        return self.choices.get(block.id, 0) == len(block.forms) - 1

    def reference(self, kind: str, name: object, attribute: str, own: str) -> object:
        """
        Return the expression for another resource's name.

        Args:
            kind: Its type.

            name: Its name, which is written where the app does not make it.

            attribute: What ``Fn::GetAtt`` calls its name.

            own: What its construct calls it.
        """
        block = self.block_of(kind, str(name))
        if block is None:
            return self.value(name, str(name))
        if self.is_plain(block):
            return Name(f'{block.variable}.get_att("{attribute}").to_string()')
        return Name(f"{block.variable}.{own}")

    def model_name(self, name: object) -> object:
        """
        Return the expression for a model's name.
        """
        return self.reference(MODEL, name, "ModelName", "model_name")

    def endpoint_name(self, name: object) -> object:
        """
        Return the expression for an endpoint's name.
        """
        return self.reference(ENDPOINT, name, "EndpointName", "endpoint_name")

    def component_name(self, name: object) -> object:
        """
        Return the expression for an inference component's name.
        """
        block = self.block_of(COMPONENT, str(name))
        if block is not None and self.is_plain(block):
            return name
        own = "inference_component_name"
        return self.reference(COMPONENT, name, "InferenceComponentName", own)

    def construct(self, kind: str, name: object, by_name: str) -> object:
        """
        Return the construct of a resource: the app's own, or one that refers to it.

        Args:
            kind: Its type.

            name: Its name.

            by_name: What refers to one by its name, such as ``Model.from_model_name``.
        """
        block = self.block_of(kind, str(name))
        if block is not None and not self.is_plain(block):
            return Name(block.variable)
        naming = {
            MODEL: self.model_name,
            ENDPOINT: self.endpoint_name,
        }.get(kind, lambda one: self.reference(kind, one, "EndpointConfigName", ""))
        return self.existing_variable(
            by_name, str(name), f"existing_{WORDS[kind]}", naming(name)
        )

    def existing_variable(
        self, function: str, key: str, word: str, *arguments: object, **keywords: object
    ) -> Name:
        """
        Return the variable of something that exists and stays as it is.

        Args:
            function: What refers to it, such as ``iam.Role.from_role_arn``.

            key: What tells it from others.

            word: What it is called.
        """
        if (function, key) not in self.givens:
            variable = self.variable(word)
            made = call(function, _SELF, pascal(variable), *arguments, **keywords)
            self.givens[function, key] = variable, made
        return Name(self.givens[function, key][0])

    def role(self, arn: object) -> Name | None:
        """
        Return the variable of a role, which the app does not change.
        """
        if arn is None:
            return None
        return self.existing_variable(
            "iam.Role.from_role_arn", _key(arn), "role", self.value(arn), mutable=False
        )

    def key(self, arn: object) -> Name | None:
        """
        Return the variable of a key; ``None`` where it is not known by its ARN.
        """
        if not isinstance(arn, str) or ":key/" not in arn:
            return None
        return self.existing_variable("kms.Key.from_key_arn", arn, "key", arn)

    def topic(self, arn: str | None) -> Name | None:
        """
        Return the variable of a topic.
        """
        if not arn:
            return None
        return self.existing_variable("sns.Topic.from_topic_arn", arn, "topic", arn)

    def network(self, vpc: Mapping[str, Any] | None, *, isolated: bool) -> object:
        """
        Return where something runs; ``None`` for SageMaker's own network.
        """
        subnets = list((vpc or {}).get("Subnets", ()))
        groups = list((vpc or {}).get("SecurityGroupIds", ()))
        places = [self.deployment.subnets.get(str(one)) for one in subnets]
        found_places = [one for one in places if one is not None]
        if not subnets or len(found_places) < len(subnets):
            return call("Network", isolated=True) if isolated else None
        key = ",".join([*map(str, subnets), *map(str, groups)])
        network = self.existing_variable(
            "ec2.Vpc.from_vpc_attributes",
            key,
            "vpc",
            vpc_id=found_places[0]["vpc"],
            availability_zones=[one["zone"] for one in found_places],
            private_subnet_ids=subnets,
        )
        held = [
            self.existing_variable(
                "ec2.SecurityGroup.from_security_group_id",
                str(group),
                "security_group",
                group,
                mutable=False,
            )
            for group in groups
        ]
        return call(
            "Network",
            vpc=network,
            security_groups=held,
            isolated=True if isolated else None,
        )

    def value(self, value: object, owner: str = "") -> Any:  # noqa: ANN401 - JSON
        """
        Return a value of a request as it is written: arguments and secrets by name.

        Args:
            value: The value.

            owner: Whose it is, which a secret's name begins with.
        """
        if isinstance(value, Open):
            self.arguments.setdefault(value.name, value.why)
            self._taken |= {value.name, pascal(value.name)}
            return Name(value.name)
        if isinstance(value, Hidden):
            name = _NOT_IN_SECRETS.sub("-", f"adopted/{owner}/{value.name}")
            self.secrets[name] = value
            return Name(f'SecretValue.secrets_manager("{name}").unsafe_unwrap()')
        if isinstance(value, Mapping):
            return {key: self.value(one, owner) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one, owner) for one in value]
        return value

    def properties(self, resource: AdoptedResource) -> dict[str, Any]:
        """
        Return a resource's properties as they are written, with references to others.
        """
        naming: Mapping[str, Callable[[object], object]] = {
            "ModelName": self.model_name,
            "ModelNameOverride": self.model_name,
            "EndpointConfigName": lambda name: self.reference(
                ENDPOINT_CONFIG, name, "EndpointConfigName", "endpoint_config_name"
            ),
            "BaseInferenceComponentName": self.component_name,
        }
        if resource.type == COMPONENT:
            naming = {**naming, "EndpointName": self.endpoint_name}
        made: dict[str, Any] = self.value(
            _renamed(resource.properties, naming), resource.name
        )
        if isinstance(made.get("ResourceId"), str):
            made["ResourceId"] = self.scaled(made["ResourceId"])
        for name in ("AlarmActions", "OKActions", "InsufficientDataActions"):
            if name in made:
                made[name] = self.actions(made[name])
        return made

    def actions(self, arns: Sequence[object]) -> list[object]:
        """
        Return the expressions for what an alarm sets off.
        """
        policies = {
            one.physical_id: self._policy(block, number)
            for block in self.blocks
            for number, one in enumerate(block.resources)
            if one.type == POLICY
        }
        return [policies.get(str(one), one) for one in arns]

    def _policy(self, block: Block, number: int) -> Name:
        if self.is_plain(block):
            return Name(f"{plain_variable(block, number)}.ref")
        return Name(f"{block.variable}.cfn_scaling_policy.ref")

    def scaled(self, resource_id: str) -> object:
        """
        Return the expression for what is scaled.
        """
        kind, _, rest = resource_id.partition("/")
        name, slash, place = rest.partition("/")
        naming = self.endpoint_name if kind == "endpoint" else self.component_name
        found = naming(name)
        if not isinstance(found, Name) or "{" in resource_id:
            return resource_id
        inner = f"{kind}/{{{found.text}}}{slash}{place}"
        quote = "'" if '"' in found.text else '"'
        return Name(f"f{quote}{inner}{quote}")

    def variable(self, word: str) -> str:
        """
        Return a variable that is not taken yet, and take it.
        """
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()
        name = re.sub(r"[^a-z0-9]+", "_", name).strip("_") or "resource"
        if name[0].isdigit() or keyword.iskeyword(name):
            name = f"the_{name}"
        name = name[:_LONGEST_ID].rstrip("_")
        found, number = name, 2
        # Two variables of one id would be one construct.
        while {found, pascal(found)} & self._taken:
            found, number = f"{name}_{number}", number + 1
        self._taken |= {found, pascal(found)}
        return found


def plain_form(writer: Writer, block: Block) -> Form:
    """
    Write resources with CloudFormation's own class, property by property.
    """
    variables = [plain_variable(block, at) for at in range(len(block.resources))]
    first, *others = [
        call(
            "CfnResource",
            _SELF,
            pascal(variable),
            type=one.type,
            properties=writer.properties(one),
        )
        for variable, one in zip(variables, block.resources, strict=True)
    ]
    return Form(
        first,
        list(zip(variables, block.resources, strict=True)),
        list(zip(variables[1:], others, strict=True)),
    )


def plain_variable(block: Block, number: int) -> str:
    """
    Return the variable of one of a block's resources, each by a class of its own.
    """
    return block.variable if number == 0 else f"{block.variable}_{number + 1}"


def _renamed(value: Any, naming: Mapping[str, Callable[[object], object]]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return {
            key: naming[key](one) if key in naming else _renamed(one, naming)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_renamed(one, naming) for one in value]
    return value


def _key(value: object) -> str:
    return value.name if isinstance(value, Open) else str(value)


def pascal(text: str) -> str:
    """
    Return a text as a construct's id: ``my-chat`` becomes ``MyChat``.
    """
    parts = re.split(r"[^A-Za-z0-9]+", text)
    made = "".join(part[0].upper() + part[1:] for part in parts if part)
    return made[:_LONGEST_ID] or "Resource"
