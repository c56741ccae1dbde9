"""
A function of one app streams from a model of another, and neither knows the other.

They agree on two names in Parameter Store: how the model is reached, which the client
reads, and the endpoint's ARN, which CloudFormation reads for the function's permission.
Here both apps are stacks of one file, so that it runs as it is; ``WebStack`` takes
nothing of ``ModelsStack`` and may as well stand in a repository of its own.
"""

import tempfile
import zipfile
from pathlib import Path

from aws_cdk import (
    Acknowledgment,
    App,
    CfnOutput,
    CfnResource,
    Duration,
    Stack,
    Validations,
)
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from constructs import Construct

import cdk_sagemaker_llm
from cdk_sagemaker_llm import (
    ConnectionParameter,
    Endpoint,
    HuggingFaceModel,
    LlmEndpoint,
    Vllm,
)

CONNECTION = "/llm/chat"
ENDPOINT_ARN = "/llm/chat-arn"
HANDLER = Path(__file__).with_name("handler.py")


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class ModelsStack(Stack):
    """
    The app of those who run models: an endpoint, and what others need to know of it.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=HuggingFaceModel("Qwen/Qwen3-4B"),
            serving=Vllm(max_model_len=8192),
            instance_type="ml.g6.2xlarge",
        )
        chat.store_connection(parameter_name=CONNECTION)
        ssm.StringParameter(
            self, "Arn", parameter_name=ENDPOINT_ARN, string_value=chat.endpoint_arn
        )


# checkov:skip=CKV_AWS_115: whoever calls it limits how many calls there are at once
# checkov:skip=CKV_AWS_116: it is called and waited for, so that no event gets lost
# checkov:skip=CKV_AWS_117: it speaks to AWS alone, and the model is in no VPC
# checkov:skip=CKV_AWS_173: its only variable is the name of a parameter
class WebStack(Stack):
    """
    The app of those who ask: a function, and what it may do.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        function = lambda_.Function(
            self,
            "Ask",
            runtime=lambda_.Runtime.PYTHON_3_13,
            handler="handler.handler",
            code=lambda_.Code.from_asset(packed(Path(tempfile.mkdtemp()))),
            environment={"CONNECTION": CONNECTION},
            timeout=Duration.seconds(30),
            memory_size=512,
        )
        # The CDK has a function wait for its role, which it refers to anyway.
        ignored = {"config": {"ignore_checks": ["W3005"]}}
        resource = function.node.default_child
        if isinstance(resource, CfnResource):
            resource.add_metadata("cfn-lint", ignored)
        arn = ssm.StringParameter.value_for_string_parameter(self, ENDPOINT_ARN)
        chat = Endpoint.from_endpoint_arn(self, "Chat", arn)
        # The token is for OpenAI's SDK, which the same function may use.
        chat.grant_invoke(function, bearer_token=True)
        stored = ConnectionParameter.from_parameter_name(self, "Stored", CONNECTION)
        stored.grant_read(function)
        reasons = {
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-"
            "role/AWSLambdaBasicExecutionRole]": "it lets the function write its log",
            "AwsSolutions-IAM5[Resource::*]": "sagemaker:CallWithBearerToken has no "
            "resource to name",
            "AwsSolutions-L1": "the client is tested on this version of Python",
        }
        for rule, reason in reasons.items():
            acknowledged = Acknowledgment(id=rule, reason=reason)
            Validations.of(function).acknowledge(acknowledged)
        CfnOutput(self, "FunctionName", value=function.function_name)


def packed(folder: Path) -> str:
    """
    Zip the handler with the library, as ``pip install --no-deps --target`` lays it
    down, the same bytes each time; boto3 is in Lambda's runtime.
    """
    library = Path(cdk_sagemaker_llm.__file__).parent
    files = {path.relative_to(library.parent): path for path in library.rglob("*.py")}
    with zipfile.ZipFile(folder / "function.zip", "w") as target:
        for name, path in sorted({**files, Path("handler.py"): HANDLER}.items()):
            entry = zipfile.ZipInfo(str(name))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, path.read_bytes())
    return str(folder / "function.zip")


app = App()
models = ModelsStack(app, "Models")
web = WebStack(app, "Web")
# In one app the CDK has to be told what two teams know: the model is deployed first.
web.add_stack_dependency(models)
app.synth()
