"""
CDK constructs that put large language models behind SageMaker endpoints.

Names are loaded when they are first used (PEP 562): the checks and the client do
not pay for the CDK, which takes a second to load and starts Node.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.architectures.architecture import ModelArchitecture
    from cdk_sagemaker_llm.catalog.instances import InstanceType
    from cdk_sagemaker_llm.demand import Assumptions
    from cdk_sagemaker_llm.findings import Finding
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements
    from cdk_sagemaker_llm.fit.plans import Plan
    from cdk_sagemaker_llm.hosting.artifact import ServingArtifact
    from cdk_sagemaker_llm.hosting.endpoint import Endpoint
    from cdk_sagemaker_llm.hosting.endpoint_config import EndpointConfig
    from cdk_sagemaker_llm.hosting.inference_component import InferenceComponent
    from cdk_sagemaker_llm.hosting.inference_component_endpoint import (
        InferenceComponentEndpoint,
    )
    from cdk_sagemaker_llm.hosting.llm_endpoint import LlmEndpoint
    from cdk_sagemaker_llm.hosting.model import Model
    from cdk_sagemaker_llm.hosting.network import Network
    from cdk_sagemaker_llm.hosting.scaling import (
        ScalableCopyCount,
        ScalableInstanceCount,
        ScalableTarget,
        TargetTrackingScaling,
    )
    from cdk_sagemaker_llm.hosting.variant import (
        ManagedInstanceScaling,
        ProductionVariant,
        RoutingStrategy,
    )
    from cdk_sagemaker_llm.models import HuggingFaceModel, S3Model
    from cdk_sagemaker_llm.serving.custom import CustomContainer
    from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
    from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
    from cdk_sagemaker_llm.serving.lmi.lmi_dist import LmiDist
    from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
    from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
    from cdk_sagemaker_llm.serving.lmi.tuning import RopeScaling, SmoothQuant
    from cdk_sagemaker_llm.serving.lmi.vllm import Vllm
    from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
    from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron

__all__ = [
    "Assumptions",
    "CustomContainer",
    "DeepSpeed",
    "Endpoint",
    "EndpointConfig",
    "Finding",
    "HuggingFaceModel",
    "InferenceComponent",
    "InferenceComponentEndpoint",
    "InstanceType",
    "LlmEndpoint",
    "LmiDist",
    "ManagedInstanceScaling",
    "Model",
    "ModelArchitecture",
    "Network",
    "NeuronX",
    "Plan",
    "ProductionVariant",
    "ResourceRequirements",
    "RopeScaling",
    "RoutingStrategy",
    "S3Model",
    "ScalableCopyCount",
    "ScalableInstanceCount",
    "ScalableTarget",
    "ServingArtifact",
    "ServingFolder",
    "SmoothQuant",
    "TargetTrackingScaling",
    "TensorRtLlm",
    "Tgi",
    "TgiNeuron",
    "Vllm",
]

_HOMES = {
    "Assumptions": "demand",
    "CustomContainer": "serving.custom",
    "DeepSpeed": "serving.lmi.deepspeed",
    "Endpoint": "hosting.endpoint",
    "EndpointConfig": "hosting.endpoint_config",
    "Finding": "findings",
    "HuggingFaceModel": "models",
    "InferenceComponent": "hosting.inference_component",
    "InferenceComponentEndpoint": "hosting.inference_component_endpoint",
    "InstanceType": "catalog.instances",
    "LlmEndpoint": "hosting.llm_endpoint",
    "LmiDist": "serving.lmi.lmi_dist",
    "ManagedInstanceScaling": "hosting.variant",
    "Model": "hosting.model",
    "ModelArchitecture": "architectures.architecture",
    "Network": "hosting.network",
    "NeuronX": "serving.lmi.neuronx",
    "Plan": "fit.plans",
    "ProductionVariant": "hosting.variant",
    "ResourceRequirements": "fit.placement",
    "RopeScaling": "serving.lmi.tuning",
    "RoutingStrategy": "hosting.variant",
    "S3Model": "models",
    "ScalableCopyCount": "hosting.scaling",
    "ScalableInstanceCount": "hosting.scaling",
    "ScalableTarget": "hosting.scaling",
    "ServingArtifact": "hosting.artifact",
    "ServingFolder": "serving.lmi.folder",
    "SmoothQuant": "serving.lmi.tuning",
    "TargetTrackingScaling": "hosting.scaling",
    "TensorRtLlm": "serving.lmi.tensorrt_llm",
    "Tgi": "serving.tgi.gpu",
    "TgiNeuron": "serving.tgi.neuron",
    "Vllm": "serving.lmi.vllm",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
