"""
Secrets, which moto serves by API and not by CloudFormation.
"""

from __future__ import annotations

import json
from typing import Any

from moto.moto_api._internal import mock_random
from moto.secretsmanager.models import SecretsManagerBackend, secretsmanager_backends

from cdk_sagemaker_llm.local.cloudformation.plain_types import PlainType
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Properties,
    Resource,
    ResourceError,
    Scope,
)

_PASSWORD_LENGTH = 32


def _put(name: str, properties: Properties, scope: Scope) -> str:
    backend = _backend(scope)
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
        text = _generated(backend, properties["GenerateSecretString"])
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


def _generated(backend: SecretsManagerBackend, wish: dict[str, Any]) -> str:
    def told(name: str, default: str = "false") -> bool:
        return str(wish.get(name, default)).lower() == "true"

    answer = backend.get_random_password(
        password_length=int(wish.get("PasswordLength", _PASSWORD_LENGTH)),
        exclude_characters=wish.get("ExcludeCharacters", ""),
        exclude_numbers=told("ExcludeNumbers"),
        exclude_punctuation=told("ExcludePunctuation"),
        exclude_uppercase=told("ExcludeUppercase"),
        exclude_lowercase=told("ExcludeLowercase"),
        include_space=told("IncludeSpace"),
        require_each_included_type=told("RequireEachIncludedType", "true"),
    )
    password = str(json.loads(answer)["RandomPassword"])
    if "SecretStringTemplate" not in wish:
        return password
    members = json.loads(wish["SecretStringTemplate"])
    return json.dumps({**members, wish["GenerateStringKey"]: password})


def _drop(resource: Resource, scope: Scope) -> None:
    _backend(scope).delete_secret(
        resource.physical_resource_id,
        recovery_window_in_days=None,
        force_delete_without_recovery=True,
    )


def _backend(scope: Scope) -> SecretsManagerBackend:
    return secretsmanager_backends[scope.account][scope.region]


SECRET = PlainType(put=_put, drop=_drop, name="Name")
