"""
Endpoints by the SageMaker Python SDK, version 2, of a shape each; their names are
printed.

Its arguments are an image of LMI and a role.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

# Before the import, which says else that there is a version 3.
os.environ["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"

import sagemaker
from sagemaker.async_inference import AsyncInferenceConfig
from sagemaker.compute_resource_requirements.resource_requirements import (
    ResourceRequirements,
)
from sagemaker.djl_inference import DJLModel
from sagemaker.enums import EndpointType
from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
from sagemaker.model import Model
from sagemaker.model_monitor import DataCaptureConfig

INSTANCE = "ml.g5.12xlarge"
BUCKET = "artifacts-of-sdk-endpoints"


def main(image: str, role: str) -> None:
    """
    Deploy each way, and leave it.
    """
    # The SDK looks every half minute, whatever is asked of it: here twice a second.
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(float(seconds), 0.5))
    session = sagemaker.Session(default_bucket=BUCKET)
    common: dict[str, Any] = {"role": role, "sagemaker_session": session}
    where: dict[str, Any] = {"instance_type": INSTANCE, "initial_instance_count": 1}
    HuggingFaceModel(
        image_uri=get_huggingface_llm_image_uri("huggingface", session),
        env={
            "HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.3",
            "SM_NUM_GPUS": json.dumps(4),
            "MAX_INPUT_LENGTH": json.dumps(4095),
            "MAX_TOTAL_TOKENS": json.dumps(4096),
        },
        **common,
    ).deploy(
        endpoint_name="sdk-hugging-face",
        container_startup_health_check_timeout=900,
        **where,
    )
    Model(
        image_uri=image,
        model_data=session.upload_data(str(_artifact()), key_prefix="weights"),
        enable_network_isolation=True,
        vpc_config=_network(session),
        **common,
    ).deploy(
        endpoint_name="sdk-artifact",
        tags=[{"Key": "team", "Value": "a"}],
        volume_size=64,
        model_data_download_timeout=1200,
        **where,
    )
    DJLModel(model_id="Qwen/Qwen2.5-7B-Instruct", **common).deploy(
        endpoint_name="sdk-djl", **where
    )
    Model(
        image_uri=image, env={"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct"}, **common
    ).deploy(
        endpoint_name="sdk-queued",
        async_inference_config=AsyncInferenceConfig(
            output_path=f"s3://{BUCKET}/answers",
            max_concurrent_invocations_per_instance=4,
        ),
        data_capture_config=DataCaptureConfig(
            enable_capture=True,
            sampling_percentage=50,
            destination_s3_uri=f"s3://{BUCKET}/captured",
        ),
        **where,
    )
    for number in (1, 2):
        Model(
            image_uri=image, env={"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct"}, **common
        ).deploy(
            endpoint_name="sdk-shared",
            endpoint_type=EndpointType.INFERENCE_COMPONENT_BASED,
            inference_component_name=f"sdk-shared-{number}",
            resources=ResourceRequirements(
                requests={"num_accelerators": 1, "memory": 1024 * number, "copies": 1}
            ),
            managed_instance_scaling={"MinInstanceCount": 1, "MaxInstanceCount": 2},
            **where,
        )
    found = session.sagemaker_client.list_endpoints(NameContains="sdk-")["Endpoints"]
    names = sorted(one["EndpointName"] for one in found)
    # On a line of its own: the SDK's dots for progress end without one.
    print(f"\n{json.dumps({'endpoints': names})}")


def _network(session: Any) -> dict[str, Any]:
    ec2 = session.boto_session.client("ec2")
    subnets = ec2.describe_subnets()["Subnets"][:2]
    made = ec2.create_security_group(
        GroupName="sdk-artifact", Description="models", VpcId=subnets[0]["VpcId"]
    )
    return {
        "Subnets": [one["SubnetId"] for one in subnets],
        "SecurityGroupIds": [made["GroupId"]],
    }


def _artifact() -> Path:
    path = Path(tempfile.mkdtemp()) / "model.tar.gz"
    text = b"option.model_id=/opt/ml/model\noption.max_rolling_batch_size=16\n"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("serving.properties")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return path


if __name__ == "__main__":
    main(*sys.argv[1:])
