"""
The same model on every backend: what differs is one argument.
"""

from aws_cdk import App, Stack
from constructs import Construct

from cdk_sagemaker_llm import (
    DeepSpeed,
    HuggingFaceModel,
    LlmEndpoint,
    LmiDist,
    LmiVllm,
    NeuronX,
    RopeScaling,
    SmoothQuant,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.serving import ServingConfiguration

ON_GPUS: dict[str, ServingConfiguration] = {
    "Vllm": LmiVllm(max_model_len=8192, rope_scaling=RopeScaling("linear", factor=2)),
    "VllmEager": LmiVllm("0.27.0", tensor_parallel_degree=4, enforce_eager=True),
    "LmiDist": LmiDist("0.28.0", tensor_parallel_degree=4, enable_lora=True),
    "SmoothQuant": TensorRtLlm(
        "0.27.0",
        tensor_parallel_degree=4,
        smoothquant=SmoothQuant(alpha=0.8, per_token=True, per_channel=True),
    ),
    "DeepSpeed": DeepSpeed("0.26.0", tensor_parallel_degree=4, dtype="fp16"),
    "Tgi": Tgi("3.3.6"),
}
ON_NEURON = NeuronX(
    "0.29.0",
    tensor_parallel_degree=8,
    n_positions=4096,
    group_query_attention="replicated-heads",
)


# checkov:skip=CKV_AWS_370: weights come from the Hub, which isolation would cut off
class BackendsStack(Stack):
    """
    One endpoint a backend.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        model = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        # DeepSpeed batches Llama as it goes, and not Mistral.
        llama = HuggingFaceModel("openlm-research/open_llama_7b")
        for name, serving in ON_GPUS.items():
            LlmEndpoint(
                self,
                name,
                model=llama if name == "DeepSpeed" else model,
                serving=serving,
                instance_type="ml.g5.12xlarge",
            )
        LlmEndpoint(
            self,
            "NeuronX",
            model=model,
            serving=ON_NEURON,
            instance_type="ml.inf2.48xlarge",
        )


app = App()
BackendsStack(app, "Backends")
app.synth()
