"""
Types that moto serves by API and not by CloudFormation, and projects of CodeBuild.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moto.cloudwatch.models import cloudwatch_backends
from moto.logs.models import logs_backends
from moto.moto_api._internal import mock_random
from moto.s3.models import S3Backend, s3_backends
from moto.secretsmanager.models import SecretsManagerBackend, secretsmanager_backends
from moto.sns.models import SNSBackend, sns_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.codebuild import CODEBUILD, SERVICE
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    ResourceType,
    Scope,
    attributes,
    physical_name,
)

# Puts a resource, anew or again under its physical id, and returns that id.
Put = Callable[[str, Properties, Scope], str]
_PASSWORD_LENGTH = 32
# What other calls set, and nothing is played of.
_APART = frozenset({"Triggers", "Visibility", "ResourceAccessRole"})
_OTHER_NAMES = {"BuildSpec": "buildspec"}


@dataclass(frozen=True, kw_only=True)
class PlainType:
    """
    A type that one call puts, whether it is there or not, and another takes away.

    Args:
        put: The call that puts it.

        drop: The call that takes it away.

        name: The property that names it.
            If omitted, CloudFormation does.

        arn: What ``Fn::GetAtt`` of ``Arn`` gives, with the name in place of ``{}``.
            If omitted, it is the physical id.
    """

    put: Put
    drop: Callable[[Resource, Scope], object]
    name: str = ""
    arn: str = "{}"

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Put the resource.
        """
        name = properties.get(self.name) or physical_name(declaration.logical_id)
        physical_id = self.put(name, properties, scope)
        place = {"region": scope.region, "account": scope.account}
        arn = self.arn.format(
            physical_id, partition=get_partition(scope.region), **place
        )
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=physical_id,
            read_attribute=attributes({"Arn": arn, "Id": physical_id}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Put the resource again.
        """
        self.put(resource.physical_resource_id, properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Take the resource away.
        """
        self.drop(resource, scope)


def _put_bucket_policy(name: str, properties: Properties, scope: Scope) -> str:
    document = properties["PolicyDocument"]
    text = document if isinstance(document, str) else json.dumps(document)
    _s3(scope).put_bucket_policy(name, text.encode())
    return name


def _drop_bucket_policy(resource: Resource, scope: Scope) -> None:
    if resource.physical_resource_id in _s3(scope).buckets:
        _s3(scope).delete_bucket_policy(resource.physical_resource_id)


def _put_composite_alarm(name: str, properties: Properties, scope: Scope) -> str:
    # moto keeps it among the alarms, told apart by its rule.
    unset: Any = None
    cloudwatch_backends[scope.account][scope.region].put_metric_alarm(
        name=name,
        namespace=unset,
        metric_name=unset,
        comparison_operator=unset,
        evaluation_periods=unset,
        period=unset,
        threshold=unset,
        statistic=unset,
        description=properties.get("AlarmDescription", unset),
        dimensions=[],
        alarm_actions=properties.get("AlarmActions", []),
        ok_actions=properties.get("OKActions", []),
        insufficient_data_actions=properties.get("InsufficientDataActions", []),
        actions_enabled=str(properties.get("ActionsEnabled", True)).lower() == "true",
        rule=properties["AlarmRule"],
        tags=properties.get("Tags", []),
    )
    return name


def _drop_composite_alarm(resource: Resource, scope: Scope) -> None:
    backend = cloudwatch_backends[scope.account][scope.region]
    backend.delete_alarms([resource.physical_resource_id])


def _put_subscription(name: str, properties: Properties, scope: Scope) -> str:
    sns = _sns(scope)
    subscription = sns.subscriptions.get(name) or sns.subscribe(
        properties["TopicArn"], properties["Endpoint"], properties["Protocol"]
    )
    for key in ("FilterPolicy", "FilterPolicyScope", "RawMessageDelivery"):
        if key in properties:
            value = properties[key]
            text = value if isinstance(value, str) else json.dumps(value)
            sns.set_subscription_attributes(subscription.arn, key, text)
    return str(subscription.arn)


def _drop_subscription(resource: Resource, scope: Scope) -> None:
    if resource.physical_resource_id in _sns(scope).subscriptions:
        _sns(scope).unsubscribe(resource.physical_resource_id)


def _put_topic_policy(name: str, properties: Properties, scope: Scope) -> str:
    for topic in properties["Topics"]:
        text = json.dumps(properties["PolicyDocument"])
        _sns(scope).topics[topic].policy = text
    return name


def _put_metric_filter(name: str, properties: Properties, scope: Scope) -> str:
    transformations = [
        {key[0].lower() + key[1:]: value for key, value in one.items()}
        for one in properties["MetricTransformations"]
    ]
    logs_backends[scope.account][scope.region].put_metric_filter(
        name,
        properties["FilterPattern"],
        properties["LogGroupName"],
        transformations,  # type: ignore[arg-type]  # moto says text, and keeps a list
    )
    return name


def _drop_metric_filter(resource: Resource, scope: Scope) -> None:
    logs_backends[scope.account][scope.region].delete_metric_filter(
        resource.physical_resource_id, resource.properties["LogGroupName"]
    )


def _s3(scope: Scope) -> S3Backend:
    return s3_backends[scope.account][get_partition(scope.region)]


def _sns(scope: Scope) -> SNSBackend:
    return sns_backends[scope.account][scope.region]


def _put_secret(name: str, properties: Properties, scope: Scope) -> str:
    backend = _secrets(scope)
    text = properties.get("SecretString")
    # Without one, moto takes the second version of a secret for its first.
    token = str(mock_random.uuid4())
    if name.startswith("arn:"):
        # A generated text stays: it is made once.
        backend.update_secret(
            name,
            secret_string=text,
            client_request_token=token,
            kms_key_id=properties.get("KmsKeyId"),
            description=properties.get("Description"),
        )
        return name
    if name in backend.secrets:
        raise ResourceError(
            f"The operation failed because the secret {name} already exists."
        )
    if text is None and "GenerateSecretString" in properties:
        text = _generated_secret(backend, properties["GenerateSecretString"])
    backend.create_secret(
        name,
        secret_string=text,
        secret_binary=None,
        description=properties.get("Description"),
        tags=properties.get("Tags"),
        kms_key_id=properties.get("KmsKeyId"),
        client_request_token=token,
        replica_regions=[],
        force_overwrite=False,
    )
    return str(backend.secrets[name].arn)


def _generated_secret(backend: SecretsManagerBackend, wish: dict[str, Any]) -> str:
    def wished(name: str, default: str = "false") -> bool:
        return str(wish.get(name, default)).lower() == "true"

    answer = backend.get_random_password(
        password_length=int(wish.get("PasswordLength", _PASSWORD_LENGTH)),
        exclude_characters=wish.get("ExcludeCharacters", ""),
        exclude_numbers=wished("ExcludeNumbers"),
        exclude_punctuation=wished("ExcludePunctuation"),
        exclude_uppercase=wished("ExcludeUppercase"),
        exclude_lowercase=wished("ExcludeLowercase"),
        include_space=wished("IncludeSpace"),
        require_each_included_type=wished("RequireEachIncludedType", "true"),
    )
    password = str(json.loads(answer)["RandomPassword"])
    if "SecretStringTemplate" not in wish:
        return password
    members = json.loads(wish["SecretStringTemplate"])
    return json.dumps({**members, wish["GenerateStringKey"]: password})


def _drop_secret(resource: Resource, scope: Scope) -> None:
    _secrets(scope).delete_secret(
        resource.physical_resource_id,
        recovery_window_in_days=None,
        force_delete_without_recovery=True,
    )


def _secrets(scope: Scope) -> SecretsManagerBackend:
    return secretsmanager_backends[scope.account][scope.region]


class ProjectType:
    """
    A project of CodeBuild.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Create the project.
        """
        name = properties.get("Name") or physical_name(declaration.logical_id)
        arn = str(
            _call_codebuild("CreateProject", name, properties, scope)["project"]["arn"]
        )
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=name,
            read_attribute=attributes({"Arn": arn, "Id": name}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Change the project; builds that are under way go on as they were.
        """
        _call_codebuild(
            "UpdateProject", resource.physical_resource_id, properties, scope
        )

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the project.
        """
        service = CODEBUILD.at(scope.account, scope.region)
        service.call("DeleteProject", {"name": resource.physical_resource_id})


def _call_codebuild(
    operation: str, name: str, properties: Properties, scope: Scope
) -> dict[str, Any]:
    shape = shapes.input_shape(SERVICE, operation)
    settings = {key: value for key, value in properties.items() if key not in _APART}
    request = shapes.coerce(shape, {**_in_other_letters(settings), "name": name})
    unknown = list(shapes.unknown_members(shape, request))
    if unknown:
        raise ResourceError(f"Properties validation failed: {'; '.join(unknown)}")
    try:
        return CODEBUILD.at(scope.account, scope.region).call(operation, request)
    except AwsError as error:
        raise ResourceError(
            f'Resource handler returned message: "{error.message}" (HandlerErrorCode: '
            "InvalidRequest)"
        ) from error


def _in_other_letters(value: Untyped) -> Untyped:
    if isinstance(value, list):
        return [_in_other_letters(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _OTHER_NAMES.get(key, key[:1].lower() + key[1:]): _in_other_letters(item)
        for key, item in value.items()
    }


PLAIN_TYPES: dict[str, ResourceType] = {
    "AWS::S3::BucketPolicy": PlainType(
        put=_put_bucket_policy, drop=_drop_bucket_policy, name="Bucket"
    ),
    "AWS::CloudWatch::CompositeAlarm": PlainType(
        put=_put_composite_alarm,
        drop=_drop_composite_alarm,
        name="AlarmName",
        arn="arn:{partition}:cloudwatch:{region}:{account}:alarm:{}",
    ),
    "AWS::SNS::Subscription": PlainType(
        put=_put_subscription,
        drop=_drop_subscription,
    ),
    "AWS::SNS::TopicPolicy": PlainType(
        put=_put_topic_policy,
        # The topics, which it is a property of, go by themselves.
        drop=lambda resource, scope: None,  # noqa: ARG005 - the form of the others
    ),
    "AWS::Logs::MetricFilter": PlainType(
        put=_put_metric_filter,
        drop=_drop_metric_filter,
        name="FilterName",
    ),
    "AWS::SecretsManager::Secret": PlainType(
        put=_put_secret, drop=_drop_secret, name="Name"
    ),
    "AWS::CodeBuild::Project": ProjectType(),
}
