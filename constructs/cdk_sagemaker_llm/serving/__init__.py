"""
How a model is served: backends as typed configurations, and folders of your own.

What belongs here knows what runs in a container: a wing for each kind of image, and
above them what the wings share. Names are loaded when they are first used (PEP 562):
who serves with one backend does not pay for the others.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.findings import Finding
    from cdk_sagemaker_llm.serving.base import Container, Prepared, ServingConfiguration
    from cdk_sagemaker_llm.serving.checks import Architecture
    from cdk_sagemaker_llm.serving.custom import CustomContainer
    from cdk_sagemaker_llm.serving.engines.llama_cpp import CacheType, LlamaCpp
    from cdk_sagemaker_llm.serving.engines.sglang import Sglang
    from cdk_sagemaker_llm.serving.engines.text_embeddings import TextEmbeddings
    from cdk_sagemaker_llm.serving.engines.vllm import Vllm, VllmNeuron, VllmOmni
    from cdk_sagemaker_llm.serving.families import check_environment
    from cdk_sagemaker_llm.serving.lmi.base import RopeScaling, SmoothQuant
    from cdk_sagemaker_llm.serving.lmi.checks import check_properties
    from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
    from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
    from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
    from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
    from cdk_sagemaker_llm.serving.lmi.vllm import LmiDist, LmiVllm
    from cdk_sagemaker_llm.serving.support_check import check_support
    from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
    from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron

__all__ = [
    "Architecture",
    "CacheType",
    "Container",
    "CustomContainer",
    "DeepSpeed",
    "Finding",
    "LlamaCpp",
    "LmiDist",
    "LmiVllm",
    "NeuronX",
    "Prepared",
    "RopeScaling",
    "ServingConfiguration",
    "ServingFolder",
    "Sglang",
    "SmoothQuant",
    "TensorRtLlm",
    "TextEmbeddings",
    "Tgi",
    "TgiNeuron",
    "Vllm",
    "VllmNeuron",
    "VllmOmni",
    "check_environment",
    "check_properties",
    "check_support",
]

_HOMES = {
    "Architecture": "serving.checks",
    "CacheType": "serving.engines.llama_cpp",
    "Container": "serving.base",
    "CustomContainer": "serving.custom",
    "DeepSpeed": "serving.lmi.deepspeed",
    "Finding": "findings",
    "LlamaCpp": "serving.engines.llama_cpp",
    "LmiDist": "serving.lmi.vllm",
    "LmiVllm": "serving.lmi.vllm",
    "NeuronX": "serving.lmi.neuronx",
    "Prepared": "serving.base",
    "RopeScaling": "serving.lmi.base",
    "ServingConfiguration": "serving.base",
    "ServingFolder": "serving.lmi.folder",
    "Sglang": "serving.engines.sglang",
    "SmoothQuant": "serving.lmi.base",
    "TensorRtLlm": "serving.lmi.tensorrt_llm",
    "TextEmbeddings": "serving.engines.text_embeddings",
    "Tgi": "serving.tgi.gpu",
    "TgiNeuron": "serving.tgi.neuron",
    "Vllm": "serving.engines.vllm",
    "VllmNeuron": "serving.engines.vllm",
    "VllmOmni": "serving.engines.vllm",
    "check_environment": "serving.families",
    "check_properties": "serving.lmi.checks",
    "check_support": "serving.support_check",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
