"""
What a deployment in a closed VPC calls of AWS, and whether it gets there.

It is read from templates alone, and by tables of its own: the roles' policies, the
images, where weights and tarballs lie, what functions ask boto3 for, and what the
images' entry points call as they start. Nothing here is the library's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# Which services an action is a call of, by the action's beginning.
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "s3:": ("s3",),
    "logs:": ("logs",),
    "cloudwatch:": ("monitoring",),
    "ecr:": ("ecr.api", "ecr.dkr"),
    "sagemaker:InvokeEndpoint": ("sagemaker.runtime",),
    "secretsmanager:": ("secretsmanager",),
    "ssm:": ("ssm",),
    "sts:": ("sts",),
}
# What a service does for its customer, outside the VPC: SageMaker and Lambda make their
# network interfaces, and Lambda writes a function's lines. S3 asks KMS by itself.
OUTSIDE: Mapping[str, tuple[str, ...]] = {
    "AWS::SageMaker::Model": ("ec2:", "kms:"),
    "AWS::SageMaker::EndpointConfig": ("ec2:", "kms:"),
    "AWS::Lambda::Function": ("ec2:", "logs:"),
}
CLIENTS: Mapping[str, str] = {
    "sagemaker-runtime": "sagemaker.runtime",
    "sagemaker": "sagemaker.api",
    "secretsmanager": "secretsmanager",
    "ssm": "ssm",
    "sts": "sts",
    "s3": "s3",
}
# The entry points of aws/deep-learning-containers (scripts/docker), djl-serving and
# llm-hosting-container call nothing of AWS that they need: what tells AWS of the start
# runs in the background, and drops its errors. What they fetch stands in variables.
ENTRY_POINTS = frozenset(
    {
        "djl-inference",
        "huggingface-pytorch-tgi-inference",
        "huggingface-vllm",
        "llama-cpp",
        "sglang",
        "tei",
        "vllm",
    }
)
# Variables that name what an entry point fetches by itself.
FETCHED = re.compile(
    r"(HF_MODEL_ID|MODEL_ID|OPTION_MODEL_ID|SM_\w+_(MODEL|HF_REPO|MODEL_PATH))\Z"
)
_BOTO3 = re.compile(r"""boto3\.client\(\s*["']([\w-]+)["']""")
_REPOSITORY = re.compile(r"\.dkr\.ecr\..*?/(?:[\w-]+/)*([\w.-]+)[:@]")
_LAYERS = "-starport-layer-bucket/*"


@dataclass(frozen=True)
class Call:
    """
    One thing that is called: a service, and an action on resources, if they are known.
    """

    service: str
    action: str = ""
    resources: tuple[str, ...] = ()


class ClosedNetwork:
    """
    The templates of an app, together.

    Args:
        templates: The templates, by their stacks' names.
    """

    def __init__(self, templates: Mapping[str, Json]) -> None:
        self.resources = {
            f"{stack}.{name}": self._absolute(stack, each)
            for stack, template in templates.items()
            for name, each in template["Resources"].items()
        }
        exports = {
            output["Export"]["Name"]: self._absolute(stack, output["Value"])
            for stack, template in templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }
        self.resources = _imported(self.resources, exports)

    @staticmethod
    def of(assembly: Path) -> ClosedNetwork:
        """
        Read the templates of an assembly.
        """
        return ClosedNetwork(
            {
                path.name.split(".")[0]: json.loads(path.read_text())
                for path in sorted(assembly.glob("*.template.json"))
            }
        )

    def without(self, name: str) -> ClosedNetwork:
        """
        Return it without one of its resources.
        """
        other = ClosedNetwork({})
        other.resources = {k: v for k, v in self.resources.items() if k != name}
        return other

    def with_changed(self, name: str, **properties: object) -> ClosedNetwork:
        """
        Return it with other properties of one of its resources.
        """
        changed = json.loads(json.dumps(self.resources[name]))
        changed["Properties"].update(properties)
        other = ClosedNetwork({})
        other.resources = {**self.resources, name: changed}
        return other

    def endpoints(self) -> dict[str, str]:
        """
        Return the names of the VPC's endpoints, by service.
        """
        return {
            _service_of(each): name
            for name, each in self._of("AWS::EC2::VPCEndpoint").items()
        }

    def callers(self) -> dict[str, Json]:
        """
        Return who has network interfaces in a VPC.
        """
        return {
            name: each
            for kind in OUTSIDE
            for name, each in self._of(kind).items()
            if "VpcConfig" in each["Properties"]
        }

    def calls(self, name: str) -> set[Call]:
        """
        Derive what a caller calls inside the VPC.
        """
        caller = self.resources[name]
        found = {*self._allowed(caller)}
        properties = caller["Properties"]
        if "PrimaryContainer" in properties:
            is_cut_off = properties.get("EnableNetworkIsolation") is True
            container = properties["PrimaryContainer"]
            found |= {*_started(container)}
            # A container that is cut off calls nothing by itself.
            found |= set() if is_cut_off else {*_fetched(container)}
        code = properties.get("Code", {}).get("ZipFile", "")
        found |= {Call(CLIENTS[each]) for each in _BOTO3.findall(code)}
        return found

    def needed(self) -> set[str]:
        """
        Return the services that are called at all.
        """
        return {call.service for name in self.callers() for call in self.calls(name)}

    def complaints(self) -> list[str]:
        """
        Say what is called and not reached, and where the VPC is open.
        """
        return [
            *self._openings(),
            *(
                f"{name}: {fault}"
                for name in self.callers()
                for call in sorted(self.calls(name), key=str)
                if (fault := self._fault(name, call))
            ),
        ]

    def _fault(self, name: str, call: Call) -> str:
        endpoint = self.endpoints().get(call.service)
        if endpoint is None:
            return f"no endpoint of {call.service}"
        properties = self.resources[endpoint]["Properties"]
        if not self._is_reached(name, properties):
            return f"no way to the endpoint of {call.service}"
        if call.action and not _lets_through(properties["PolicyDocument"], call):
            return f"the endpoint of {call.service} refuses {call.action}"
        return ""

    def _is_reached(self, name: str, endpoint: Json) -> bool:
        network = self.resources[name]["Properties"]["VpcConfig"]
        subnets = [
            _name(each) for each in network.get("Subnets", network.get("SubnetIds"))
        ]
        vpcs = {_name(self.resources[s]["Properties"]["VpcId"]) for s in subnets}
        if vpcs != {_name(endpoint["VpcId"])}:
            return False
        if endpoint["VpcEndpointType"] == "Gateway":
            tables = {_name(each) for each in endpoint["RouteTableIds"]}
            return all(self._table(subnet) in tables for subnet in subnets)
        groups = {_name(each) for each in network["SecurityGroupIds"]}
        return (
            endpoint.get("PrivateDnsEnabled") is True
            and bool(endpoint["SubnetIds"])
            and any(
                source in groups
                for group in endpoint["SecurityGroupIds"]
                for source in self._let_in(_name(group))
            )
        )

    def _let_in(self, group: str) -> Iterator[str]:
        rules = [
            {**each["Properties"]}
            for each in self._of("AWS::EC2::SecurityGroupIngress").values()
            if _name(each["Properties"]["GroupId"]) == group
        ]
        rules += self.resources[group]["Properties"].get("SecurityGroupIngress", [])
        for rule in rules:
            if (
                rule["FromPort"] <= 443 <= rule["ToPort"]
                and rule["IpProtocol"] == "tcp"
            ):
                yield _name(rule.get("SourceSecurityGroupId", ""))

    def _table(self, subnet: str) -> str:
        (table,) = (
            _name(each["Properties"]["RouteTableId"])
            for each in self._of("AWS::EC2::SubnetRouteTableAssociation").values()
            if _name(each["Properties"]["SubnetId"]) == subnet
        )
        return table

    def _openings(self) -> Iterator[str]:
        for kind in (
            "AWS::EC2::InternetGateway",
            "AWS::EC2::NatGateway",
            "AWS::EC2::Route",
        ):
            yield from (f"{name} leads out" for name in self._of(kind))

    def _allowed(self, caller: Json) -> Iterator[Call]:
        properties = caller["Properties"]
        role = _name(properties.get("Role", properties.get("ExecutionRoleArn", "")))
        for policy in self._of("AWS::IAM::Policy").values():
            if role not in map(_name, policy["Properties"]["Roles"]):
                continue
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                yield from _calls_of(statement, OUTSIDE[caller["Type"]])

    def _of(self, kind: str) -> dict[str, Json]:
        return {k: v for k, v in self.resources.items() if v["Type"] == kind}

    def _absolute(self, stack: str, part: Any) -> Any:  # noqa: ANN401 - any JSON
        """
        Have references name their stack, but for what every stack has.
        """
        if isinstance(part, list):
            return [self._absolute(stack, each) for each in part]
        if not isinstance(part, dict):
            return part
        if set(part) == {"Ref"} and not part["Ref"].startswith("AWS::"):
            return {"Ref": f"{stack}.{part['Ref']}"}
        if set(part) == {"Fn::GetAtt"}:
            name, attribute = part["Fn::GetAtt"]
            return {"Fn::GetAtt": [f"{stack}.{name}", attribute]}
        return {key: self._absolute(stack, each) for key, each in part.items()}


def _imported(part: Any, exports: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(part, list):
        return [_imported(each, exports) for each in part]
    if not isinstance(part, dict):
        return part
    if set(part) == {"Fn::ImportValue"}:
        return exports[part["Fn::ImportValue"]]
    return {key: _imported(each, exports) for key, each in part.items()}


def _name(value: object) -> str:
    """
    Return the resource that a reference is to, or the text that it is.
    """
    if isinstance(value, dict):
        return str(value.get("Ref") or value["Fn::GetAtt"][0])
    return str(value)


def _service_of(endpoint: Json) -> str:
    name = endpoint["Properties"]["ServiceName"]
    text = name if isinstance(name, str) else _joined(name)
    return re.split(r"\.amazonaws\.[^.]+\.", text)[-1]


def _joined(value: object) -> str:
    """
    Write a join as one text, with what deployment decides in braces.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "Fn::Join" in value:
        mark, parts = value["Fn::Join"]
        return str(mark).join(_joined(each) for each in parts)
    return "{" + json.dumps(value, sort_keys=True).replace(".", "") + "}"


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(_joined(each) for each in values)


def _calls_of(statement: Json, outside: Sequence[str]) -> Iterator[Call]:
    for action in _texts(statement["Action"]):
        if action.startswith(tuple(outside)):
            continue
        services = [s for start, s in ACTIONS.items() if action.startswith(start)]
        if not services:
            yield Call(f"whatever {action} is of")
        for service in (each for several in services for each in several):
            yield Call(service, action, _texts(statement["Resource"]))


def _started(container: Json) -> Iterator[Call]:
    """
    Yield what SageMaker calls to start a container: its image, lines and data.
    """
    yield Call("logs")
    image = _joined(container["Image"])
    if ".dkr.ecr." in image:
        yield Call("ecr.api", "ecr:GetAuthorizationToken", ("*",))
        yield Call("ecr.dkr", "ecr:BatchGetImage")
        yield Call("s3", "s3:GetObject", (_LAYERS,))
    repository = _REPOSITORY.search(image)
    if repository is None or repository[1] not in ENTRY_POINTS:
        yield Call(f"whatever the entry point of {image} calls")
    source = container.get("ModelDataSource", {}).get("S3DataSource", {})
    for uri in (source.get("S3Uri"), container.get("ModelDataUrl")):
        if uri is not None:
            yield Call("s3", "s3:GetObject", (_joined(uri).removeprefix("s3://"),))


def _fetched(container: Json) -> Iterator[Call]:
    """
    Yield what a container's entry point fetches by itself.
    """
    for name, value in container.get("Environment", {}).items():
        text = _joined(value)
        if not FETCHED.match(name) or text.startswith("/"):
            continue
        is_on_s3 = text.startswith("s3://")
        yield Call("s3") if is_on_s3 else Call(f"the Hub, for {text}")


def _lets_through(policy: Json, call: Call) -> bool:
    """
    Tell whether an endpoint's policy allows an action on each of its resources.
    """
    named = [
        resource
        for statement in policy["Statement"]
        if statement["Effect"] == "Allow" and call.action in _texts(statement["Action"])
        for resource in _texts(statement["Resource"])
    ]
    if not call.resources:
        return bool(named)
    return all(
        any(_covers(pattern, wanted) for pattern in named) for wanted in call.resources
    )


def _covers(pattern: str, wanted: str) -> bool:
    if pattern in ("*", wanted):
        return True
    if wanted == _LAYERS:
        return pattern.endswith(_LAYERS)
    # An address of S3, held against the ARN of what is below it.
    start = pattern.rsplit(":::", maxsplit=1)[-1].removesuffix("*")
    return (
        ":::" in pattern and not wanted.startswith("arn:") and wanted.startswith(start)
    )
