"""
CDK constructs that put large language models behind SageMaker endpoints.

Names are loaded when they are first used (PEP 562): the checks and the client do
not pay for the CDK, which takes a second to load and starts Node.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.architectures.architecture import ModelArchitecture
    from cdk_sagemaker_llm.architectures.weight_format import WeightFormat
    from cdk_sagemaker_llm.catalog.images import ImageRelease, Registry, find_image
    from cdk_sagemaker_llm.catalog.instances import (
        InstanceType,
        Processor,
        find_instance_type,
    )
    from cdk_sagemaker_llm.choosing.choosing import choose
    from cdk_sagemaker_llm.client.requests import Schema
    from cdk_sagemaker_llm.demand import Assumptions, Demand, DraftModel, EngineName
    from cdk_sagemaker_llm.findings import Finding, Severity
    from cdk_sagemaker_llm.fit.memory import MemoryTerms, Outcome
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements, Units
    from cdk_sagemaker_llm.fit.plans import Plan
    from cdk_sagemaker_llm.fit.releases import (
        Release,
        Reserve,
        Tier,
        Windows,
    )
    from cdk_sagemaker_llm.fit.setting import Setting
    from cdk_sagemaker_llm.hosting.components.adapters import (
        AdapterInferenceComponent,
        LoraAdapter,
    )
    from cdk_sagemaker_llm.hosting.components.component_base import (
        InferenceComponentBase,
    )
    from cdk_sagemaker_llm.hosting.components.component_checks import (
        AvailabilityZoneBalance,
        PlacementStrategy,
    )
    from cdk_sagemaker_llm.hosting.components.inference_component import (
        InferenceComponent,
    )
    from cdk_sagemaker_llm.hosting.components.sizing import Copies
    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import (
        AsyncInference,
        AsyncTopic,
    )
    from cdk_sagemaker_llm.hosting.endpoints.connection import (
        Connection,
        ConnectionParameter,
        ConnectionParameterBase,
    )
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import (
        CaptureMode,
        DataCapture,
    )
    from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
    from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
    from cdk_sagemaker_llm.hosting.endpoints.endpoint_config import (
        EndpointConfig,
        EndpointConfigBase,
    )
    from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import Observability
    from cdk_sagemaker_llm.hosting.endpoints.events import EndpointStatus
    from cdk_sagemaker_llm.hosting.endpoints.shadow import ShadowVariant
    from cdk_sagemaker_llm.hosting.mirroring.mirrored_image import MirroredImage
    from cdk_sagemaker_llm.hosting.mirroring.sources import ImageSource
    from cdk_sagemaker_llm.hosting.models.artifact import ServingArtifact
    from cdk_sagemaker_llm.hosting.models.model import Model, ModelBase
    from cdk_sagemaker_llm.hosting.monitoring.alarms import AlarmOptions
    from cdk_sagemaker_llm.hosting.monitoring.metrics import (
        MetricOptions,
        VariantMetricOptions,
    )
    from cdk_sagemaker_llm.hosting.patterns.dashboard import LlmDashboard
    from cdk_sagemaker_llm.hosting.patterns.inference_component_endpoint import (
        InferenceComponentEndpoint,
    )
    from cdk_sagemaker_llm.hosting.patterns.llm_endpoint import LlmEndpoint
    from cdk_sagemaker_llm.hosting.roles.network import Network
    from cdk_sagemaker_llm.hosting.roles.statements import Statement
    from cdk_sagemaker_llm.hosting.scaling.counts import (
        ScalableCopyCount,
        ScalableInstanceCount,
    )
    from cdk_sagemaker_llm.hosting.scaling.stepping import ScalingStep, StepScaling
    from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase
    from cdk_sagemaker_llm.hosting.scaling.targets import ScalableTarget
    from cdk_sagemaker_llm.hosting.scaling.tracking import (
        BacklogScaling,
        TargetTrackingScaling,
    )
    from cdk_sagemaker_llm.hosting.updates.rollback import RollbackAlarms
    from cdk_sagemaker_llm.hosting.updates.rollout import (
        AllAtOnce,
        Canary,
        Linear,
        Rolling,
        Rollout,
    )
    from cdk_sagemaker_llm.hosting.variants.capacity import (
        CapacityReservation,
        InstanceCapacity,
        InstancePool,
        PrefixAwareRouting,
        RoutingStrategy,
    )
    from cdk_sagemaker_llm.hosting.variants.variant import (
        ManagedInstanceScaling,
        ProductionVariant,
        ScaleInPolicy,
        ScaleInStrategy,
    )
    from cdk_sagemaker_llm.hosting.vpc.private_access import PrivateAccess
    from cdk_sagemaker_llm.hosting.weights.staged_model import (
        BuildMetricOptions,
        StagedModel,
    )
    from cdk_sagemaker_llm.models import (
        Compilation,
        HuggingFaceModel,
        ModelSource,
        S3Model,
    )
    from cdk_sagemaker_llm.serving.base import (
        Accelerators,
        Container,
        Prepared,
        ServingConfiguration,
    )
    from cdk_sagemaker_llm.serving.custom import CustomContainer
    from cdk_sagemaker_llm.serving.engines.arguments import ArgumentValue
    from cdk_sagemaker_llm.serving.engines.base import ImageDistribution
    from cdk_sagemaker_llm.serving.engines.llama_cpp import CacheType, LlamaCpp
    from cdk_sagemaker_llm.serving.engines.sglang import Sglang
    from cdk_sagemaker_llm.serving.engines.text_embeddings import TextEmbeddings
    from cdk_sagemaker_llm.serving.engines.vllm import Vllm, VllmNeuron, VllmOmni
    from cdk_sagemaker_llm.serving.lmi.base import RopeScaling, SmoothQuant
    from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
    from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
    from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
    from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
    from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
    from cdk_sagemaker_llm.serving.lmi.vllm import LmiDist, LmiVllm
    from cdk_sagemaker_llm.serving.tgi.base import EnvironmentValue
    from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
    from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron
    from cdk_sagemaker_llm.validation import SageMakerLlmChecks

    __version__: str

__all__ = [
    "Accelerators",
    "AdapterInferenceComponent",
    "AlarmOptions",
    "AllAtOnce",
    "ArgumentValue",
    "Assumptions",
    "AsyncInference",
    "AsyncTopic",
    "AvailabilityZoneBalance",
    "BacklogScaling",
    "BuildMetricOptions",
    "CacheType",
    "Canary",
    "CapacityReservation",
    "CaptureMode",
    "Compilation",
    "Connection",
    "ConnectionParameter",
    "ConnectionParameterBase",
    "Container",
    "Copies",
    "CustomContainer",
    "DataCapture",
    "DeepSpeed",
    "Demand",
    "DraftModel",
    "Endpoint",
    "EndpointBase",
    "EndpointConfig",
    "EndpointConfigBase",
    "EndpointStatus",
    "EngineName",
    "EnvironmentValue",
    "Finding",
    "HuggingFaceModel",
    "ImageDistribution",
    "ImageRelease",
    "ImageSource",
    "InferenceComponent",
    "InferenceComponentBase",
    "InferenceComponentEndpoint",
    "InstanceCapacity",
    "InstancePool",
    "InstanceType",
    "Linear",
    "LlamaCpp",
    "LlmDashboard",
    "LlmEndpoint",
    "LmiDist",
    "LmiVllm",
    "LoraAdapter",
    "ManagedInstanceScaling",
    "MemoryTerms",
    "MetricOptions",
    "MirroredImage",
    "Model",
    "ModelArchitecture",
    "ModelBase",
    "ModelSource",
    "Network",
    "NeuronX",
    "Observability",
    "Outcome",
    "PlacementStrategy",
    "Plan",
    "PrefixAwareRouting",
    "Prepared",
    "PrivateAccess",
    "Processor",
    "ProductionVariant",
    "PropertyValue",
    "Registry",
    "Release",
    "Reserve",
    "ResourceRequirements",
    "RollbackAlarms",
    "Rolling",
    "Rollout",
    "RopeScaling",
    "RoutingStrategy",
    "S3Model",
    "SageMakerLlmChecks",
    "ScalableCopyCount",
    "ScalableInstanceCount",
    "ScalableTarget",
    "ScalableTargetBase",
    "ScaleInPolicy",
    "ScaleInStrategy",
    "ScalingStep",
    "Schema",
    "ServingArtifact",
    "ServingConfiguration",
    "ServingFolder",
    "Setting",
    "Severity",
    "Sglang",
    "ShadowVariant",
    "SmoothQuant",
    "StagedModel",
    "Statement",
    "StepScaling",
    "TargetTrackingScaling",
    "TensorRtLlm",
    "TextEmbeddings",
    "Tgi",
    "TgiNeuron",
    "Tier",
    "Units",
    "VariantMetricOptions",
    "Vllm",
    "VllmNeuron",
    "VllmOmni",
    "WeightFormat",
    "Windows",
    "choose",
    "find_image",
    "find_instance_type",
]

_HOMES = {
    "Accelerators": "serving.base",
    "AdapterInferenceComponent": "hosting.components.adapters",
    "AlarmOptions": "hosting.monitoring.alarms",
    "AllAtOnce": "hosting.updates.rollout",
    "ArgumentValue": "serving.engines.arguments",
    "Assumptions": "demand",
    "AsyncInference": "hosting.endpoints.asynchronous",
    "AsyncTopic": "hosting.endpoints.asynchronous",
    "AvailabilityZoneBalance": "hosting.components.component_checks",
    "BacklogScaling": "hosting.scaling.tracking",
    "BuildMetricOptions": "hosting.weights.staged_model",
    "CacheType": "serving.engines.llama_cpp",
    "Canary": "hosting.updates.rollout",
    "InstanceCapacity": "hosting.variants.capacity",
    "CapacityReservation": "hosting.variants.capacity",
    "CaptureMode": "hosting.endpoints.data_capture",
    "Compilation": "models",
    "Connection": "hosting.endpoints.connection",
    "ConnectionParameter": "hosting.endpoints.connection",
    "ConnectionParameterBase": "hosting.endpoints.connection",
    "Container": "serving.base",
    "Copies": "hosting.components.sizing",
    "CustomContainer": "serving.custom",
    "DataCapture": "hosting.endpoints.data_capture",
    "DeepSpeed": "serving.lmi.deepspeed",
    "Demand": "demand",
    "Endpoint": "hosting.endpoints.endpoint",
    "EndpointBase": "hosting.endpoints.endpoint_base",
    "EndpointConfig": "hosting.endpoints.endpoint_config",
    "EndpointConfigBase": "hosting.endpoints.endpoint_config",
    "EndpointStatus": "hosting.endpoints.events",
    "DraftModel": "demand",
    "EngineName": "demand",
    "EnvironmentValue": "serving.tgi.base",
    "Finding": "findings",
    "HuggingFaceModel": "models",
    "ImageDistribution": "serving.engines.base",
    "ImageRelease": "catalog.images",
    "ImageSource": "hosting.mirroring.sources",
    "InferenceComponent": "hosting.components.inference_component",
    "InferenceComponentBase": "hosting.components.component_base",
    "InferenceComponentEndpoint": "hosting.patterns.inference_component_endpoint",
    "InstancePool": "hosting.variants.capacity",
    "InstanceType": "catalog.instances",
    "Linear": "hosting.updates.rollout",
    "LlamaCpp": "serving.engines.llama_cpp",
    "LlmDashboard": "hosting.patterns.dashboard",
    "LlmEndpoint": "hosting.patterns.llm_endpoint",
    "LmiDist": "serving.lmi.vllm",
    "LmiVllm": "serving.lmi.vllm",
    "LoraAdapter": "hosting.components.adapters",
    "ManagedInstanceScaling": "hosting.variants.variant",
    "MemoryTerms": "fit.memory",
    "MetricOptions": "hosting.monitoring.metrics",
    "MirroredImage": "hosting.mirroring.mirrored_image",
    "Model": "hosting.models.model",
    "ModelArchitecture": "architectures.architecture",
    "ModelBase": "hosting.models.model",
    "ModelSource": "models",
    "Network": "hosting.roles.network",
    "NeuronX": "serving.lmi.neuronx",
    "Observability": "hosting.endpoints.endpoint_definition",
    "Outcome": "fit.memory",
    "PlacementStrategy": "hosting.components.component_checks",
    "Plan": "fit.plans",
    "PrefixAwareRouting": "hosting.variants.capacity",
    "Prepared": "serving.base",
    "PrivateAccess": "hosting.vpc.private_access",
    "Processor": "catalog.instances",
    "ProductionVariant": "hosting.variants.variant",
    "PropertyValue": "serving.lmi.properties",
    "Registry": "catalog.images",
    "Release": "fit.releases",
    "Reserve": "fit.releases",
    "ResourceRequirements": "fit.placement",
    "RollbackAlarms": "hosting.updates.rollback",
    "Rolling": "hosting.updates.rollout",
    "Rollout": "hosting.updates.rollout",
    "RopeScaling": "serving.lmi.base",
    "RoutingStrategy": "hosting.variants.capacity",
    "S3Model": "models",
    "SageMakerLlmChecks": "validation",
    "ScalableCopyCount": "hosting.scaling.counts",
    "ScalableInstanceCount": "hosting.scaling.counts",
    "ScalableTarget": "hosting.scaling.targets",
    "ScalableTargetBase": "hosting.scaling.target_base",
    "ScaleInPolicy": "hosting.variants.variant",
    "ScaleInStrategy": "hosting.variants.variant",
    "ScalingStep": "hosting.scaling.stepping",
    "Schema": "client.requests",
    "ServingArtifact": "hosting.models.artifact",
    "ServingConfiguration": "serving.base",
    "ServingFolder": "serving.lmi.folder",
    "Setting": "fit.setting",
    "Severity": "findings",
    "Sglang": "serving.engines.sglang",
    "ShadowVariant": "hosting.endpoints.shadow",
    "SmoothQuant": "serving.lmi.base",
    "StagedModel": "hosting.weights.staged_model",
    "Statement": "hosting.roles.statements",
    "StepScaling": "hosting.scaling.stepping",
    "TargetTrackingScaling": "hosting.scaling.tracking",
    "TensorRtLlm": "serving.lmi.tensorrt_llm",
    "TextEmbeddings": "serving.engines.text_embeddings",
    "Tgi": "serving.tgi.gpu",
    "TgiNeuron": "serving.tgi.neuron",
    "Tier": "fit.releases",
    "Units": "fit.placement",
    "VariantMetricOptions": "hosting.monitoring.metrics",
    "Vllm": "serving.engines.vllm",
    "VllmNeuron": "serving.engines.vllm",
    "VllmOmni": "serving.engines.vllm",
    "WeightFormat": "architectures.weight_format",
    "Windows": "fit.releases",
    "choose": "choosing.choosing",
    "find_image": "catalog.images",
    "find_instance_type": "catalog.instances",
}

_load, __dir__ = lazily(__name__, _HOMES)
# Of no use to who imports from here.
del TYPE_CHECKING, lazily


def __getattr__(name: str) -> object:
    if name != "__version__":
        return _load(name)
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and seldom asked for

    try:
        return version("cdk-sagemaker-llm")
    except PackageNotFoundError:
        # A copy of its folder, which pip did not install.
        return "unknown"
