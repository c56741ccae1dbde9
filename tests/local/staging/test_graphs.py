"""
Graphs of NeuronX in the embedded AWS: LMI's script in a training job, what the function
makes of its end, and containers that load them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import NEURONX
from cdk_sagemaker_llm.staging import jobs, starting
from tests.local.hosting_requests import (
    REGISTRY,
    make_config,
    make_endpoint,
    make_model,
)
from tests.local.staging.listener import Told
from tests.local.staging.test_ends import BASE, TOKEN
from tests.local.staging.test_ends import Bench as EngineBench
from tests.local.staging.test_worker import contents

NEURON = f"{REGISTRY}/djl-inference:0.29.0-neuronx-sdk2.19.1"
NEURON_27 = f"{REGISTRY}/djl-inference:0.27.0-neuronx-sdk2.18.1"
NEURON_30 = f"{REGISTRY}/djl-inference:0.30.0-neuronx-sdk2.20.1"
PROPERTIES = "engine=Python\noption.n_positions=512\noption.model_loader=tnx\n"


class Bench(EngineBench):
    """
    A bucket with weights, and what a stack wants to be compiled for Trainium.
    """

    def run(self, **more: Any) -> tuple[Untyped, list[str]]:  # noqa: ANN401 - of an order
        """
        Compile, have the function told of the end, and return the job and its log.
        """
        neuron = {
            "image": NEURON,
            "instance_type": "ml.trn1.32xlarge",
            "arguments": NEURONX.command("0.29.0", 8),
            "folder": NEURONX.folder,
            "needed": NEURONX.needed,
            "properties": PROPERTIES,
        }
        order = self.order("training", **{**neuron, **more})
        name = f"{order['name']}-{TOKEN}"
        jobs.start(self.wanted(order), TOKEN)
        detail = {"TrainingJobName": name}
        starting.handler({"source": "aws.sagemaker", "detail": detail}, None)
        sagemaker = self.aws.client("sagemaker")
        job = sagemaker.describe_training_job(TrainingJobName=name)
        return job, self._log(name)

    def _log(self, name: str) -> list[str]:
        logs, group = self.aws.client("logs"), "/aws/sagemaker/TrainingJobs"
        (stream,) = logs.describe_log_streams(
            logGroupName=group, logStreamNamePrefix=name
        )["logStreams"]
        events = logs.get_log_events(
            logGroupName=group, logStreamName=stream["logStreamName"]
        )
        return [event["message"] for event in events["events"]]

    def placed(self) -> dict[str, bytes]:
        """
        Return what is in place.
        """
        every = contents(self.s3, self.bucket)
        return {k: body for k, body in every.items() if k.startswith(f"{BASE}/")}

    def told_status(self) -> str:
        """
        Return what the wait condition was told.
        """
        (heard,) = self.told.at("/handle")
        return str(heard["Status"])


@pytest.fixture(name="bench")
def _bench(in_aws: EmbeddedAws, told: Told) -> Bench:
    return Bench(in_aws, told)


@pytest.mark.parametrize(
    ("image", "weights"),
    [(NEURON, "checkpoint"), (NEURON_27, "checkpoint"), (NEURON_30, "compiled")],
)
def test_what_the_script_wrote_is_put_in_place(
    bench: Bench, image: str, weights: str
) -> None:
    """
    From the folder that it makes below the job's own: the model's config.json says what
    it was compiled for, graphs and weights lie in folders of their own.
    """
    job, log = bench.run(image=image)
    found = bench.placed()
    names = {key.removeprefix(f"{BASE}/") for key in found}
    (graph,) = (name for name in names if name.endswith(".neff"))

    assert job["TrainingJobStatus"] == "Completed", log
    assert bench.told_status() == "SUCCESS"
    assert names == {
        "config.json",
        "tokenizer_config.json",
        "serving.properties",
        f"{weights}/model.safetensors",
        "compiled/VERSION",
        graph,
    }
    config = json.loads(found[f"{BASE}/config.json"])
    assert config["model_type"] == "llama"
    assert config["neuron"]["num_cores"] == 8
    assert config["neuron"]["n_positions"] == "512"
    kept = found[f"{BASE}/serving.properties"].decode().splitlines()
    assert kept == [*PROPERTIES.splitlines(), "option.tensor_parallel_degree=8"]
    told = json.loads(found[f"{BASE}/{graph}"])
    assert (told["device"], told["cores"]) == ("Trainium", 8)
    assert (told["image"], told["shape"]["n_positions"]) == (
        image.rpartition(":")[2],
        "512",
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"arguments": [*NEURONX.command("0.29.0", 8), "--fast"]}, "--fast"),
        ({"arguments": NEURONX.command("0.29.0", 33)}, "33 does not fit 32 NeuronCore"),
        ({"arguments": NEURONX.command("0.29.0", 0)}, "0 does not fit 32 NeuronCores"),
        ({"instance_type": "ml.g5.12xlarge"}, "8 does not fit 0 NeuronCores"),
        (
            {
                "image": NEURON_27,
                "arguments": [*NEURONX.command("0.27.0", 8), "--quantization", "awq"],
            },
            "unrecognized arguments: --quantization awq",
        ),
    ],
    ids=str,
)
def test_what_the_script_refuses_fails_the_job(
    bench: Bench, more: dict[str, Any], words: str
) -> None:
    """
    The log says why; nothing is put in place.
    """
    job, log = bench.run(**more)

    assert job["TrainingJobStatus"] == "Failed"
    assert words in " ".join(log)
    assert bench.told_status() == "FAILURE"
    assert bench.placed() == {}


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ("config.json", "does not appear to have a file named config.json"),
        ("tokenizer_config.json", "Can't load tokenizer for '/opt/ml/input/data/model"),
        ("model.safetensors", "no file named model.safetensors found"),
    ],
)
def test_what_weights_lack_fails_the_job(bench: Bench, gone: str, words: str) -> None:
    """
    Each file that the script loads.
    """
    bench.s3.delete_object(Bucket=bench.bucket, Key=f"weights/{gone}")
    job, log = bench.run()

    assert job["TrainingJobStatus"] == "Failed"
    assert words in " ".join(log)


def test_a_kind_of_model_that_no_loader_has_fails_the_job(bench: Bench) -> None:
    """
    Transformers-NeuronX has eight.
    """
    bench.put("weights/config.json", b'{"model_type": "falcon"}')
    job, log = bench.run()

    assert job["TrainingJobStatus"] == "Failed"
    assert "Unsupported model: 'falcon'" in " ".join(log)


@pytest.mark.parametrize(
    "more",
    [
        {"properties": "option.n_positions=512\n"},
        {"properties": "engine=MPI\n"},
        {"arguments": ["partition", "--model-dir", "{input}/properties"]},
    ],
    ids=str,
)
def test_a_script_that_ends_well_without_graphs_is_a_failure(
    bench: Bench, more: dict[str, Any]
) -> None:
    """
    It says what is missing and exits with 0.
    """
    job, log = bench.run(**more)

    assert job["TrainingJobStatus"] == "Completed"
    assert "Please specify" in " ".join(log)
    (heard,) = bench.told.at("/handle")
    assert heard["Status"] == "FAILURE"
    assert heard["Reason"].endswith("wrote no compiled/*, but nothing")


@pytest.mark.parametrize(
    ("more", "loads"),
    [
        ({}, True),
        ({"OPTION_N_POSITIONS": "1024"}, False),
        ({"OPTION_TENSOR_PARALLEL_DEGREE": "4"}, False),
        ({"OPTION_MAX_ROLLING_BATCH_SIZE": "32"}, True),
        ({"OPTION_MAX_ROLLING_BATCH_SIZE": "4"}, False),
        ({"image": NEURON_30}, False),
        ({"instance_type": "ml.inf2.48xlarge"}, False),
        ({"OPTION_PREDICT_TIMEOUT": "60"}, True),
        # It compiles by itself what is on the Hub.
        ({"OPTION_MODEL_ID": "org/name"}, True),
        # All cores are meant, and it was compiled for eight.
        ({"OPTION_TENSOR_PARALLEL_DEGREE": "max"}, False),
        ({"OPTION_DTYPE": "fp16"}, True),
        ({"OPTION_DTYPE": "bf16"}, False),
        ({"OPTION_QUANTIZE": "static_int8"}, False),
        ({"OPTION_CONTEXT_LENGTH_ESTIMATE": "128"}, False),
    ],
    ids=str,
)
def test_graphs_load_where_they_were_compiled_for(
    bench: Bench, more: dict[str, str], *, loads: bool
) -> None:
    """
    The same image, chips, cores and shapes; else in the words of the library, with the
    endpoint failed.
    """
    bench.run()
    given = {"image": NEURON, "instance_type": "ml.trn1.32xlarge", **more}
    variables = {
        "OPTION_MODEL_ID": f"s3://{bench.bucket}/{BASE}/",
        "OPTION_TENSOR_PARALLEL_DEGREE": "8",
        "OPTION_N_POSITIONS": "512",
        **{name: value for name, value in more.items() if name.startswith("OPTION_")},
    }
    model = make_model(
        bench.aws, image=given["image"], container={"Environment": variables}
    )
    variant = {"ModelName": model, "InstanceType": given["instance_type"]}
    endpoint = make_endpoint(bench.aws, make_config(bench.aws, variant=variant))
    shown = bench.aws.client("sagemaker").describe_endpoint(EndpointName=endpoint)

    assert shown["EndpointStatus"] == ("InService" if loads else "Failed")
    if not loads:
        assert "did not pass the ping health check" in shown["FailureReason"]
        log = bench.aws.client("logs").filter_log_events(
            logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}"
        )
        said = " ".join(event["message"] for event in log["events"])
        assert "Could not find a matching NEFF for your HLO" in said
