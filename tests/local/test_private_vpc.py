"""
A closed VPC: deployed with the endpoints that are called there, and
asked by its own function's code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import example

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer

BUCKET = "model-weights"
SERVICES = {
    "s3": "Gateway",
    "logs": "Interface",
    "monitoring": "Interface",
    "ecr.api": "Interface",
    "ecr.dkr": "Interface",
    "sagemaker.runtime": "Interface",
}
ASK = "import index; print(index.handler({'prompt': 'Who are you?'}, None))"


def test_the_example_is_deployed_asked_and_deleted(
    fresh_aws: EmbeddedAws, fresh_deployer: Deployer, tmp_path: Path
) -> None:
    """
    Both stacks, each endpoint with its policy, and nothing of the network left.
    """
    app = example("private_vpc", tmp_path / "cdk.out")
    s3 = fresh_aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="mistral-7b/config.json", Body=b"{}")
    ec2 = fresh_aws.client("ec2")

    told = fresh_deployer.deploy(app).checked().outputs["PrivateVpc"]
    found = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    endpoint = fresh_aws.client("sagemaker").describe_endpoint(
        EndpointName=told["EndpointName"]
    )
    model = _model_of(fresh_aws, endpoint["EndpointConfigName"])
    in_vpc = {each["VpcId"] for each in found}
    answer = _asked(fresh_aws, app, told["FunctionName"], tmp_path)
    fresh_deployer.destroy(app).checked()

    made = {each["ServiceName"].split("us-east-1.")[1]: each for each in found}
    assert {name: each["VpcEndpointType"] for name, each in made.items()} == SERVICES
    assert len(in_vpc) == 1
    (invoking,) = json.loads(made["sagemaker.runtime"]["PolicyDocument"])["Statement"]
    assert invoking["Action"] == [
        "sagemaker:InvokeEndpoint",
        "sagemaker:InvokeEndpointWithResponseStream",
    ]
    assert invoking["Resource"] == endpoint["EndpointArn"]
    assert model["EnableNetworkIsolation"] is True
    assert len(model["VpcConfig"]["Subnets"]) == 2
    assert answer
    left = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    assert {each["State"] for each in left} <= {"deleted"}
    assert in_vpc.isdisjoint(each["VpcId"] for each in ec2.describe_vpcs()["Vpcs"])


def _model_of(aws: EmbeddedAws, config: str) -> Untyped:
    sagemaker = aws.client("sagemaker")
    described = sagemaker.describe_endpoint_config(EndpointConfigName=config)
    (variant,) = described["ProductionVariants"]
    return sagemaker.describe_model(ModelName=variant["ModelName"])


def _asked(aws: EmbeddedAws, assembly: Path, function: str, folder: Path) -> str:
    """
    Run the deployed function's code with its own variables.
    """
    template = json.loads((assembly / "PrivateVpc.template.json").read_text())
    (code,) = (
        each["Properties"]["Code"]["ZipFile"]
        for each in template["Resources"].values()
        if each["Type"] == "AWS::Lambda::Function"
    )
    (folder / "index.py").write_text(code)
    deployed = aws.client("lambda").get_function_configuration(FunctionName=function)
    environment = {
        **os.environ,
        **aws.process_environment,
        **deployed["Environment"]["Variables"],
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
