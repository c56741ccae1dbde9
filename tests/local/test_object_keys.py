"""
Objects whose key cannot be used, by boto3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks

OPEN = {
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
    "Action": "kms:*",
    "Resource": "*",
}
CLOSED = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "kms:GenerateDataKey*",
    "Resource": "*",
}


class Bench:
    """
    A bucket that is encrypted with a key of its own, and an object in it.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self.s3, self.kms = aws.client("s3"), aws.client("kms")
        self.bucket = unique("keys")
        made = self.kms.create_key()["KeyMetadata"]
        self.key, self.key_id = str(made["Arn"]), str(made["KeyId"])
        self.s3.create_bucket(Bucket=self.bucket)
        default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": self.key}
        rule = {"ApplyServerSideEncryptionByDefault": default}
        self.s3.put_bucket_encryption(
            Bucket=self.bucket, ServerSideEncryptionConfiguration={"Rules": [rule]}
        )
        self.put("there")

    def put(self, name: str, **more: Untyped) -> None:
        """
        Write an object.
        """
        self.s3.put_object(Bucket=self.bucket, Key=name, Body=b"x", **more)

    def get(self, name: str = "there") -> bytes:
        """
        Read an object.
        """
        body: bytes = self.s3.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        return body

    def reopen(self) -> None:
        """
        Let everyone use the key again.
        """
        self.policy(OPEN)
        state = self.kms.describe_key(KeyId=self.key_id)["KeyMetadata"]["KeyState"]
        if state == "PendingDeletion":
            self.kms.cancel_key_deletion(KeyId=self.key_id)
        self.kms.enable_key(KeyId=self.key_id)

    def policy(self, *statements: object) -> None:
        """
        Write the key's policy.
        """
        told = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.kms.put_key_policy(KeyId=self.key, PolicyName="default", Policy=told)


@pytest.fixture(name="bench")
def _bench(near_aws: EmbeddedAws) -> Iterator[Bench]:
    bench = Bench(near_aws)
    yield bench
    # What is in the server at the end is read.
    bench.reopen()


def refused(act: Callable[[], object]) -> tuple[str, str]:
    """
    Return the code and the words of a refusal.
    """
    with pytest.raises(ClientError) as caught:
        act()
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_a_disabled_key_neither_writes_nor_reads(bench: Bench) -> None:
    """
    Until it is enabled again; what needs no key goes on.
    """
    bench.kms.disable_key(KeyId=bench.key_id)
    told = ("KMS.DisabledException", f"{bench.key} is disabled.")

    assert refused(lambda: bench.put("new")) == told
    assert refused(bench.get) == told
    assert (
        refused(
            lambda: bench.s3.create_multipart_upload(Bucket=bench.bucket, Key="long")
        )
        == told
    )
    bench.put("plain", ServerSideEncryption="AES256")
    assert bench.get("plain") == b"x"
    listed = bench.s3.list_objects_v2(Bucket=bench.bucket)["Contents"]
    assert [one["Key"] for one in listed] == ["plain", "there"]
    assert bench.s3.get_object_tagging(Bucket=bench.bucket, Key="there")["TagSet"] == []
    bench.s3.delete_object(Bucket=bench.bucket, Key="plain")

    bench.kms.enable_key(KeyId=bench.key_id)
    bench.put("new")
    assert bench.get("new") == b"x"


def test_a_key_that_is_about_to_go_is_not_used(bench: Bench) -> None:
    """
    For the days that it waits.
    """
    bench.kms.schedule_key_deletion(KeyId=bench.key_id)

    assert refused(lambda: bench.put("new")) == (
        "KMS.KMSInvalidStateException",
        f"{bench.key} is pending deletion.",
    )


def test_a_policy_that_denies_everyone_denies(bench: Bench) -> None:
    """
    The actions that it names: what was written can be read.
    """
    bench.policy(OPEN, CLOSED)

    words = (
        "User is not authorized to perform: kms:GenerateDataKey on resource: "
        f"{bench.key} with an explicit deny in a resource-based policy"
    )
    assert refused(lambda: bench.put("new")) == ("AccessDenied", words)
    assert bench.get() == b"x"
    bench.policy(OPEN)
    bench.put("new")


@pytest.mark.parametrize(
    "statement",
    [
        {**CLOSED, "Effect": "Allow"},
        {**CLOSED, "Principal": {"AWS": "arn:aws:iam::123456789012:role/other"}},
        {**CLOSED, "Action": ["kms:Sign", "kms:Verify"]},
        {**CLOSED, "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
    ],
    ids=["allows", "another", "other-actions", "on-condition"],
)
def test_what_denies_not_everyone_is_not_judged(
    bench: Bench, statement: dict[str, object]
) -> None:
    """
    Nobody has an identity in here.
    """
    bench.policy(OPEN, statement)

    bench.put("new")


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}, {"AWS": ["*"]}])
@pytest.mark.parametrize("actions", ["kms:*", "*", ["kms:sign", "KMS:GenerateDataKey"]])
def test_everyone_is_written_in_three_ways(
    bench: Bench, principal: object, actions: object
) -> None:
    """
    And actions in any case, with wildcards.
    """
    bench.policy(OPEN, {**CLOSED, "Principal": principal, "Action": actions})

    assert refused(lambda: bench.put("new"))[0] == "AccessDenied"


def test_an_object_may_name_its_key(bench: Bench) -> None:
    """
    By its id, its alias or its ARN; one that is not of this server is not judged.
    """
    other = bench.kms.create_key()["KeyMetadata"]
    alias = f"alias/{unique('key')}"
    bench.kms.create_alias(AliasName=alias, TargetKeyId=other["KeyId"])
    bench.kms.disable_key(KeyId=other["KeyId"])
    elsewhere = "arn:aws:kms:eu-west-3:111122223333:key/1"

    for name in (other["KeyId"], other["Arn"], alias):
        put = partial(
            bench.put, "new", ServerSideEncryption="aws:kms", SSEKMSKeyId=name
        )
        assert refused(put)[0] == "KMS.DisabledException"
    bench.put("new", ServerSideEncryption="aws:kms", SSEKMSKeyId=elsewhere)


def test_a_key_of_a_stack_encrypts(near_aws: EmbeddedAws) -> None:
    """
    Its policy comes as a template has it, with the bucket beside it.
    """
    policy = {"Version": "2012-10-17", "Statement": [OPEN]}
    key = {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": policy}}
    default = {
        "SSEAlgorithm": "aws:kms",
        "KMSMasterKeyID": {"Fn::GetAtt": ["Key", "Arn"]},
    }
    rules = [{"ServerSideEncryptionByDefault": default}]
    encryption = {"ServerSideEncryptionConfiguration": rules}
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketEncryption": encryption}}
    stacks, name = Stacks(near_aws), unique("stack")
    stacks.create(name, {"Resources": {"Key": key, "Bucket": bucket}})
    found = near_aws.client("cloudformation").describe_stack_resource(
        StackName=name, LogicalResourceId="Bucket"
    )["StackResourceDetail"]["PhysicalResourceId"]
    s3 = near_aws.client("s3")
    s3.put_object(Bucket=found, Key="it", Body=b"x")

    assert s3.get_object(Bucket=found, Key="it")["Body"].read() == b"x"
    s3.delete_object(Bucket=found, Key="it")
    stacks.delete(name)
