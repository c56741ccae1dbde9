"""
How a model is served: backends as typed configurations, and folders of your own.
"""

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import check_properties
from cdk_sagemaker_llm.serving.configuration import Container, ServingConfiguration
from cdk_sagemaker_llm.serving.custom import CustomContainer
from cdk_sagemaker_llm.serving.deepspeed import DeepSpeed
from cdk_sagemaker_llm.serving.folder import ServingFolder
from cdk_sagemaker_llm.serving.lmi_dist import LmiDist
from cdk_sagemaker_llm.serving.neuronx import NeuronX
from cdk_sagemaker_llm.serving.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.serving.tgi import Tgi
from cdk_sagemaker_llm.serving.tgi_checks import check_environment
from cdk_sagemaker_llm.serving.tgi_neuron import TgiNeuron
from cdk_sagemaker_llm.serving.tuning import RopeScaling, SmoothQuant
from cdk_sagemaker_llm.serving.vllm import Vllm

__all__ = [
    "Container",
    "CustomContainer",
    "DeepSpeed",
    "Finding",
    "LmiDist",
    "NeuronX",
    "RopeScaling",
    "ServingConfiguration",
    "ServingFolder",
    "SmoothQuant",
    "TensorRtLlm",
    "Tgi",
    "TgiNeuron",
    "Vllm",
    "check_environment",
    "check_properties",
]
