"""
What a synthesised app needs of the account that it is to be deployed to.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.account.needs import (
    Data,
    DataKind,
    Fleet,
    HubModel,
    Image,
    Named,
    NameKind,
    Needs,
    NewName,
    Parameter,
    Place,
    Secret,
)
from cdk_sagemaker_llm.cli.app.assembly import Stack, read_app
from cdk_sagemaker_llm.cli.app.containers import served_by
from cdk_sagemaker_llm.cli.app.fleets import variant_plans
from cdk_sagemaker_llm.cli.app.hosting import App, EndpointConfig, Resource, Variant
from cdk_sagemaker_llm.cli.app.intrinsics import evaluate, exists
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    integer,
    map_of,
    maps_of,
    specifications_of,
)

# Where the user may choose a name, and of what.
_NAMES: Mapping[str, tuple[str, NameKind]] = {
    "AWS::SageMaker::Endpoint": ("EndpointName", "endpoint"),
    "AWS::SageMaker::EndpointConfig": ("EndpointConfigName", "configuration"),
    "AWS::SageMaker::InferenceComponent": ("InferenceComponentName", "component"),
    "AWS::SageMaker::Model": ("ModelName", "model"),
    "AWS::IAM::Role": ("RoleName", "role"),
    "AWS::S3::Bucket": ("BucketName", "bucket"),
}
_HOSTING = "AWS::SageMaker::"
_KEYS = {"KmsKeyId", "KMSMasterKeyID", "KmsMasterKeyId", "KmsKeyArn", "EncryptionKey"}
_WRITTEN = {"DestinationS3Uri", "S3OutputPath", "S3FailurePath"}
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
_IDENTIFIER = r"(?P<name>arn:[^}]*?:secret:[^:}]+|[^:}]+)"
_REFERENCE = re.compile(
    rf"\{{\{{resolve:secretsmanager:{_IDENTIFIER}(?::SecretString(?::(?P<key>[^:}}]*))?)?"
)
# As CodeBuild writes it.
_BUILD_SECRET = re.compile(rf"{_IDENTIFIER}(?::(?P<key>[^:]*))?")
_MODEL = re.compile(r"[\w.-]+/[\w.-]+\Z")
# A file of the app itself, which the CDK uploads when it deploys.
_ASSET = re.compile(r"/[0-9a-f]{64}\.")
_BOOTSTRAP = re.compile(r"/cdk-bootstrap/[^/]+/version\Z")
_SERVICE_ROLE = "AWSServiceRoleForApplicationAutoScaling"
# Blue and green: a second fleet stands beside the first.
_FLEETS = 2


def read_needs(path: Path, *, account: str = "", region: str, partition: str) -> Needs:
    """
    Read what an app needs.

    Args:
        account: The account that it is deployed to. If omitted, what its number is
            part of is left out.

        region: Where stacks are deployed that name no region.
    """
    assembly = read_app(path)
    for stack in assembly.stacks:
        pseudo_parameters = {
            "AWS::Region": stack.region or region,
            "AWS::Partition": partition,
            "AWS::URLSuffix": "amazonaws.com" + (".cn" if "cn" in partition else ""),
            **({"AWS::AccountId": account} if account else {}),
        }
        parameters = stack.content.setdefault("Parameters", {})  # type: ignore[attr-defined] # as it was read
        for name, value in pseudo_parameters.items():
            # Like a parameter with a default, so that mappings by region are found.
            parameters[name] = {"Type": "String", "Default": value}
    app = App(assembly)
    found = Needs()
    _read_fleets(app, found, region)
    _read_containers(app, found, region)
    for stack in app.stacks:
        _read_stack(stack, found, region)
    return found


def _place(stack: Stack, name: str, region: str) -> Place:
    path, around = [name], stack
    while around.parent is not None:
        path.insert(0, around.name.rpartition("/")[2])
        around = around.parent
    label = f"{stack.name}/{name}" if name else stack.name
    deployed = around.deployed_name or around.name
    return Place(label, deployed, stack.region or region, tuple(path))


def _text(value: object) -> str:
    """
    Return a value as text; empty where deployment alone knows it.
    """
    return "" if value is None or "${" in str(value) else str(value)


def _read_fleets(app: App, found: Needs, region: str) -> None:
    plans = {(plan.endpoint, plan.variant): plan for plan in variant_plans(app)}
    for endpoint in app.of_type("Endpoint"):
        config = app.config_of(endpoint)
        for variant in config.every_variant if config else ():
            plan = plans[endpoint.key, variant.name]
            subnets = _network(app, config, variant)
            reserved = map_of(variant.shape, "CapacityReservationConfig")
            for one in (plan, *plan.fallbacks):
                if not one.instance_type.startswith("ml."):
                    continue
                found.fleets.append(
                    Fleet(
                        place=_place(endpoint.stack, endpoint.name, region),
                        instance_type=one.instance_type,
                        first=one.instances,
                        most=one.most_instances,
                        updating=_updating(endpoint, one.most_instances),
                        is_choice=bool(plan.fallbacks),
                        subnets=subnets,
                        reservation=_text(reserved.get("MlReservationArn")),
                    )
                )


def _network(
    app: App, config: EndpointConfig | None, variant: Variant
) -> tuple[str, ...]:
    network: Shape = {}
    model = app.model(variant.shape.get("ModelName"))
    if config is not None:
        network = map_of(config.resource.properties, "VpcConfig")
    if model is not None:
        network = map_of(model.properties, "VpcConfig") or network
    subnets = network.get("Subnets")
    named = subnets if isinstance(subnets, list) else []
    return tuple(filter(None, map(_text, named)))


def _updating(endpoint: Resource, most: int) -> int:
    deployment = map_of(endpoint.properties, "DeploymentConfig")
    if "RollingUpdatePolicy" not in deployment:
        return most * _FLEETS
    batch = map_of(map_of(deployment, "RollingUpdatePolicy"), "MaximumBatchSize")
    size = integer(batch.get("Value")) or most
    if batch.get("Type") == "CAPACITY_PERCENT":
        size = math.ceil(most * size / 100)
    return most + min(size, most)


def _read_containers(app: App, found: Needs, region: str) -> None:
    for model in app.of_type("Model"):
        several = maps_of(model.properties, "Containers")
        for container in [map_of(model.properties, "PrimaryContainer"), *several]:
            _read_container(app, model, container, found, region)
    for component in app.of_type("InferenceComponent"):
        for specification in specifications_of(component.properties):
            container = map_of(specification, "Container")
            _read_container(app, component, container, found, region)


def _read_container(
    app: App, home: Resource, container: Shape, found: Needs, region: str
) -> None:
    place = _place(home.stack, home.name, region)
    if image := _text(container.get("Image")):
        found.images.append(Image(place, image))
    source = map_of(map_of(container, "ModelDataSource"), "S3DataSource")
    is_prefix = source.get("S3DataType", "S3Prefix") == "S3Prefix"
    _add_data(found, place, source.get("S3Uri"), "prefix" if is_prefix else "object")
    _add_data(found, place, container.get("ModelDataUrl"), "object")
    _add_data(found, place, container.get("ArtifactUrl"), "object")
    if "Image" not in container:
        return
    token = None
    for name, value in map_of(container, "Environment").items():
        for secret in _secrets_in(place, value, is_token=name in _TOKENS):
            _add(found.secrets, secret)
            if secret.is_token:
                token = token or secret
    served = served_by(app, container, home)
    model = (served.model or "").partition(":")[0]
    if model.startswith("s3"):
        _add_data(found, place, served.model, "prefix")
    elif served.source == "hub" and _MODEL.match(model):
        found.models.append(HubModel(place, model, token=token))


def _add_data(found: Needs, place: Place, value: object, kind: DataKind) -> None:
    address = _text(value)
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme == "s3" and bucket and not _ASSET.search(address):
        one = Data(place, bucket, "" if kind == "bucket" else key, kind)
        if one not in found.data:
            found.data.append(one)


def _secrets_in(
    place: Place, value: object, *, is_token: bool = False
) -> Iterator[Secret]:
    for match in _REFERENCE.finditer(str(value)):
        if "${" not in match["name"]:
            yield Secret(place, match["name"], match["key"] or "", is_token)


def _read_stack(stack: Stack, found: Needs, region: str) -> None:
    if stack.parent is None:
        around = _place(stack, "", region)
        found.stacks.append(around)
        if stack.account:
            found.accounts[around] = stack.account
        _read_parameters(stack, found, around)
    for name, resource in stack.resources.items():
        properties = evaluate(stack, resource.get("Properties", {}))
        if exists(stack, name) is not False and isinstance(properties, Mapping):
            place = _place(stack, name, region)
            _read_resource(place, str(resource.get("Type")), properties, found)
            if "Order" in properties:
                _read_order(stack, place, properties["Order"], found)


def _read_resource(place: Place, kind: str, properties: Shape, found: Needs) -> None:
    for name, value in _values(properties):
        _read_value(place, kind, name, value, found)
    if kind in _NAMES:
        key, what = _NAMES[kind]
        if chosen := _text(properties.get(key)):
            found.names.append(NewName(place, what, chosen))
    if kind == "AWS::ApplicationAutoScaling::ScalableTarget":
        role = str(properties.get("RoleARN", _SERVICE_ROLE))
        if _SERVICE_ROLE in role:
            found.scaled.append(place)


def _read_value(
    place: Place, kind: str, name: str, value: object, found: Needs
) -> None:
    if name in _KEYS and (key := _text(value)):
        _add(found.keys, Named(place, key))
    elif name in _WRITTEN:
        _add_data(found, place, value, "bucket")
    elif name == "ExecutionRoleArn" and kind.startswith(_HOSTING):
        if role := _text(value):
            _add(found.roles, Named(place, role))
    elif isinstance(value, str) and value.startswith("subnet-"):
        _add(found.subnets, Named(place, value))
    elif isinstance(value, str) and value.startswith("sg-"):
        _add(found.groups, Named(place, value))
    elif not kind.startswith(_HOSTING):
        for secret in _secrets_in(place, value):
            _add(found.secrets, secret)


def _add(listed: list[Any], one: object) -> None:
    if one not in listed:
        listed.append(one)


def _values(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _values(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, name)
    else:
        yield name, value


def _read_order(stack: Stack, place: Place, order: object, found: Needs) -> None:
    """
    Read what a build on AWS downloads: its order is JSON.
    """
    try:
        ordered = json.loads(str(order))
    except ValueError:
        return
    model = _text(ordered.get("model_id"))
    if _MODEL.match(model):
        token = next(_secrets_of_builds(stack, place), None)
        if token is not None:
            _add(found.secrets, token)
        found.models.append(
            HubModel(place, model, _text(ordered.get("revision")), token)
        )


def _secrets_of_builds(stack: Stack, place: Place) -> Iterator[Secret]:
    for _, project in stack.of_type("Project", "CodeBuild"):
        for one in maps_of(
            map_of(evaluate(stack, project), "Environment"), "EnvironmentVariables"
        ):
            found = _BUILD_SECRET.match(_text(one.get("Value")))
            if one.get("Type") == "SECRETS_MANAGER" and found:
                is_token = one.get("Name") in _TOKENS
                yield Secret(place, found["name"], found["key"] or "", is_token)


def _read_parameters(stack: Stack, found: Needs, place: Place) -> None:
    made = {
        _text(evaluate(peer, one.get("Name")))
        for peer in stack.peers
        for _, one in peer.of_type("Parameter", "SSM")
    }
    rules = stack.content.get("Rules", {})
    for one in stack.content.get("Parameters", {}).values():
        name = str(one.get("Default", ""))
        if not str(one.get("Type")).startswith("AWS::SSM::Parameter::Value"):
            continue
        if name and name not in made:
            least = _least_bootstrap(rules) if _BOOTSTRAP.search(name) else 0
            found.parameters.append(Parameter(place, name, least))


def _least_bootstrap(rules: object) -> int:
    # The rule lists the versions that are too old.
    versions = [
        int(str(value))
        for name, value in _values(rules)
        if name == "Fn::Contains" and str(value).isdecimal()
    ]
    return max(versions, default=0) + 1
