"""
One base model for three tenants: each has a LoRA adapter, and a name to call it by.

The adapters run on the base's copies and need no accelerators of their own. The base
takes adapters from the start, so that a tenant comes and goes without restarting it.
"""

from aws_cdk import App, CfnOutput, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LoraAdapter,
    Vllm,
)

BUCKET = "example-adapters"
TENANTS = ["Bakery", "Library", "Museum"]


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class LoraAdaptersStack(Stack):
    """
    A base, and an adapter for each tenant: one archive of PEFT's files (``tar czf
    bakery.tar.gz -C bakery .``) in a folder on S3.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        host = InferenceComponentEndpoint(
            self, "Host", instance_type="ml.g5.2xlarge", max_instance_count=2
        )
        base = host.add_model(
            "Chat",
            model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
            serving=Vllm(enable_lora=True, max_lora_rank=32, max_model_len=4096),
        )
        CfnOutput(self, "EndpointName", value=host.endpoint_name)
        CfnOutput(self, "BaseName", value=base.inference_component_name)
        for tenant in TENANTS:
            packed = f"s3://{BUCKET}/adapters/{tenant.lower()}.tar.gz"
            adapter = base.add_adapter(tenant, artifact=LoraAdapter(packed, rank=16))
            CfnOutput(self, f"{tenant}Name", value=adapter.inference_component_name)


app = App()
LoraAdaptersStack(app, "LoraAdapters")
app.synth()
