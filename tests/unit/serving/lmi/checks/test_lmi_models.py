"""
Models that a backend of LMI refuses by their class, on both sides of each rule.
"""

from __future__ import annotations

from itertools import product

import pytest
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm.serving import check_properties

MODELS = {
    "LlamaForCausalLM": "llama",
    "GPTNeoXForCausalLM": "gpt_neox",
    "T5ForConditionalGeneration": "t5",
    "BertModel": "bert",
    "FalconForCausalLM": "falcon",
}
FILES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "DeepSpeed": (
        "djl-deepspeed",
        ("0.25.0", "0.26.0", "0.27.0"),
        "engine=DeepSpeed\noption.rolling_batch=deepspeed\n",
    ),
    "DeepSpeed, automatic": (
        "djl-deepspeed",
        ("0.26.0", "0.27.0"),
        "engine=DeepSpeed\noption.rolling_batch=auto\n",
    ),
    "DeepSpeed, smoothed": (
        "djl-deepspeed",
        ("0.26.0",),
        "engine=DeepSpeed\noption.quantize=smoothquant\n",
    ),
    "TensorRT-LLM": (
        "djl-tensorrtllm",
        ("0.26.0", "0.27.0", "0.31.0", "0.32.0"),
        "engine=MPI\n",
    ),
    "TensorRT-LLM without batches": (
        "djl-tensorrtllm",
        ("0.26.0", "0.27.0", "0.31.0", "0.32.0"),
        "engine=MPI\noption.rolling_batch=disable\n",
    ),
    "NeuronX": ("djl-neuronx", ("0.25.0", "0.26.0", "0.27.0", "0.28.0"), ""),
    "NeuronX without batches": (
        "djl-neuronx",
        ("0.26.0", "0.27.0", "0.28.0"),
        "option.rolling_batch=disable\n",
    ),
    "NeuronX by its loader": (
        "djl-neuronx",
        ("0.26.0", "0.28.0"),
        "option.model_loader=tnx\n",
    ),
    "NeuronX by Optimum": (
        "djl-neuronx",
        ("0.26.0", "0.28.0"),
        "option.model_loader=optimum\n",
    ),
    "NeuronX in Optimum's parts": (
        "djl-neuronx",
        ("0.26.0", "0.28.0"),
        "option.partition_schema=optimum\n",
    ),
    "NeuronX by vLLM": (
        "djl-neuronx",
        ("0.27.0", "0.28.0"),
        "option.rolling_batch=vllm\noption.model_loader=vllm\n",
    ),
    "vLLM": (
        "djl-lmi",
        ("0.33.0", "0.36.0"),
        "engine=Python\noption.rolling_batch=vllm\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_backend_refuses_models_that_it_does_not_know(
    name: str, snapshot: SnapshotAssertion
) -> None:
    """
    Of each version, with the way out.
    """
    container, versions, text = FILES[name]
    found = {
        f"{class_name} at {version}": [
            str(each)
            for each in check_properties(
                f"engine=Python\n{text}" if "engine" not in text else text,
                container=container,
                version=version,
                accelerators=1,
                architecture={"architectures": [class_name], "model_type": kind},
            )
            if each.code == "LLM175"
        ]
        for version, (class_name, kind) in product(versions, MODELS.items())
    }

    assert found == snapshot
