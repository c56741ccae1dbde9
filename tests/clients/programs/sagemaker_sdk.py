"""
The SageMaker Python SDK, version 2: from the weights in S3 to nothing left.
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
from sagemaker.compute_resource_requirements.resource_requirements import (
    ResourceRequirements,
)
from sagemaker.deserializers import JSONDeserializer
from sagemaker.djl_inference import DJLModel
from sagemaker.enums import EndpointType
from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
from sagemaker.iterators import LineIterator
from sagemaker.model import Model
from sagemaker.predictor import Predictor
from sagemaker.serializers import JSONSerializer
from sagemaker.utils import name_from_base

QUESTION = {"inputs": "Who is Roger Federer?", "parameters": {"max_new_tokens": 12}}
INSTANCE = "ml.g5.12xlarge"
JSON: dict[str, Any] = {
    "serializer": JSONSerializer(),
    "deserializer": JSONDeserializer(),
}


def main(image: str, role: str) -> None:
    """
    Deploy in four ways and print what each one answered and left.
    """
    _poll_often()
    # Without a bucket it asks STS for the account, at its address on the internet,
    # whatever AWS_ENDPOINT_URL says.
    session = sagemaker.Session(default_bucket=name_from_base("sdk"))
    before = _present(session)
    report = {
        "model": a_model(session, image, role),
        "djl": a_package(
            DJLModel(model_id="a/b", role=role, sagemaker_session=session)
        ),
        "hugging_face": a_package(
            HuggingFaceModel(
                image_uri=get_huggingface_llm_image_uri("huggingface", session),
                env={"HF_MODEL_ID": "a/b"},
                role=role,
                sagemaker_session=session,
            )
        ),
        "component": a_component(session, image, role),
        "left": sorted(_present(session) - before),
    }
    # On a line of its own: the SDK's dots for progress end without one.
    print(f"\n{json.dumps(report)}")


def a_model(session: Any, image: str, role: str) -> dict[str, Any]:
    """
    Upload an artifact, deploy it, ask it, change it, delete everything.
    """
    data = session.upload_data(str(_artifact()), key_prefix="weights")
    model = Model(
        image_uri=image,
        model_data=data,
        role=role,
        predictor_cls=Predictor,
        sagemaker_session=session,
    )
    predictor = model.deploy(
        initial_instance_count=1,
        instance_type=INSTANCE,
        tags=[{"Key": "team", "Value": "a"}],
        volume_size=64,
        **JSON,
    )
    answer, lines = _ask(predictor)
    predictor.update_endpoint(initial_instance_count=2, instance_type=INSTANCE)
    counts = _counts(session, predictor)
    again, _ = _ask(predictor)
    # Both as the SDK's documentation has them; the second deletes the configuration,
    # and then the endpoint that runs on it.
    predictor.delete_model()
    predictor.delete_endpoint()
    return {"answer": answer, "lines": lines, "counts": counts, "again": again}


def a_package(model: Any) -> dict[str, Any]:
    """
    Deploy a model whose image the SDK chooses.
    """
    predictor = model.deploy(initial_instance_count=1, instance_type=INSTANCE)
    answer, lines = _ask(predictor)
    predictor.delete_model()
    predictor.delete_endpoint()
    return {"answer": answer, "lines": lines, "image": model.image_uri}


def a_component(session: Any, image: str, role: str) -> dict[str, Any]:
    """
    Deploy two models on one endpoint, change a copy count, delete everything.
    """
    endpoint = name_from_base("shared")
    first, second = (
        Model(
            image_uri=image,
            role=role,
            predictor_cls=Predictor,
            sagemaker_session=session,
        )
        for _ in range(2)
    )
    needs = {"num_accelerators": 1, "memory": 1024, "copies": 1}
    settings = {
        "instance_type": INSTANCE,
        "initial_instance_count": 1,
        "endpoint_type": EndpointType.INFERENCE_COMPONENT_BASED,
        "endpoint_name": endpoint,
        "resources": ResourceRequirements(requests=needs),
        **JSON,
    }
    scaling = {"MinInstanceCount": 1, "MaxInstanceCount": 2}
    one = first.deploy(managed_instance_scaling=scaling, **settings)
    two = second.deploy(**settings)
    answer, lines = _ask(one)
    other, _ = _ask(two)
    two.update_predictor(
        resources=ResourceRequirements(requests={**needs, "copies": 2})
    )
    described = session.describe_inference_component(two.component_name)
    related, _ = one.list_related_models()
    again, _ = _ask(two)
    for predictor in (one, two):
        # In this order: it asks the component for its model's name.
        predictor.delete_model()
        predictor.delete_predictor(wait=True)
    one.delete_endpoint()
    return {
        "answer": answer,
        "lines": lines,
        "other": other,
        "again": again,
        "copies": described["RuntimeConfig"]["CurrentCopyCount"],
        "related": len(related),
    }


def _poll_often() -> None:
    # The SDK looks every half minute, whatever is asked of it: here twice a second.
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(float(seconds), 0.5))


def _ask(predictor: Any) -> tuple[Any, list[str]]:
    answer = predictor.predict(QUESTION)
    stream = predictor.predict_stream(
        {**QUESTION, "stream": True}, iterator=LineIterator
    )
    return answer, [line.decode() for line in stream]


def _counts(session: Any, predictor: Any) -> dict[str, int]:
    described = session.sagemaker_client.describe_endpoint(
        EndpointName=predictor.endpoint_name
    )
    (variant,) = described["ProductionVariants"]
    return {
        "current": variant["CurrentInstanceCount"],
        "desired": variant["DesiredInstanceCount"],
    }


def _present(session: Any) -> set[str]:
    client = session.sagemaker_client
    kinds = ("endpoints", "endpoint_configs", "models", "inference_components")
    return {
        value
        for kind in kinds
        for page in client.get_paginator(f"list_{kind}").paginate()
        for items in page.values()
        if isinstance(items, list)
        for item in items
        for name, value in item.items()
        if name.endswith("Arn")
    }


def _artifact() -> Path:
    path = Path(tempfile.mkdtemp()) / "model.tar.gz"
    text = b"option.max_rolling_batch_size=16\n"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("serving.properties")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return path


if __name__ == "__main__":
    main(*sys.argv[1:])
