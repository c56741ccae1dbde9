"""
What SageMaker's Python SDK asks for: as its versions 2.245 and 3.27 do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.adoption.deployment import Open
from tests.notebooks import read, remarks

START = """
ROLE = "arn:aws:iam::111111111111:role/hosting"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:0.30.0-gpu-py312"
"""


def requests(folder: Path, text: str) -> dict[str, Any]:
    """
    Return what a script asks for, by the operation.
    """
    found = read(folder, START + text)
    return {one.operation: one.parameters for one in found.requests}


def test_settings_of_a_variant(tmp_path: Path) -> None:
    """
    Each has its field.
    """
    found = requests(
        tmp_path,
        """
Model(image_uri=IMAGE, role=ROLE, name="a", vpc_config={
    "Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"],
}, enable_network_isolation=True).deploy(
    initial_instance_count=2,
    instance_type="ml.g6.xlarge",
    endpoint_name="a",
    volume_size=256,
    model_data_download_timeout=1200,
    container_startup_health_check_timeout=900,
    inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1",
    kms_key="key",
    tags={"team": "chat"},
    data_capture_config=DataCaptureConfig(
        enable_capture=True, sampling_percentage=0, destination_s3_uri="s3://a/b",
        json_content_types=["application/json"],
    ),
)
""",
    )
    assert found["CreateModel"]["VpcConfig"] == {
        "Subnets": ["subnet-1"],
        "SecurityGroupIds": ["sg-1"],
    }
    assert found["CreateModel"]["EnableNetworkIsolation"] is True
    assert found["CreateEndpointConfig"] == {
        "EndpointConfigName": "a",
        "ProductionVariants": [
            {
                "VariantName": "AllTraffic",
                "ModelName": "a",
                "InitialVariantWeight": 1,
                "InitialInstanceCount": 2,
                "InstanceType": "ml.g6.xlarge",
                "VolumeSizeInGB": 256,
                "ModelDataDownloadTimeoutInSeconds": 1200,
                "ContainerStartupHealthCheckTimeoutInSeconds": 900,
                "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-3-1",
            }
        ],
        "KmsKeyId": "key",
        "DataCaptureConfig": {
            "EnableCapture": True,
            "InitialSamplingPercentage": 0,
            "DestinationS3Uri": "s3://a/b",
            "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
            "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
        },
        "Tags": [{"Key": "team", "Value": "chat"}],
    }
    assert found["CreateEndpoint"]["Tags"] == [{"Key": "team", "Value": "chat"}]


def test_a_component_of_version_3(tmp_path: Path) -> None:
    """
    Resources as ``inference_config`` are those of a component.
    """
    found = requests(
        tmp_path,
        """
builder = ModelBuilder(
    image_uri=IMAGE, env_vars={"A": "1"}, role_arn=ROLE,
    compute=Compute(instance_type="ml.g6.xlarge"),
)
builder.build(model_name="a")
builder.deploy(
    endpoint_name="e",
    inference_config=ResourceRequirements(
        requests={"num_accelerators": 1, "memory": 1024}
    ),
    inference_component_name="c",
)
""",
    )
    (variant,) = found["CreateEndpointConfig"]["ProductionVariants"]
    assert "ModelName" not in variant
    assert variant["InstanceType"] == "ml.g6.xlarge"
    assert found["CreateEndpointConfig"]["ExecutionRoleArn"].endswith("role/hosting")
    assert found["CreateInferenceComponent"] == {
        "InferenceComponentName": "c",
        "EndpointName": "e",
        "VariantName": "AllTraffic",
        "Specification": {
            "ModelName": "a",
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": 1,
                "MinMemoryRequiredInMb": 1024,
            },
        },
        "RuntimeConfig": {"CopyCount": 1},
    }


def test_resources_of_version_3(tmp_path: Path) -> None:
    """
    ``sagemaker.core.resources`` says the same in another spelling.
    """
    found = requests(
        tmp_path,
        """
model = Model.create(
    model_name="a",
    primary_container=ContainerDefinition(image=IMAGE, environment={"my_own": "1"}),
    execution_role_arn=ROLE,
    session=boto_session,
    region="us-east-1",
)
EndpointConfig.create(
    endpoint_config_name="a",
    production_variants=[ProductionVariant(
        variant_name="one", model_name=model, instance_type="ml.g6.xlarge",
        initial_instance_count=1, volume_size_in_gb=256,
        container_startup_health_check_timeout_in_seconds=600,
    )],
)
Endpoint.create(endpoint_name="a", endpoint_config_name="a")
""",
    )
    assert found == {
        "CreateModel": {
            "ModelName": "a",
            "PrimaryContainer": {
                "Image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
                "vllm:0.30.0-gpu-py312",
                "Environment": {"my_own": "1"},
            },
            "ExecutionRoleArn": "arn:aws:iam::111111111111:role/hosting",
        },
        "CreateEndpointConfig": {
            "EndpointConfigName": "a",
            "ProductionVariants": [
                {
                    "VariantName": "one",
                    "ModelName": "a",
                    "InstanceType": "ml.g6.xlarge",
                    "InitialInstanceCount": 1,
                    "VolumeSizeInGB": 256,
                    "ContainerStartupHealthCheckTimeoutInSeconds": 600,
                }
            ],
        },
        "CreateEndpoint": {"EndpointName": "a", "EndpointConfigName": "a"},
    }


def test_a_session_of_version_2(tmp_path: Path) -> None:
    """
    Its helpers are followed as well.
    """
    found = requests(
        tmp_path,
        """
session.create_model("a", ROLE, container_def(IMAGE, env={"A": "1"}))
session.create_endpoint_config("a", "a", 1, "ml.g6.xlarge")
session.create_endpoint("e", "a")
""",
    )
    assert found["CreateModel"]["PrimaryContainer"]["Environment"] == {"A": "1"}
    (variant,) = found["CreateEndpointConfig"]["ProductionVariants"]
    assert (variant["ModelName"], variant["InstanceType"]) == ("a", "ml.g6.xlarge")
    assert found["CreateEndpoint"] == {"EndpointName": "e", "EndpointConfigName": "a"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('image_uris.retrieve("djl-lmi", region, "0.30.0")', "0.30.0-lmi12.0.0-cu124"),
        ('image_uris.retrieve(framework="djl-lmi", version="0.30.0", region=region)',
         "0.30.0-lmi12.0.0-cu124"),
        ('get_huggingface_llm_image_uri("huggingface", version="2.0.2")',
         "2.3.0-tgi2.0.2-gpu-py310-cu121-ubuntu22.04"),
        ('get_huggingface_llm_image_uri("lmi", version="0.27.0")',
         "0.27.0-deepspeed0.12.6-cu121"),
    ],
)  # fmt: skip
def test_images(call: str, expected: str, tmp_path: Path) -> None:
    """
    An image is looked up in this library's catalogue, under the SDK's names.
    """
    text = f'Model(image_uri={call}, role=ROLE).deploy(1, "ml.g6.xlarge")'
    image = requests(tmp_path, text)["CreateModel"]["PrimaryContainer"]["Image"]
    assert image.rpartition(":")[2] == expected


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('image_uris.retrieve("huggingface", region, "4.37.0")',
         "image 'huggingface' is not in this library's catalogue"),
        ('image_uris.retrieve(region=None, framework=None, model_id="a-b")',
         "which image JumpStart has for a-b only AWS knows"),
        ('image_uris.retrieve("djl-lmi", region, "0.30.9")',
         "image djl-lmi has no version '0.30.9'; use 0.30.0"),
    ],
)  # fmt: skip
def test_images_that_are_not_known(call: str, why: str, tmp_path: Path) -> None:
    """
    One that is not there is an argument, which says why.
    """
    text = f'Model(image_uri={call}, role=ROLE).deploy(1, "ml.g6.xlarge")'
    image = requests(tmp_path, text)["CreateModel"]["PrimaryContainer"]["Image"]
    assert isinstance(image, Open)
    assert image.name == "image_uri"
    assert image.why.startswith(why)


def test_a_version_that_is_not_named(tmp_path: Path) -> None:
    """
    The newest that is known is taken, and told.
    """
    found = read(
        tmp_path,
        START
        + """
image = get_huggingface_llm_image_uri("huggingface")
Model(image_uri=image, role=ROLE).deploy(1, "ml.g6.xlarge", endpoint_name="a")
""",
    )
    assert remarks(found) == [
        ("line 5", "no version of huggingface-llm is named: the app has 3.3.6")
    ]


def test_what_the_sdk_adds_when_it_runs(tmp_path: Path) -> None:
    """
    Code that it packs, and variables that a builder reads from a model, are told.
    """
    found = read(
        tmp_path,
        START
        + """
HuggingFaceModel(
    image_uri=IMAGE, role=ROLE, entry_point="inference.py", source_dir="code",
).deploy(1, "ml.g6.xlarge", endpoint_name="a")
ModelBuilder(
    model="Qwen/Qwen3-8B", image_uri=IMAGE, role_arn=ROLE,
).build().deploy(endpoint_name="b", instance_type="ml.g6.xlarge")
ModelBuilder(model=load(), image_uri=IMAGE, role_arn=ROLE).build().deploy("c")
ModelBuilder(model="meta-llama-3-8b", image_uri=IMAGE).build().deploy("d")
ModelBuilder(model=load(), mode=Mode.IN_PROCESS).build().deploy("e")
""",
    )
    code = "put that code into files= of the container"
    live = "`sagemaker-llm adopt` reads them from the endpoint when it runs"
    assert remarks(found) == [
        (
            "line 4",
            (
                "the SDK packs entry_point and source_dir into the model's tarball "
                f"when it runs: {code}"
            ),
        ),
        (
            "line 7",
            (
                "ModelBuilder adds variables that it reads from the model's "
                f"configuration: {live}"
            ),
        ),
        (
            "line 10",
            (
                "ModelBuilder packs the object that it is given when it runs: "
                f"{code.replace('that code', 'its code')}"
            ),
        ),
        (
            "line 11",
            (
                "image, weights and variables of meta-llama-3-8b in JumpStart only AWS "
                f"knows: {live}"
            ),
        ),
        ("line 12", "Mode.IN_PROCESS deploys nothing to AWS"),
    ]
    names = [one.parameters["EndpointName"] for one in found.of("CreateEndpoint")]
    assert names == ["a", "b", "c"]
