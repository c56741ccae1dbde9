"""
Processing and training jobs, with LMI's compiling in place of containers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.building.projects import trusting
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    REGISTRY,
    ROLE,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unchecked,
    unique,
)
from tests.local.stacks import Stacks
from tests.local.waiting import endpoint_status, until

if TYPE_CHECKING:
    from collections.abc import Iterator

LMI_28 = f"{REGISTRY}/djl-inference:0.28.0-tensorrtllm0.9.0-cu122"
LMI_30 = f"{REGISTRY}/djl-inference:0.30.0-tensorrtllm0.12.0-cu125"
LMI_33 = f"{REGISTRY}/djl-inference:0.33.0-tensorrtllm0.21.0-cu128"
SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
MODEL, OPTIONS, OUT = (
    f"/opt/ml/processing/{name}" for name in ("input/model", "input/options", "output")
)
PLAIN = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer_config.json": b'{"a": 1}',
    "model.safetensors": b"weights",
}


def command(degree: object = 4, *more: str, **flags: str) -> list[str]:
    """
    Write the command line that compiles.
    """
    told = {
        "properties_dir": OPTIONS,
        "trt_llm_model_repo": OUT,
        "tensor_parallel_degree": str(degree),
        "model_path": MODEL,
        **flags,
    }
    words = [w for name, value in told.items() if value for w in (f"--{name}", value)]
    return ["python", SCRIPT, *words, *more]


class Bench:
    """
    Jobs of one server, and a bucket for them.
    """

    def __init__(self, aws: EmbeddedAws | HandRunAws) -> None:
        self.aws = aws
        self.sagemaker = aws.client("sagemaker")
        self.bucket = unique("jobs")
        self._s3, self._logs = aws.client("s3"), aws.client("logs")
        self._s3.create_bucket(Bucket=self.bucket)
        self.put("weights", PLAIN)
        self.put("options", {"serving.properties": b"option.dtype=fp16\n"})

    def put(self, folder: str, files: dict[str, bytes]) -> None:
        """
        Put files into a folder of the bucket.
        """
        for name, body in files.items():
            self._s3.put_object(Bucket=self.bucket, Key=f"{folder}/{name}", Body=body)

    def keys(self, folder: str) -> list[str]:
        """
        List a folder of the bucket.
        """
        prefix = f"{folder}/"
        found = self._s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [one["Key"].removeprefix(prefix) for one in found.get("Contents", [])]

    def read(self, key: str) -> bytes:
        """
        Read an object of the bucket.
        """
        body: bytes = self._s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return body

    def processing(self, arguments: list[str], **settings: Untyped) -> dict[str, Any]:
        """
        Write the request for a processing job that compiles into `out/<its name>`.
        """
        name = settings.get("name", unique("job"))
        inputs = {"weights": MODEL, "options": OPTIONS, **settings.get("inputs", {})}
        return {
            "ProcessingJobName": name,
            "RoleArn": ROLE,
            "AppSpecification": {
                "ImageUri": settings.get("image", LMI_28),
                "ContainerArguments": arguments,
                **settings.get("specification", {}),
            },
            "ProcessingResources": {
                "ClusterConfig": {
                    "InstanceCount": 1,
                    "InstanceType": settings.get("instance_type", "ml.g5.12xlarge"),
                    "VolumeSizeInGB": 100,
                }
            },
            "ProcessingInputs": [
                {
                    "InputName": folder,
                    "S3Input": {
                        "S3Uri": f"s3://{self.bucket}/{folder}/",
                        "LocalPath": path,
                        "S3DataType": "S3Prefix",
                        "S3InputMode": "File",
                    },
                }
                for folder, path in inputs.items()
                if path
            ],
            "ProcessingOutputConfig": {
                "Outputs": [
                    {
                        "OutputName": "engines",
                        "S3Output": {
                            "S3Uri": f"s3://{self.bucket}/out/{name}",
                            "LocalPath": OUT,
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ]
            },
            **settings.get("more", {}),
        }

    def process(self, arguments: list[str], **settings: Untyped) -> Untyped:
        """
        Run a processing job and describe it.
        """
        request = self.processing(arguments, **settings)
        name = request["ProcessingJobName"]
        self.sagemaker.create_processing_job(**request)
        return self.sagemaker.describe_processing_job(ProcessingJobName=name)

    def train(self, arguments: list[str], **settings: Untyped) -> Untyped:
        """
        Run a training job and describe it.
        """
        name = unique("job")
        told = {"ContainerArguments": arguments} if arguments else {}
        self.sagemaker.create_training_job(
            TrainingJobName=name,
            RoleArn=ROLE,
            AlgorithmSpecification={
                "TrainingImage": LMI_28,
                "TrainingInputMode": "File",
                **told,
            },
            InputDataConfig=[
                {
                    "ChannelName": "model",
                    "DataSource": {
                        "S3DataSource": {
                            "S3DataType": "S3Prefix",
                            "S3Uri": f"s3://{self.bucket}/weights",
                        }
                    },
                }
            ],
            OutputDataConfig={
                "S3OutputPath": f"s3://{self.bucket}/trained",
                "CompressionType": settings.pop("compression", "NONE"),
            },
            ResourceConfig={
                "InstanceType": "ml.p4d.24xlarge",
                "InstanceCount": 1,
                "VolumeSizeInGB": 500,
            },
            StoppingCondition={"MaxRuntimeInSeconds": 3600},
            **settings,
        )
        return self.sagemaker.describe_training_job(TrainingJobName=name)

    def log(self, name: str, word: str = "Processing") -> list[str]:
        """
        Return a job's log.
        """
        group = f"/aws/sagemaker/{word}Jobs"
        (stream,) = self._logs.describe_log_streams(
            logGroupName=group, logStreamNamePrefix=f"{name}/algo-1-"
        )["logStreams"]
        events = self._logs.get_log_events(
            logGroupName=group, logStreamName=stream["logStreamName"]
        )
        return [event["message"] for event in events["events"]]


@pytest.fixture(name="bench", scope="module")
def _bench() -> Iterator[Bench]:
    with hand_run_aws(takes_time=False) as aws:
        yield Bench(aws)


@pytest.fixture(name="by_hand", scope="module")
def _by_hand() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand") as aws:
        yield aws


def test_a_processing_job_compiles_what_lmi_loads(bench: Bench) -> None:
    """
    One folder with a configuration, the tokenizer and an engine for each rank.
    """
    job = bench.process(command(4))

    assert job["ProcessingJobStatus"] == "Completed", bench.log(
        job["ProcessingJobName"]
    )
    out = f"out/{job['ProcessingJobName']}"
    assert bench.keys(out) == [
        "tensorrt_llm/1/config.json",
        *(f"tensorrt_llm/1/rank{rank}.engine" for rank in range(4)),
        "tensorrt_llm/config.json",
        "tensorrt_llm/config.pbtxt",
        "tensorrt_llm/tokenizer_config.json",
    ]
    kept = bench.read(f"{out}/tensorrt_llm/tokenizer_config.json")
    assert kept == PLAIN["tokenizer_config.json"]
    told = bench.read(f"{out}/tensorrt_llm/1/rank3.engine").partition(b"\n")[2]
    assert json.loads(told) == {
        "image": "0.28.0-tensorrtllm0.9.0-cu122",
        "device": "A10G",
        "tensor_parallel_degree": 4,
        "pipeline_parallel_degree": 1,
        "rank": 3,
        "options": {"dtype": "fp16"},
    }
    assert job["ProcessingEndTime"] >= job["ProcessingStartTime"]


def test_a_training_job_brings_its_model_to_s3(bench: Bench) -> None:
    """
    Unpacked, as LMI wants it; one that is to pack it is not emulated.
    """
    arguments = command(
        8,
        properties_dir="/opt/ml/input/config",
        model_path="/opt/ml/input/data/model",
        trt_llm_model_repo="/opt/ml/model",
    )

    plain = bench.train(arguments)
    with pytest.raises(ClientError, match="not emulated: .* that pack their model"):
        bench.train(arguments, compression="GZIP")

    name = plain["TrainingJobName"]
    place = f"trained/{name}/output/model"
    assert plain["TrainingJobStatus"] == "Completed"
    assert plain["ModelArtifacts"]["S3ModelArtifacts"] == (
        f"s3://{bench.bucket}/{place}/"
    )
    assert "tensorrt_llm/1/rank7.engine" in bench.keys(place)
    steps = [step["Status"] for step in plain["SecondaryStatusTransitions"]]
    assert steps == ["Starting", "Training", "Completed"]


def test_each_version_has_its_own_flags_and_layout(bench: Bench) -> None:
    """
    From 0.29 the second degree must be there; 0.33 writes engines side by side.
    """
    later = command(2, pipeline_parallel_degree="2")

    old = bench.process(command(4, "--pipeline_parallel_degree", "1"))
    without = bench.process(command(4), image=LMI_30)
    good = bench.process(later, image=LMI_30)
    newest = bench.process(later, image=LMI_33)

    assert old["FailureReason"] == "AlgorithmError: , exit code: 2"
    assert "unrecognized arguments: --pipeline_parallel_degree 1" in " ".join(
        bench.log(old["ProcessingJobName"])
    )
    assert without["FailureReason"] == "AlgorithmError: , exit code: 2"
    assert bench.log(without["ProcessingJobName"])[-1].endswith(
        "the following arguments are required: --pipeline_parallel_degree"
    )
    assert good["ProcessingJobStatus"] == "Completed"
    out = bench.keys(f"out/{good['ProcessingJobName']}")
    assert sum(name.endswith(".engine") for name in out) == 4
    flat = f"out/{newest['ProcessingJobName']}"
    assert bench.keys(flat) == [
        "config.json",
        *(f"rank{rank}.engine" for rank in range(4)),
        "serving.properties",
        "tokenizer_config.json",
    ]
    assert "build_config" in json.loads(bench.read(f"{flat}/config.json"))


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "words"),
    [
        (command(4, "--fast"), {}, 2, "unrecognized arguments: --fast"),
        (command("max"), {}, 2, "invalid int value: 'max'"),
        (command(8), {}, 1, "8 x 1 ranks do not fit 4 GPUs"),
        (command(0), {}, 1, "0 x 1 ranks do not fit"),
        (command(4, model_path=""), {}, 2, "are required: --model_path"),
        (command(4, model_path="/opt/ml/else"), {}, 1, "named config.json"),
        (command(4), {"instance_type": "ml.m5.xlarge"}, 1, "do not fit 0 GPUs"),
        (command(4), {"image": "x/y:1"}, 1, "not emulated: x/y:1"),
        (["serve"], {}, 127, "not emulated: the command serve"),
        (
            command(4),
            {"more": {"Environment": {"OPTION_DTYPE": "fp16"}}},
            1,
            "not emulated: variables of a job, got OPTION_DTYPE",
        ),
        (["ls", "/opt"], {}, 127, "not emulated: the command ls /opt"),
        (
            command(1, model_path="org/name"),
            {},
            1,
            "not emulated: the download of org/name into a job",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_that_fails_fails_the_job(
    bench: Bench, arguments: list[str], settings: dict[str, Any], code: int, words: str
) -> None:
    """
    With its exit code alone, as SageMaker has it; the log says why. Nothing is kept.
    """
    job = bench.process(arguments, **settings)

    assert job["ProcessingJobStatus"] == "Failed"
    assert job["FailureReason"] == f"AlgorithmError: , exit code: {code}"
    assert words in " ".join(bench.log(job["ProcessingJobName"]))
    assert bench.keys(f"out/{job['ProcessingJobName']}") == []


def test_an_input_without_objects_fails_the_job(bench: Bench) -> None:
    """
    In SageMaker's words, before the container begins.
    """
    job = bench.process(command(1), inputs={"nothing": "/opt/ml/processing/more"})

    assert job["FailureReason"].startswith(
        f'ClientError: No S3 objects found under S3 URL "s3://{bench.bucket}/nothing/"'
    )


def test_a_folder_may_be_marked_by_an_object(bench: Bench) -> None:
    """
    As the console makes them.
    """
    bench.put("marked", {"": b"", **PLAIN})

    job = bench.process(command(1), inputs={"weights": "", "marked": MODEL})

    assert job["ProcessingJobStatus"] == "Completed"


def test_an_output_without_a_bucket_fails_the_job(bench: Bench) -> None:
    """
    Also where the container has done its work.
    """
    request = bench.processing(command(1))
    (output,) = request["ProcessingOutputConfig"]["Outputs"]
    output["S3Output"]["S3Uri"] = "s3://no-such-bucket/out"
    bench.sagemaker.create_processing_job(**request)

    job = bench.sagemaker.describe_processing_job(
        ProcessingJobName=request["ProcessingJobName"]
    )

    assert job["ProcessingJobStatus"] == "Failed"
    assert job["FailureReason"].startswith("ClientError: Failed to upload s3://no-such")


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"instance_type": "ml.p4d.24xlarge"}, "ValidationException", "enum value set"),
        ({"instance_type": "ml.inf2.xlarge"}, "ValidationException", "enum value set"),
        ({"name": "no_good"}, "ValidationException", "regular expression"),
        (
            {"inputs": {"x": "/opt/x"}},
            "ValidationException",
            "must begin with /opt/ml/",
        ),
        ({"inputs": {"x": MODEL}}, "ValidationException", "must be unique"),
        ({"more": {"RoleArn": None}}, "ValidationException", "roleArn"),
        ({"name": 7}, "SerializationException", "a String"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_requests_are_refused(
    bench: Bench, settings: dict[str, Any], code: str, words: str
) -> None:
    """
    By the API's model, which has no p4d for processing, and by the service.
    """
    client = unchecked(bench.aws, "sagemaker")

    with pytest.raises(client.exceptions.ClientError) as refused:
        client.create_processing_job(**bench.processing(command(1), **settings))

    assert refused.value.response["Error"]["Code"] == code
    assert words in refused.value.response["Error"]["Message"]


def test_names_are_taken_for_good_and_jobs_are_found_by_them(bench: Bench) -> None:
    """
    Once more is refused, even if the job has failed; what is not there is not found.
    """
    client = bench.sagemaker
    job = bench.process(["ls"])
    name = job["ProcessingJobName"]

    with pytest.raises(client.exceptions.ResourceInUse, match="must be unique within"):
        bench.process(command(1), name=name)
    with pytest.raises(client.exceptions.ClientError, match="job with name: nothing"):
        client.describe_processing_job(ProcessingJobName="nothing")
    with pytest.raises(client.exceptions.ClientError, match="resource not found"):
        client.describe_training_job(TrainingJobName="nothing")
    with pytest.raises(client.exceptions.ClientError, match="job is in status Failed"):
        client.stop_processing_job(ProcessingJobName=name)
    listed = client.list_processing_jobs(NameContains=name, StatusEquals="Failed")
    (summary,) = listed["ProcessingJobSummaries"]
    assert summary["ProcessingJobArn"] == job["ProcessingJobArn"]
    assert summary["ProcessingJobStatus"] == "Failed"
    client.add_tags(ResourceArn=job["ProcessingJobArn"], Tags=[tag("a", "b")])
    tags = client.list_tags(ResourceArn=job["ProcessingJobArn"])["Tags"]
    assert tags == [tag("a", "b")]


def test_jobs_are_listed_from_the_first_on(bench: Bench) -> None:
    """
    Other than what else SageMaker lists, unless the caller wants the last ones first.
    """
    stem = unique("row")
    names = [f"{stem}-{number}" for number in range(3)]
    for name in names:
        bench.process(["ls"], name=name)

    def listed(**settings: Untyped) -> list[str]:
        found = bench.sagemaker.list_processing_jobs(NameContains=stem, **settings)
        return [one["ProcessingJobName"] for one in found["ProcessingJobSummaries"]]

    assert listed() == listed(SortOrder="Ascending") == names
    assert listed(MaxResults=2) == names[:2]
    assert listed(SortOrder="Descending") == names[::-1]


def test_a_training_job_that_fails_names_its_model_too(bench: Bench) -> None:
    """
    The API's model requires the member, whatever the status.
    """
    job = bench.train(["ls"])

    place = f"s3://{bench.bucket}/trained/{job['TrainingJobName']}/output/model/"
    assert job["TrainingJobStatus"] == "Failed"
    assert job["ModelArtifacts"] == {"S3ModelArtifacts": place}


def tag(key: str, value: str) -> dict[str, str]:
    """
    Write a tag.
    """
    return {"Key": key, "Value": value}


def test_a_job_takes_its_time_and_can_be_stopped(by_hand: EmbeddedAws) -> None:
    """
    By the clock in there: an instance, its image, then the work.
    """
    bench = Bench(by_hand)
    client = bench.sagemaker

    def status(name: str) -> str:
        found = client.describe_processing_job(ProcessingJobName=name)
        return str(found["ProcessingJobStatus"])

    long = bench.process(command(1))
    short = bench.process(
        command(1), more={"StoppingCondition": {"MaxRuntimeInSeconds": 60}}
    )
    stopped = bench.process(command(1))
    names = [job["ProcessingJobName"] for job in (long, short, stopped)]
    assert [job["ProcessingJobStatus"] for job in (long, short)] == ["InProgress"] * 2
    client.stop_processing_job(ProcessingJobName=names[2])
    assert status(names[2]) == "Stopping"
    until(
        lambda: not {"InProgress", "Stopping"} & {status(name) for name in names},
        by=by_hand,
    )

    assert [status(name) for name in names] == ["Completed", "Stopped", "Stopped"]
    ended = client.describe_processing_job(ProcessingJobName=names[0])
    worked = ended["ProcessingEndTime"] - ended["ProcessingStartTime"]
    assert 600 <= worked.total_seconds() < 3000
    assert bench.keys(f"out/{names[1]}") == bench.keys(f"out/{names[2]}") == []


def test_there_may_be_no_instance_for_a_job() -> None:
    """
    As for endpoints.
    """
    with EmbeddedAws() as aws:
        bench = Bench(aws)
        aws.fault("no-capacity", "ml.g5.12xlarge")

        job = bench.process(command(1))

    assert job["FailureReason"].startswith("CapacityError: Unable to provision")


def test_a_log_is_called_after_its_job(bench: Bench) -> None:
    """
    And the moment at which that was made, in milliseconds.
    """
    job = bench.process(["serve"])
    found = bench.aws.client("logs").describe_log_streams(
        logGroupName="/aws/sagemaker/ProcessingJobs",
        logStreamNamePrefix=job["ProcessingJobName"],
    )["logStreams"]

    moment = round(job["CreationTime"].timestamp() * 1000)
    names = [stream["logStreamName"] for stream in found]
    assert names == [f"{job['ProcessingJobName']}/algo-1-{moment}"]


LISTENER = """
import json, boto3
def handler(event, context):
    detail = event["detail"]
    status = detail.get("ProcessingJobStatus") or detail["TrainingJobStatus"]
    name = detail.get("ProcessingJobName") or detail["TrainingJobName"]
    boto3.client("ssm").put_parameter(
        Name="/jobs/" + name + "/" + status, Value=json.dumps(event), Type="String",
        Overwrite=True)
"""


def test_rules_hear_of_jobs(embedded_aws: EmbeddedAws) -> None:
    """
    With what DescribeProcessingJob and DescribeTrainingJob show.
    """
    bench, stacks, name = Bench(embedded_aws), Stacks(embedded_aws), unique("stack")
    kinds = [
        f"SageMaker {word} Job State Change" for word in ("Processing", "Training")
    ]
    role = {"AssumeRolePolicyDocument": json.loads(trusting("lambda"))}
    function = {
        "Runtime": "python3.12",
        "Handler": "index.handler",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Code": {"ZipFile": LISTENER},
    }
    rule = {
        "EventPattern": {"source": ["aws.sagemaker"], "detail-type": kinds},
        "Targets": [{"Id": "F", "Arn": {"Fn::GetAtt": ["Function", "Arn"]}}],
    }
    stacks.create(
        name,
        {
            "Resources": {
                "Role": {"Type": "AWS::IAM::Role", "Properties": role},
                "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
                "Rule": {"Type": "AWS::Events::Rule", "Properties": rule},
            }
        },
    )

    failed = bench.process(["ls"])
    # A command without an engine says so, and ends well.
    trained = bench.train(["partition"])

    def heard(parameter: str) -> Untyped:
        ssm = embedded_aws.client("ssm")
        until(lambda: ssm.get_parameters(Names=[parameter])["Parameters"])
        return json.loads(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])

    told = heard(f"/jobs/{failed['ProcessingJobName']}/Failed")
    done = heard(f"/jobs/{trained['TrainingJobName']}/Completed")
    stacks.delete(name)
    assert told["detail-type"] == kinds[0]
    assert told["resources"] == [failed["ProcessingJobArn"]]
    assert told["detail"]["FailureReason"] == "AlgorithmError: , exit code: 127"
    moment = failed["CreationTime"].timestamp()
    assert told["detail"]["CreationTime"] == pytest.approx(moment * 1000, abs=1)
    assert done["detail"]["SecondaryStatus"] == "Completed"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"instance_type": "ml.g5.48xlarge", "degree": "4"}, None),
        ({"instance_type": "ml.g5.48xlarge"}, "tensor_parallel_degree is 8"),
        ({"degree": "2"}, "tensor_parallel_degree is 2, the engines were compiled for"),
        ({"instance_type": "ml.g6.12xlarge"}, "expecting A10G got L4, please rebuild"),
        ({"image": LMI_30}, "compiled by 0.28.0-tensorrtllm0.9.0-cu122, loaded by"),
        ({"missing": "rank2.engine"}, "3 of 4 ranks are there"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("way", ["option", "data"])
def test_an_endpoint_loads_only_engines_compiled_for_it(
    bench: Bench, changes: dict[str, str], words: str | None, way: str
) -> None:
    """
    Another device, degree or image keeps LMI from starting, and its log says why.
    """
    job = bench.process(command(4))
    place = f"out/{job['ProcessingJobName']}"
    if missing := changes.get("missing"):
        key = f"{place}/tensorrt_llm/1/{missing}"
        bench.aws.client("s3").delete_object(Bucket=bench.bucket, Key=key)
    url = f"s3://{bench.bucket}/{place}/"
    variables = {"OPTION_MODEL_ID": url} if way == "option" else {}
    if "degree" in changes:
        variables["OPTION_TENSOR_PARALLEL_DEGREE"] = changes["degree"]
    container: dict[str, Any] = {"Environment": variables}
    if way == "data":
        source = {"S3Uri": url, "S3DataType": "S3Prefix", "CompressionType": "None"}
        container["ModelDataSource"] = {"S3DataSource": source}
    image = changes.get("image", LMI_28)
    model = make_model(bench.aws, image=image, container=container)
    kind = changes.get("instance_type", "ml.g5.12xlarge")
    variant = {"ModelName": model, "InstanceType": kind}

    endpoint = make_endpoint(bench.aws, make_config(bench.aws, variant=variant))

    status = endpoint_status(bench.sagemaker, endpoint)
    assert status == ("InService" if words is None else "Failed")
    if words is not None:
        logs = bench.aws.client("logs")
        group = f"/aws/sagemaker/Endpoints/{endpoint}"
        found = logs.filter_log_events(logGroupName=group)["events"]
        assert any(words in event["message"] for event in found)


def test_a_component_has_as_many_ranks_as_it_reserves(bench: Bench) -> None:
    """
    Where the degree is left to LMI.
    """
    out = bench.process(command(4))["ProcessingJobName"]
    container = {"Environment": {"OPTION_MODEL_ID": f"s3://{bench.bucket}/out/{out}"}}
    model = make_model(bench.aws, image=LMI_28, container=container)
    config = make_config(bench.aws, variant={"InstanceType": "ml.g5.48xlarge"})
    endpoint = make_endpoint(bench.aws, config)

    def status(accelerators: int) -> str:
        needs = {"NumberOfAcceleratorDevicesRequired": accelerators}
        name = make_component(bench.aws, endpoint, needs=needs, model=model)
        found = bench.sagemaker.describe_inference_component(
            InferenceComponentName=name
        )
        return str(found["InferenceComponentStatus"])

    assert status(4) == "InService"
    assert status(2) == "Failed"
