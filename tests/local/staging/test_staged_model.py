"""
Staged models, deployed: the worker's own code runs in a build of
the embedded AWS, against a server that speaks the Hub's protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import OF_INIT, Deployer, DeploymentResult, example, synthesised
from tests.local.staging.hub_server import REVISION, Hub, Repository
from tests.local.staging.test_worker import FILES, MODEL, STAGED, contents
from tests.secrecy import TOKEN

QWEN = "Qwen/Qwen3-0.6B"
COMMIT = "c1899de289a04d12100db370d81485cdf75e47ca"
APP = Path(__file__).with_name("staged_app.py")
SECRET = "staged/token"  # noqa: S105 - its name

Deploy = Callable[..., DeploymentResult]


@pytest.fixture(name="s3")
def _s3(embedded_aws: EmbeddedAws) -> Untyped:
    return embedded_aws.client("s3")


@pytest.fixture(name="deploy")
def _deploy(deployer: Deployer, tmp_path: Path) -> Deploy:
    """
    Deploy the app with what it is told.
    """

    def deploy(**said: Any) -> DeploymentResult:  # noqa: ANN401 - JSON
        app = synthesised(APP, tmp_path / said["stack"], said=json.dumps(said))
        return deployer.deploy(app)

    return deploy


def asked(bucket: str, hub: Hub, **more: object) -> dict[str, object]:
    """
    Write what the app is told.
    """
    return {
        "stack": bucket.title().replace("-", ""),
        "bucket": bucket,
        "model": MODEL,
        "revision": REVISION,
        "hub": hub.url,
        **more,
    }


def test_the_example_serves_what_it_staged(
    embedded_aws: EmbeddedAws, deployer: Deployer, s3: Untyped, tmp_path: Path
) -> None:
    """
    Every byte is there, the manifest lists it, the build's log tells it file by file,
    and the endpoint answers; in an app that ``cdk init`` has made.
    """
    with Hub({QWEN: Repository(FILES, revision=COMMIT)}) as hub:
        app = example("staged_weights", tmp_path, hub_url=hub.url, **OF_INIT)
        told = deployer.deploy(app).checked().outputs
    bucket = told["Models"]["BucketName"]
    prefix = f"models/Qwen--Qwen3-0.6B/{COMMIT}"
    found = contents(s3, bucket)
    manifest = json.loads(found.pop(f"{prefix}.json"))
    marks = [key for key in found if key.startswith(f"{prefix}.owners/")]

    assert len(marks) == 1
    assert {key: found[key] for key in found if key not in marks} == {
        f"{prefix}/{path}": FILES[path] for path in STAGED
    }
    assert sorted(manifest["files"]) == STAGED
    client = LlmClient(
        told["Model"]["EndpointName"],
        session=boto3.Session("test", "test", region_name="us-east-1"),
        endpoint_url=embedded_aws.url,
    )
    assert client.generate("Who is Roger Federer?", max_new_tokens=4).text
    lines = log_of(embedded_aws, f"s3://{bucket}/{prefix}/")
    assert any(line.startswith("[4/4] ") for line in lines)
    deployer.destroy(app).checked()
    # The bucket is retained, and so is what was staged.
    assert f"{prefix}.json" in contents(s3, bucket)


def log_of(aws: EmbeddedAws, words: str) -> list[str]:
    """
    Return the lines of the build whose log has these words.
    """
    logs = aws.client("logs")
    pages = logs.get_paginator("describe_log_groups").paginate()
    for name in (one["logGroupName"] for page in pages for one in page["logGroups"]):
        streams = logs.describe_log_streams(logGroupName=name)["logStreams"]
        for stream in streams:
            events = logs.get_log_events(
                logGroupName=name, logStreamName=stream["logStreamName"]
            )["events"]
            lines = [str(event["message"]).rstrip("\n") for event in events]
            if any(words in line for line in lines):
                return lines
    raise AssertionError(f"no log has {words}")


@pytest.mark.whole
def test_a_gated_model_says_what_is_missing_and_goes_on(
    embedded_aws: EmbeddedAws, s3: Untyped, deploy: Deploy
) -> None:
    """
    A wrong token fails in the stack's event; with the right one the same stack goes on,
    and the token's value is in no template and no log.
    """
    secrets = embedded_aws.client("secretsmanager")
    secrets.create_secret(Name=SECRET, SecretString="wrong")
    s3.create_bucket(Bucket="staged-gated")
    with Hub({MODEL: Repository(FILES, token=TOKEN)}) as hub:
        given = asked("staged-gated", hub, secret=SECRET)
        failed = deploy(**given)
        secrets.put_secret_value(SecretId=SECRET, SecretString=TOKEN)
        second = deploy(**given)

    assert not failed.succeeded
    assert "tiny/model is gated, and the token that was given has no access" in (
        failed.events
    )
    second.checked()
    prefix = f"models/tiny--model/{REVISION}"
    assert f"{prefix}.json" in contents(s3, "staged-gated")
    assert TOKEN not in failed.events + second.events
    assert TOKEN not in "".join(log_of(embedded_aws, "s3://staged-gated/"))


@pytest.mark.whole
def test_a_key_that_locks_the_role_out_says_so_and_goes_on(
    embedded_aws: EmbeddedAws, s3: Untyped, deploy: Deploy
) -> None:
    """
    Once its policy does not, the same stack goes on.
    """
    kms, bucket = embedded_aws.client("kms"), "staged-locked"
    key = kms.create_key()["KeyMetadata"]["KeyId"]

    def policy(*statements: object) -> None:
        told = {"Version": "2012-10-17", "Statement": statements}
        kms.put_key_policy(KeyId=key, PolicyName="default", Policy=json.dumps(told))

    everyone = {"Principal": "*", "Resource": "*"}
    policy({"Effect": "Deny", "Action": "kms:GenerateDataKey", **everyone})
    s3.create_bucket(Bucket=bucket)
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
    rule = {"ApplyServerSideEncryptionByDefault": default}
    s3.put_bucket_encryption(
        Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]}
    )
    with Hub({MODEL: Repository(FILES)}) as hub:
        given = asked(bucket, hub)
        refused = deploy(**given)
        policy({"Effect": "Allow", "Action": "kms:*", **everyone})
        deploy(**given).checked()
    prefix = f"models/tiny--model/{REVISION}"

    assert not refused.succeeded
    words = refused.events
    assert f"the role may not use bucket {bucket} or its key (User is not" in words
    assert "let it in by their policies" in words
    assert f"{prefix}.json" in contents(s3, bucket)


@pytest.mark.parametrize(
    ("bucket", "more", "words"),
    [
        (
            "staged-vanished",
            {"revision": "f" * 40},
            "tiny/model has no revision ffffffff",
        ),
        (
            "staged-pickles",
            {"model": "tiny/pickles"},
            "the repository holds its weights as pickles alone",
        ),
    ],
)
def test_bad_input_fails_with_one_message(
    s3: Untyped, deploy: Deploy, bucket: str, more: dict[str, object], words: str
) -> None:
    """
    In the stack's event, and no endpoint was made of what is not there; what else the
    worker refuses is held by its own tests.
    """
    s3.create_bucket(Bucket=bucket)
    pickles = {"config.json": b"{}", "pytorch_model.bin": b"pickle"}
    with Hub({MODEL: Repository(FILES), "tiny/pickles": Repository(pickles)}) as hub:
        done = deploy(**asked(bucket, hub, endpoint=True, **more))

    assert not done.succeeded
    assert words in done.events
    assert "AWS::SageMaker::Model " not in done.events
    assert not [key for key in contents(s3, bucket) if key.endswith(".json")]


@pytest.mark.whole
def test_two_stacks_share_a_revision(
    deployer: Deployer, s3: Untyped, deploy: Deploy, tmp_path: Path
) -> None:
    """
    The second asks the Hub for nothing, and the last to go takes the weights along.
    """
    bucket = "staged-shared"
    s3.create_bucket(Bucket=bucket)
    with Hub({MODEL: Repository(FILES)}) as hub:
        first = asked(bucket, hub)
        second = {**first, "stack": "StagedSharedToo"}
        deploy(**first).checked()
        hub.asked.clear()
        deploy(**second).checked()
        assert hub.asked == []
        deployer.destroy(tmp_path / str(first["stack"])).checked()
        assert f"models/tiny--model/{REVISION}.json" in contents(s3, bucket)
        deployer.destroy(tmp_path / str(second["stack"])).checked()
    assert contents(s3, bucket) == {}


@pytest.mark.whole
def test_a_build_that_was_stopped_is_told_to_the_stack(
    embedded_aws: EmbeddedAws, s3: Untyped, deploy: Deploy
) -> None:
    """
    The worker cannot say so itself: the rule does, with the phase and the log.
    """
    codebuild = embedded_aws.client("codebuild")
    s3.create_bucket(Bucket="staged-stopped")

    def stop(_: str) -> None:
        for build in codebuild.list_builds()["ids"]:
            (found,) = codebuild.batch_get_builds(ids=[build])["builds"]
            if found["buildStatus"] == "IN_PROGRESS":
                codebuild.stop_build(id=build)

    with Hub({MODEL: Repository(FILES)}, on_file=stop) as hub:
        stopped = deploy(**asked("staged-stopped", hub))

    assert not stopped.succeeded
    assert "ended as STOPPED" in stopped.events
    assert f"models/tiny--model/{REVISION}.json" not in contents(s3, "staged-stopped")
