"""
A stack that has a build make the weights of a model before the model is made.

A custom resource starts the build and does not wait for it; a wait condition does. The
build tells its end itself, and a rule tells it for a build that cannot any more.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from aws_cdk import (
    App,
    CfnOutput,
    CfnWaitCondition,
    CfnWaitConditionHandle,
    CustomResource,
    Duration,
    Environment,
    RemovalPolicy,
    SecretValue,
    Stack,
)
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

STACK = "Building"
BUCKET = "weights-of-building"
TOKEN = "a-token-that-nobody-sees"  # noqa: S105 - of no use anywhere
IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:"
    "0.26.0-tensorrtllm0.7.1-cu122"
)
STARTER = """
import json, urllib.request
import boto3, cfnresponse

def handler(event, context):
    if "detail" in event:
        return tell(event["detail"])
    if event["RequestType"] != "Delete":
        asked = event["ResourceProperties"]
        variables = {"STAGING_ORDER": asked["Order"], "STAGING_HANDLE": asked["Handle"]}
        boto3.client("codebuild").start_build(
            projectName=asked["Project"], idempotencyToken=event["RequestId"],
            environmentVariablesOverride=[
                {"name": name, "value": value} for name, value in variables.items()])
    cfnresponse.send(event, context, cfnresponse.SUCCESS, {}, "started")

def tell(detail):
    build = boto3.client("codebuild").batch_get_builds(ids=[detail["build-id"]])
    shown = build["builds"][0]
    given = {v["name"]: v["value"]
             for v in shown["environment"]["environmentVariables"]}
    reason = detail["build-status"] + " in " + next(
        (p["phaseType"] for p in shown["phases"]
         if p.get("phaseStatus") not in (None, "SUCCEEDED")), "none")
    signal = {"Status": "FAILURE", "UniqueId": shown["id"], "Reason": reason}
    request = urllib.request.Request(
        given["STAGING_HANDLE"], data=json.dumps(signal).encode(), method="PUT",
        headers={"Content-Type": ""})
    urllib.request.urlopen(request).close()
"""


class Building(Stack):
    """
    The stack.

    Args:
        order: What the build is to do: ``make``, ``refuse`` or ``break``.

        key: What the weights are kept under; another one is another wait.

        source: A folder for the worker's code, which becomes an asset.
    """

    def __init__(
        self, scope: Construct, id: str, *, order: str, key: str, source: Path
    ) -> None:
        super().__init__(
            scope, id, env=Environment(account="123456789012", region="us-east-1")
        )
        bucket = s3.Bucket(
            self,
            "Weights",
            bucket_name=BUCKET,
            removal_policy=RemovalPolicy.DESTROY,
            auto_delete_objects=True,
        )
        secret = secretsmanager.Secret(
            self,
            "Token",
            secret_object_value={"token": SecretValue.unsafe_plain_text(TOKEN)},
        )
        project = self._project(source, secret)
        function = self._starter()
        handle = CfnWaitConditionHandle(self, f"Handle{key}")
        started = CustomResource(
            self,
            "Started",
            service_token=function.function_arn,
            properties={
                "Order": f"{order} {key}",
                "Handle": handle.ref,
                "Project": project.project_name,
            },
        )
        started.node.add_dependency(bucket)
        waited = CfnWaitCondition(
            self, f"Waited{key}", handle=handle.ref, timeout="43200", count=1
        )
        waited.node.add_dependency(started)
        self._model(bucket, key).node.add_dependency(waited)
        CfnOutput(self, "Signals", value=waited.attr_data.to_string())
        CfnOutput(self, "Builder", value=project.project_name)

    def _project(
        self, source: Path, secret: secretsmanager.ISecret
    ) -> codebuild.Project:
        place = Path(__file__).with_name("worker.py")
        source.mkdir(parents=True, exist_ok=True)
        shutil.copy(place, source)
        worker = {"commands": ["python3 worker.py"]}
        install = {"commands": ["pip install something-that-is-nowhere"]}
        asset = codebuild.BuildSpec.from_object(
            {"version": "0.2", "phases": {"install": install, "build": worker}}
        )
        from aws_cdk.aws_s3_assets import Asset  # noqa: PLC0415 - beside its one use

        code = Asset(self, "Worker", path=str(source))
        return codebuild.Project(
            self,
            "Project",
            source=codebuild.Source.s3(bucket=code.bucket, path=code.s3_object_key),
            build_spec=asset,
            timeout=Duration.hours(2),
            environment_variables={
                "BUCKET": codebuild.BuildEnvironmentVariable(value=BUCKET),
                "TOKEN": codebuild.BuildEnvironmentVariable(
                    value=f"{secret.secret_arn}:token",
                    type=codebuild.BuildEnvironmentVariableType.SECRETS_MANAGER,
                ),
            },
        )

    def _starter(self) -> lambda_.Function:
        function = lambda_.Function(
            self,
            "Starter",
            runtime=lambda_.Runtime.PYTHON_3_12,
            handler="index.handler",
            code=lambda_.Code.from_inline(STARTER),
        )
        rule = events.Rule(
            self,
            "Failed",
            event_pattern=events.EventPattern(
                source=["aws.codebuild"],
                detail_type=["CodeBuild Build State Change"],
                detail={"build-status": ["FAILED", "FAULT", "STOPPED", "TIMED_OUT"]},
            ),
        )
        rule.add_target(targets.LambdaFunction(function))
        return function

    def _model(self, bucket: s3.Bucket, key: str) -> sagemaker.CfnModel:
        role = iam.Role(
            self, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com")
        )
        return sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=IMAGE,
                model_data_source=sagemaker.CfnModel.ModelDataSourceProperty(
                    s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                        compression_type="None",
                        s3_data_type="S3Prefix",
                        s3_uri=f"s3://{bucket.bucket_name}/{key}/",
                    )
                ),
            ),
        )


def synth(outdir: Path, *, order: str, key: str = "One") -> Path:
    """
    Write the cloud assembly.
    """
    app = App(outdir=str(outdir / "out"), analytics_reporting=False)
    Building(app, STACK, order=order, key=key, source=outdir / "source")
    app.synth()
    return outdir / "out"


if __name__ == "__main__":
    synth(Path(sys.argv[1]), order=sys.argv[2])
