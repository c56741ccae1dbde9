"""
The keys and roles that an app is given, and the names that it chooses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.account.capacity import Found
from cdk_sagemaker_llm.account.contents import is_missing
from cdk_sagemaker_llm.account.reader import AccountReader, NotAsked, RefusedError
from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.permissions import (
    listed,
    matches_any,
    statements_of,
    trusts_sagemaker,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.account.needs import Needs, NewName, Place

_API = "API reference, "
_ENCRYPTS = "ENCRYPT_DECRYPT"
_SERVICE_ROLE = "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
# In an ARN.
_ACCOUNT_PART = 4
_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "endpoint": ("sagemaker", "describe_endpoint", "EndpointName"),
    "configuration": ("sagemaker", "describe_endpoint_config", "EndpointConfigName"),
    "component": (
        "sagemaker",
        "describe_inference_component",
        "InferenceComponentName",
    ),
    "model": ("sagemaker", "describe_model", "ModelName"),
    "role": ("iam", "get_role", "RoleName"),
    "bucket": ("s3", "head_bucket", "Bucket"),
}

UNUSABLE_KEY = Rule("LLM566", "a KMS key cannot encrypt", _API + "DescribeKey")
CLOSED_KEY = Rule(
    "LLM664",
    "a key's policy leaves nothing to IAM and names no role of the app",
    "KMS developer guide, key-policy-default",
)
NO_ROLE = Rule("LLM567", "a given role is not there", _API + "GetRole")
UNTRUSTING_ROLE = Rule(
    "LLM568",
    "a given role does not trust SageMaker",
    "SageMaker developer guide, sagemaker-roles",
)
TAKEN_NAME = Rule("LLM572", "a name is taken by something that is not of the stack")
OTHER_ACCOUNT = Rule("LLM576", "the credentials are of another account than a stack")
NO_SERVICE_ROLE = Rule(
    "LLM667",
    "the role that Application Auto Scaling works with is still to be made",
    "Application Auto Scaling user guide, service-linked-roles",
)


@dataclass(slots=True)
class OwnResources:
    """
    What the stacks of the app have made, by their logical ids.
    """

    reader: AccountReader
    _stacks: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def made(self, place: Place) -> str:
        """
        Return the physical id of a resource; empty if it is not made yet.
        """
        stack = place.stack
        for logical_id in place.path:
            stack = self._resources(stack, place.region).get(logical_id, "")
            if not stack:
                return ""
        return stack

    def endpoints(self, needs: Needs) -> list[str]:
        """
        Return the names of the endpoints that the app has made already.
        """
        places = {fleet.place for fleet in needs.fleets}
        return [made.rpartition("/")[2] for one in places if (made := self.made(one))]

    def _resources(self, stack: str, region: str) -> dict[str, str]:
        if (stack, region) not in self._stacks:
            found = self._stacks[stack, region] = {}
            try:
                for one in self.reader.pages(
                    "cloudformation",
                    "list_stack_resources",
                    "StackResourceSummaries",
                    region=region,
                    StackName=stack,
                ):
                    found[one["LogicalResourceId"]] = one.get("PhysicalResourceId", "")
            except RefusedError:
                # There is no such stack yet.
                return found
        return self._stacks[stack, region]


def account_findings(needs: Needs, account: str) -> Iterator[Found]:
    for place, stack_account in needs.accounts.items():
        if account and stack_account != account:
            yield (
                str(place),
                OTHER_ACCOUNT.finding(
                    f"the stack is of account {stack_account}, and the credentials are "
                    f"of {account}, where all the rest was asked",
                    "use the credentials of that account: --profile",
                ),
            )


def key_findings(needs: Needs, reader: AccountReader, account: str) -> Iterator[Found]:
    for one in {(n.place.region, n.name): n for n in needs.keys}.values():
        region, name = one.place.region, one.name
        if name.startswith("alias/aws/"):
            continue
        try:
            answer = reader.ask("kms", "describe_key", region=region, KeyId=name)
        except RefusedError as refusal:
            if not is_missing(refusal):
                raise
            what = f"the key {name} is not there in {region}"
            yield str(one.place), UNUSABLE_KEY.finding(what, "name one that is there")
            continue
        if answer is None:
            continue
        key = answer["KeyMetadata"]
        state = key.get("KeyState")
        usage = key.get("KeyUsage") or _ENCRYPTS
        if state != "Enabled":
            what = f"the key {name} is {state}, and must be Enabled"
            yield (
                str(one.place),
                UNUSABLE_KEY.finding(what, "enable it: aws kms enable-key"),
            )
        elif usage != _ENCRYPTS or key.get("KeySpec") != "SYMMETRIC_DEFAULT":
            what = f"the key {name} is of {key.get('KeySpec')} for {usage}"
            way_out = "name a symmetric key that encrypts"
            yield str(one.place), UNUSABLE_KEY.finding(what, way_out)
        elif account and key.get("AWSAccountId", account) == account:
            yield from _key_policy(needs, reader, one.place, key["KeyId"], account)


def _key_policy(
    needs: Needs, reader: AccountReader, place: Place, key: str, account: str
) -> Iterator[Found]:
    answer = reader.ask(
        "kms", "get_key_policy", region=place.region, KeyId=key, PolicyName="default"
    )
    if answer is None:
        return
    # Who is root of the account leaves it to IAM; roles of the app are made later.
    roles = {one.name for one in needs.roles}
    for statement in statements_of(json.loads(answer["Policy"])):
        principal = statement.get("Principal")
        names = (
            listed(principal.get("AWS"))
            if isinstance(principal, Mapping)
            else [principal]
        )
        is_open = {"*", account} & set(map(str, names)) or any(
            str(name).endswith((f"::{account}:root",)) or name in roles
            for name in names
        )
        uses = matches_any("kms:Decrypt", listed(statement.get("Action")))
        if is_open and uses and statement.get("Effect") == "Allow":
            return
    yield (
        str(place),
        CLOSED_KEY.finding(
            f"the policy of the key {key} lets neither the account use it, which would "
            "leave the rest to IAM, nor a given role of the app",
            f"allow kms:Decrypt and its kin to arn:aws:iam::{account}:root, or to the "
            "roles that the app names",
        ),
    )


def role_findings(needs: Needs, reader: AccountReader, account: str) -> Iterator[Found]:
    for one in {n.name: n for n in needs.roles}.values():
        arn = one.name.split(":")
        name = one.name.rpartition("/")[2]
        if len(arn) > _ACCOUNT_PART and account and arn[_ACCOUNT_PART] != account:
            why = f"it is of account {arn[_ACCOUNT_PART]}"
            reader.not_asked.append(NotAsked(f"the role {name}", why))
            continue
        try:
            answer = reader.ask("iam", "get_role", RoleName=name)
        except RefusedError as refusal:
            if not is_missing(refusal):
                raise
            what = f"the role {name} is not there"
            way_out = (
                f"make it; sagemaker-llm permissions --role {name} prints its policy"
            )
            yield str(one.place), NO_ROLE.finding(what, way_out)
            continue
        document = answer["Role"].get("AssumeRolePolicyDocument") if answer else None
        if answer is not None and not trusts_sagemaker(document):
            yield (
                str(one.place),
                UNTRUSTING_ROLE.finding(
                    f"the role {name} does not let sagemaker.amazonaws.com take it",
                    f"sagemaker-llm permissions --role {name} --trust prints what it "
                    "must trust",
                ),
            )


def name_findings(
    reader: AccountReader, own: OwnResources, new: NewName
) -> Iterator[Found]:
    service, operation, argument = _LOOKS[new.kind]
    region = new.place.region
    try:
        answer = reader.ask(service, operation, region=region, **{argument: new.name})
    except RefusedError as refusal:
        # Of what is not there SageMaker says ValidationException.
        if not is_missing(refusal) and refusal.code != "ValidationException":
            raise
        return
    if answer is None or own.made(new.place).rpartition("/")[2] == new.name:
        return
    article = "an" if new.kind == "endpoint" else "a"
    yield (
        str(new.place),
        TAKEN_NAME.finding(
            f"{article} {new.kind} named {new.name} is there, and stack "
            f"{new.place.stack} has not made it",
            "choose another name, delete it, or bring it into the stack: cdk import",
        ),
    )


def service_role_findings(needs: Needs, reader: AccountReader) -> Iterator[Found]:
    if not needs.scaled:
        return
    try:
        reader.ask("iam", "get_role", RoleName=_SERVICE_ROLE)
    except RefusedError as refusal:
        if not is_missing(refusal):
            raise
        yield (
            str(needs.scaled[0]),
            NO_SERVICE_ROLE.finding(
                f"the account has no {_SERVICE_ROLE}, which Application Auto Scaling "
                "makes at the first use if whoever deploys may "
                "iam:CreateServiceLinkedRole",
                "see that they may, or make it: aws iam create-service-linked-role "
                "--aws-service-name sagemaker.application-autoscaling.amazonaws.com",
            ),
        )
