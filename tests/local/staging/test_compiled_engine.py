"""
Engines compiled ahead of time, deployed: the embedded AWS runs
the job, where an emulation of LMI's script holds its command line to the real one's.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import boto3
import pytest

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import OF_INIT, Deployer, example, synthesised
from tests.local.staging.hub_server import REVISION, Hub, Repository
from tests.local.staging.test_worker import FILES, STAGED, contents
from tests.secrecy import TOKEN

APP = Path(__file__).with_name("staged_app.py")
MISTRAL = "mistralai/Mistral-7B-v0.1"
# LMI's script takes a tokenizer along, of which it asks this file.
TOKENIZER = {"tokenizer_config.json": b"{}"}
COMMIT = "27d67f1b5f57dc0953326b2601d68371d40ea8da"


@pytest.fixture(name="s3")
def _s3(embedded_aws: EmbeddedAws) -> Untyped:
    return embedded_aws.client("s3")


def test_the_example_serves_what_it_compiled(
    embedded_aws: EmbeddedAws, deployer: Deployer, s3: Untyped, tmp_path: Path
) -> None:
    """
    Weights and engines lie beside each other, each with its manifest; nothing of the
    job is left but its note and its log; and the endpoint answers; in an app that
    ``cdk init`` has made.
    """
    first = example("compiled_engine", tmp_path / "first", **OF_INIT)
    shared = deployer.deploy(first, "Engines").checked().outputs["Engines"]
    secret, bucket = shared["TokenSecret"], shared["BucketName"]
    embedded_aws.client("secretsmanager").put_secret_value(
        SecretId=secret, SecretString=TOKEN
    )
    gated = Repository({**FILES, **TOKENIZER}, token=TOKEN, revision=COMMIT)
    with Hub({MISTRAL: gated}) as hub:
        app = example(
            "compiled_engine", tmp_path / "second", hub_url=hub.url, **OF_INIT
        )
        told = deployer.deploy(app, "Mistral").checked().outputs["Mistral"]
    weights = f"models/mistralai--Mistral-7B-v0.1/{COMMIT}"
    found = contents(s3, bucket)
    (manifest,) = (
        key for key in found if re.fullmatch(rf"{weights}-tensorrt-llm-\w+\.json", key)
    )
    base = manifest.removesuffix(".json")
    said = json.loads(found[manifest])
    made = {key.removeprefix(f"{base}/") for key in found if key.startswith(f"{base}/")}
    left = {key.removeprefix(base) for key in found if key.startswith(f"{base}.jobs/")}
    (name,) = {re.split("[/.]", path.removeprefix(".jobs/"))[0] for path in left}
    job = embedded_aws.client("sagemaker").describe_processing_job(
        ProcessingJobName=name
    )

    assert {f"{weights}/{path}" for path in STAGED} <= set(found)
    assert set(said["files"]) == made
    assert len([path for path in made if path.endswith(".engine")]) == 4
    assert said["compiled"] == {
        "image": "0.30.0",
        "accelerator_model": "A10G",
        "tensor_parallel_degree": 4,
        "options": {
            "option.max_input_len": "3072",
            "option.max_output_len": "1024",
            "option.max_rolling_batch_size": "32",
        },
    }
    assert job["ProcessingJobStatus"] == "Completed"
    assert left == {
        f".jobs/{name}.json",
        f".jobs/{name}/properties/serving.properties",
    }
    client = LlmClient(
        told["EndpointName"],
        session=boto3.Session("test", "test", region_name="us-east-1"),
        endpoint_url=embedded_aws.url,
    )
    assert client.generate("Who is Roger Federer?", max_new_tokens=4).text
    deployer.destroy(app, "Mistral").checked()
    # No stack wants them any more; what the job noted stays.
    assert {key for key in contents(s3, bucket) if ".jobs/" not in key} == set()


@pytest.mark.whole
def test_a_compilation_that_fails_is_told_to_the_stack(
    deployer: Deployer, s3: Untyped, tmp_path: Path
) -> None:
    """
    With the job's own reason and where its log is; no endpoint, and no manifest.
    """
    s3.create_bucket(Bucket="compile-fails")
    # LMI's script finds no tokenizer beside these weights.
    with Hub({"tiny/model": Repository(FILES)}) as hub:
        said = {
            "stack": "CompileFails",
            "bucket": "compile-fails",
            "model": "tiny/model",
            "revision": REVISION,
            "hub": hub.url,
            "compile": "0.30.0",
            "endpoint": True,
        }
        app = synthesised(APP, tmp_path, said=json.dumps(said))
        failed = deployer.deploy(app)

    assert not failed.succeeded
    assert "ended as Failed: AlgorithmError" in failed.events
    assert "in /aws/sagemaker/ProcessingJobs" in failed.events
    assert "AWS::SageMaker::Model " not in failed.events
    assert not [
        key
        for key in contents(s3, "compile-fails")
        if "-tensorrt-llm-" in key and key.endswith(".json") and ".jobs/" not in key
    ]


@pytest.mark.whole
def test_graphs_of_neuron_are_served(
    embedded_aws: EmbeddedAws, deployer: Deployer, s3: Untyped, tmp_path: Path
) -> None:
    """
    A training job writes them, and the endpoint that loads them answers.
    """
    s3.create_bucket(Bucket="compile-graphs")
    config = b'{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}'
    files = {**FILES, **TOKENIZER, "config.json": config}
    with Hub({"tiny/model": Repository(files)}) as hub:
        said = {
            "stack": "CompileGraphs",
            "bucket": "compile-graphs",
            "model": "tiny/model",
            "revision": REVISION,
            "hub": hub.url,
            "graphs": "0.29.0",
            "degree": 2,
            "endpoint": True,
        }
        app = synthesised(APP, tmp_path, said=json.dumps(said))
        deployer.deploy(app).checked()
        found = contents(s3, "compile-graphs")
        resources = embedded_aws.client("cloudformation").describe_stack_resources(
            StackName="CompileGraphs"
        )["StackResources"]
        (endpoint,) = (
            one["PhysicalResourceId"].rpartition("/")[2]
            for one in resources
            if one["ResourceType"] == "AWS::SageMaker::Endpoint"
        )
        client = LlmClient(
            endpoint,
            session=boto3.Session("test", "test", region_name="us-east-1"),
            endpoint_url=embedded_aws.url,
        )
        answer = client.generate("Who is Roger Federer?", max_new_tokens=4).text
        deployer.destroy(app).checked()
    (manifest,) = (
        key
        for key in found
        if re.fullmatch(rf"models/tiny--model/{REVISION}-neuronx-\w+\.json", key)
    )
    base = manifest.removesuffix(".json")

    said = json.loads(found[manifest])
    assert said["compiled"]["accelerator_model"] == "Trainium"
    assert said["compiled"]["tensor_parallel_degree"] == 2
    assert said["compiled"]["options"]["option.model_loader"] == "tnx"
    assert {f"{base}/{path}" for path in said["files"]} == {
        key for key in found if key.startswith(f"{base}/")
    }
    assert [path for path in said["files"] if path.endswith(".neff")]
    assert answer
