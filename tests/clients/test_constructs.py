"""
Other libraries' constructs, deployed by the CDK CLI: alpha and generative AI.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.clients.conftest import ENVIRONMENTS, PROGRAMS
from tests.local.hosting_requests import artifact, unique

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk

# Half a dozen commands of the CDK CLI each.
pytestmark = pytest.mark.timeout(600)

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PREPACKED = "huggingface-llm/huggingface-llm-mistral-7b/artifacts/inference-prepack"


@pytest.fixture(name="apps")
def _apps(cdk: Cdk, home: Path, tmp_path: Path) -> Callable[..., Run]:
    """
    Run the CDK CLI on an app of this folder, as the packages' environment runs it.
    """

    def app(name: str, *arguments: str) -> Run:
        python = ENVIRONMENTS / "constructs" / "bin" / "python"
        command = " ".join(map(str, (python, PROGRAMS / name, *arguments)))
        return partial(cdk, app=command, outdir=tmp_path / "cdk.out", cwd=home)

    return app


def test_the_alpha_constructs(
    aws: EmbeddedAws, apps: Callable[..., Run], tmp_path: Path
) -> None:
    """
    Deployed, asked by weight, without difference or drift, changed, destroyed.

    Their artifact is an address by https, the only form that they write.
    """
    packed = tmp_path / "model.tar.gz"
    packed.write_bytes(artifact(rolling_batch="auto"))
    first = apps("alpha_app.py", str(packed), "3")
    second = apps("alpha_app.py", str(packed), "4")

    succeed(first("deploy", "--require-approval", "never"))
    endpoint = output(aws, "Alpha", "EndpointName")
    asked = Counter(ask(aws, endpoint) for _ in range(40))
    assert set(asked) == {"Large", "Small"}
    assert most(aws, endpoint) == 3
    succeed(first("diff", "--fail"))
    succeed(first("drift", "--fail"))

    shown = second("diff", "--fail")
    assert shown.returncode == 1
    assert "MaxCapacity" in shown.stdout
    succeed(second("deploy", "--require-approval", "never"))
    assert most(aws, endpoint) == 4

    scaling = aws.client("application-autoscaling")
    scaling.register_scalable_target(**target(endpoint), MinCapacity=1, MaxCapacity=9)
    shown = second("drift", "--fail")
    assert shown.returncode == 1
    assert "MaxCapacity" in shown.stdout
    succeed(second("destroy", "--force"))


def test_the_generative_ai_constructs(
    aws: EmbeddedAws, apps: Callable[..., Run]
) -> None:
    """
    A model of the Hub, one of JumpStart, one's own: each answers.

    JumpStart's weights lie in a bucket of AWS's, which is made here.
    """
    own = unique("own")
    weights = {
        own: "model.tar.gz",
        "jumpstart-cache-prod-us-east-1": f"{PREPACKED}/v1.0.0/config.json",
    }
    for bucket, key in weights.items():
        s3 = aws.client("s3")
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=key, Body=artifact(rolling_batch="auto"))
    app = apps("generative_app.py", f"s3://{own}/model.tar.gz")

    succeed(app("deploy", "--require-approval", "never"))
    for kind in ("generative-hub", "jumpstart-generative-jumpstart"):
        assert ask(aws, kind) == "AllTraffic"
    assert ask(aws, "generative-custom") == "AllTraffic"
    succeed(app("diff", "--fail"))
    succeed(app("drift", "--fail"))
    succeed(app("destroy", "--force"))


def ask(aws: EmbeddedAws, endpoint: str) -> str:
    """
    Return the variant that answered.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=b'{"inputs": "Hi"}'
    )
    body = json.loads(answer["Body"].read())
    assert (body[0] if isinstance(body, list) else body)["generated_text"]
    return str(answer["InvokedProductionVariant"])


def output(aws: EmbeddedAws, stack: str, name: str) -> str:
    """
    Return an output of a stack.
    """
    (found,) = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    values = {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}
    return str(values[name])


def target(endpoint: str) -> dict[str, str]:
    """
    Name the scalable target of the alpha constructs' endpoint.
    """
    return {
        "ServiceNamespace": "sagemaker",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ResourceId": f"endpoint/{endpoint}/variant/Large",
    }


def most(aws: EmbeddedAws, endpoint: str) -> int:
    """
    Return how far the endpoint scales out.
    """
    named = target(endpoint)
    found = aws.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace=named["ServiceNamespace"], ResourceIds=[named["ResourceId"]]
    )
    return int(found["ScalableTargets"][0]["MaxCapacity"])


def succeed(done: subprocess.CompletedProcess[str]) -> None:
    """
    Hold that a command went through.
    """
    assert done.returncode == 0, done.stdout
