"""
Types that moto serves by API and not by CloudFormation, and projects of CodeBuild.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    physical_id,
    physical_name,
)

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
        put: Puts a resource, anew or again under its physical id, and returns that id.

        change: Changes it. If omitted, it is put again.

        name: The property that names it. If omitted, CloudFormation does.

        attributes: What ``Fn::GetAtt`` gives, with the physical id in place of ``{}``.
    """

    put: Put
    drop: Callable[[Resource, Scope], object]
    change: Callable[[Resource, Properties, Scope], object] | None = None
    name: str = ""
    attributes: Mapping[str, str] = field(
        default_factory=lambda: {"Arn": "{}", "Id": "{}"}
    )

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        name = properties.get(self.name) or physical_name(declaration.logical_id)
        made = self.put(name, properties, scope)
        return self._resource(declaration, properties, made, scope)

    def _resource(
        self,
        declaration: Declaration,
        properties: Properties,
        name: str,
        scope: Scope,
    ) -> Resource:
        place = {
            "partition": get_partition(scope.region),
            "region": scope.region,
            "account": scope.account,
        }
        table = {k: v.format(name, **place) for k, v in self.attributes.items()}
        return Resource(declaration, properties, name, attributes(table))

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        if self.change is not None:
            self.change(resource, properties, scope)
        else:
            self.put(resource.physical_resource_id, properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        self.drop(resource, scope)


@dataclass(frozen=True, kw_only=True)
class ReadableType(PlainType):
    """
    One whose resources can be read back as well.

    Args:
        read: Returns the properties that can be read, or ``None`` if it is gone.
    """

    read: Callable[[Resource, Scope], Properties | None]

    def existing(
        self,
        declaration: Declaration,
        properties: Properties,
        identifier: Mapping[str, str],
        scope: Scope,
    ) -> Resource | None:
        """
        Find what the identifier's properties name.
        """
        name = physical_id(declaration.type, identifier)
        found = self._resource(declaration, properties, name, scope)
        is_other = any(
            properties.get(key, value) != value for key, value in identifier.items()
        )
        return None if is_other or self.read(found, scope) is None else found

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        found = self.read(resource, scope)
        if found is None:
            return None
        return {k: v for k, v in found.items() if k in resource.properties}


def _put_bucket_policy(name: str, properties: Properties, scope: Scope) -> str:
    document = properties["PolicyDocument"]
    text = document if isinstance(document, str) else json.dumps(document)
    _s3(scope).put_bucket_policy(name, text.encode())
    return name


def _drop_bucket_policy(resource: Resource, scope: Scope) -> None:
    if resource.physical_resource_id in _s3(scope).buckets:
        _s3(scope).delete_bucket_policy(resource.physical_resource_id)


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


def _change_metric_filter(
    resource: Resource, properties: Properties, scope: Scope
) -> None:
    # moto would keep the one there was beside it.
    _drop_metric_filter(resource, scope)
    _put_metric_filter(resource.physical_resource_id, properties, scope)


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
    if name in backend.secrets:
        raise ResourceError(
            f"The operation failed because the secret {name} already exists."
        )
    text = properties.get("SecretString")
    if text is None and "GenerateSecretString" in properties:
        text = _generated_secret(backend, properties["GenerateSecretString"])
    backend.create_secret(
        name,
        secret_string=text,
        secret_binary=None,
        description=properties.get("Description"),
        tags=properties.get("Tags"),
        kms_key_id=properties.get("KmsKeyId"),
        client_request_token=str(mock_random.uuid4()),
        replica_regions=[],
        force_overwrite=False,
    )
    return str(backend.secrets[name].arn)


def _change_secret(resource: Resource, properties: Properties, scope: Scope) -> None:
    # A generated text stays: it is made once.
    _secrets(scope).update_secret(
        resource.physical_resource_id,
        secret_string=properties.get("SecretString"),
        # Without one, moto takes the second version of a secret for its first.
        client_request_token=str(mock_random.uuid4()),
        kms_key_id=properties.get("KmsKeyId"),
        description=properties.get("Description"),
    )


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


def _put_project(name: str, properties: Properties, scope: Scope) -> str:
    _call_codebuild("CreateProject", name, properties, scope)
    return name


def _change_project(resource: Resource, properties: Properties, scope: Scope) -> None:
    # Builds that are under way go on as they were.
    _call_codebuild("UpdateProject", resource.physical_resource_id, properties, scope)


def _drop_project(resource: Resource, scope: Scope) -> None:
    service = CODEBUILD.at(scope.account, scope.region)
    service.call("DeleteProject", {"name": resource.physical_resource_id})


def _call_codebuild(
    operation: str, name: str, properties: Properties, scope: Scope
) -> None:
    shape = shapes.input_shape(SERVICE, operation)
    settings = {key: value for key, value in properties.items() if key not in _APART}
    request = shapes.coerce(shape, {**_in_other_letters(settings), "name": name})
    unknown = list(shapes.unknown_members(shape, request))
    if unknown:
        raise ResourceError(f"Properties validation failed: {'; '.join(unknown)}")
    try:
        CODEBUILD.at(scope.account, scope.region).call(operation, request)
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
    "AWS::SNS::Subscription": PlainType(put=_put_subscription, drop=_drop_subscription),
    "AWS::SNS::TopicPolicy": PlainType(
        put=_put_topic_policy,
        # The topics, which it is a property of, go by themselves.
        drop=lambda resource, scope: None,  # noqa: ARG005 - the form of the others
    ),
    "AWS::Logs::MetricFilter": PlainType(
        put=_put_metric_filter,
        drop=_drop_metric_filter,
        change=_change_metric_filter,
        name="FilterName",
    ),
    "AWS::SecretsManager::Secret": PlainType(
        put=_put_secret, drop=_drop_secret, change=_change_secret, name="Name"
    ),
    "AWS::CodeBuild::Project": PlainType(
        put=_put_project,
        drop=_drop_project,
        change=_change_project,
        name="Name",
        attributes={
            "Arn": "arn:{partition}:codebuild:{region}:{account}:project/{}",
            "Id": "{}",
        },
    ),
}
