"""
Endpoints that other tools have really made are adopted: the app comes to the same, the
CDK CLI imports it, and then finds no difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.cli.app.adopting import MAPPING
from tests.clients.conftest import ENVIRONMENTS, PROGRAMS
from tests.clients.test_constructs import PREPACKED, output, succeed
from tests.deployments import Deployer, example
from tests.local.hosting_requests import LMI_36, ROLE, TGI, artifact
from tests.local.made_again import described, made_again
from tests.running import run as run_here

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Program
    from tests.local.conftest import Cdk

# Each makes half a dozen endpoints by a program of its own.
pytestmark = pytest.mark.timeout(900)

_BUCKET = "artifacts-of-constructs"
_URL = f"s3://{_BUCKET}/model.tar.gz"
# A queue, zero copies, two schedules, a shadow, steps.
_EXAMPLES = (
    *("async_endpoint", "scale_to_zero", "scheduled_scaling", "shadow_variant"),
    "step_scaling",
)


@pytest.fixture(name="retained", scope="module")
def _retained(
    aws: EmbeddedAws,
    cdk: Cdk,
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, list[str]]:
    """
    The endpoints of other constructs by their stack, which has left them behind.
    """
    folder = tmp_path_factory.mktemp("retained")
    s3, ec2 = aws.client("s3"), aws.client("ec2")
    packed = folder / "model.tar.gz"
    packed.write_bytes(artifact(rolling_batch="auto"))
    for bucket, key in (
        (_BUCKET, "model.tar.gz"),
        ("jumpstart-cache-prod-us-east-1", f"{PREPACKED}/v1.0.0/config.json"),
    ):
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=key, Body=packed.read_bytes())
    subnets = ec2.describe_subnets()["Subnets"][:2]
    group = ec2.create_security_group(
        GroupName="retained", Description="models", VpcId=subnets[0]["VpcId"]
    )
    words = [
        *(ENVIRONMENTS / "constructs" / "bin" / "python", PROGRAMS / "retained_app.py"),
        *(packed, _URL, group["GroupId"], *(one["SubnetId"] for one in subnets)),
    ]
    app = {"app": " ".join(map(str, words)), "outdir": folder / "cdk.out", "cwd": home}
    succeed(cdk("deploy", "--all", "--require-approval", "never", **app))
    alpha = output(aws, "RetainedAlpha", "EndpointName")
    succeed(cdk("destroy", "--all", "--force", **app))
    kinds = ("hub", "custom", "tuned")
    return {
        "alpha": [alpha, "alpha-private", "alpha-least"],
        "generative": [
            *(f"retained-{kind}" for kind in kinds),
            "jumpstart-retained-jumpstart",
        ],
    }


def test_the_aws_cli(
    aws: EmbeddedAws, cdk: Cdk, program: Program, tmp_path: Path
) -> None:
    """
    Six: an environment, a tarball, a VPC, a queue, steps, components.
    """
    names = program("awscli", "cli_endpoints", TGI, LMI_36, ROLE)["endpoints"]

    assert len(names) == 6
    taken_over(aws, cdk, tmp_path, names)


def test_the_sagemaker_sdk(
    aws: EmbeddedAws, cdk: Cdk, program: Program, tmp_path: Path
) -> None:
    """
    Five by version 2: two frameworks, an artifact, a queue, components.
    """
    names = program("sagemaker", "sdk_endpoints", LMI_36, ROLE)["endpoints"]

    assert len(names) == 5
    taken_over(aws, cdk, tmp_path, names)


def test_version_3_of_the_sagemaker_sdk(
    aws: EmbeddedAws, cdk: Cdk, program: Program, tmp_path: Path
) -> None:
    """
    Three by its resources: a model, two variants, a component.
    """
    names = program("sagemaker_v3", "sdk_v3_endpoints", LMI_36, ROLE)["endpoints"]

    assert len(names) == 3
    taken_over(aws, cdk, tmp_path, names)


@pytest.mark.parametrize(("library", "count"), [("alpha", 3), ("generative", 4)])
def test_other_constructs(
    aws: EmbeddedAws,
    cdk: Cdk,
    retained: dict[str, list[str]],
    tmp_path: Path,
    library: str,
    count: int,
) -> None:
    """
    What their stack had, once that is gone and has left it.
    """
    names = retained[library]

    assert len(names) == count
    taken_over(aws, cdk, tmp_path, names)


def test_this_library(aws: EmbeddedAws, cdk: Cdk, tmp_path: Path) -> None:
    """
    Six endpoints of its examples, which their stacks have left behind as well.
    """
    before = endpoints_of(aws)
    stacks = aws.client("cloudformation")
    for name in _EXAMPLES:
        assembly = example(name, tmp_path / name)
        for path in assembly.glob("*.template.json"):
            template = json.loads(path.read_text("utf-8"))
            for resource in template["Resources"].values():
                resource["DeletionPolicy"] = "Retain"
            path.write_text(json.dumps(template), encoding="utf-8")
        for stack in Deployer(aws).deploy(assembly).checked().outputs:
            stacks.delete_stack(StackName=stack)
            stacks.get_waiter("stack_delete_complete").wait(
                StackName=stack, WaiterConfig={"Delay": 1}
            )
    names = sorted(endpoints_of(aws) - before)

    assert len(names) == 6
    taken_over(aws, cdk, tmp_path, names)


def endpoints_of(aws: EmbeddedAws) -> set[str]:
    """
    Return the names of all endpoints.
    """
    pages = aws.client("sagemaker").get_paginator("list_endpoints").paginate()
    return {row["EndpointName"] for page in pages for row in page["Endpoints"]}


def taken_over(aws: EmbeddedAws, cdk: Cdk, folder: Path, names: list[str]) -> None:
    """
    Adopt endpoints, import them, and hold that nothing differs: for CloudFormation,
    and where the app makes the same once more.
    """
    app = folder / "app"
    url = ("--endpoint-url", aws.url)
    said = run_here("adopt", *names, "--output", app, *url)
    assert said.returncode == 0, said.stdout + said.stderr

    imported = cdk("import", "--resource-mapping", MAPPING, cwd=app)
    assert imported.returncode == 0, imported.stdout
    assert "skipping" not in imported.stdout
    succeed(cdk("diff", "--fail", cwd=app))
    succeed(cdk("drift", "--fail", cwd=app))
    (template,) = (app / "cdk.out").glob("*.template.json")
    assert made_again(aws, template, names) == described(aws, names)
