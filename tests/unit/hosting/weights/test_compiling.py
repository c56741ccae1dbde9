"""
Engines that are compiled ahead of time: the job that is asked for, and what serves
them.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import App, Duration, Environment, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    Compilation,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    S3Model,
    StagedModel,
    TensorRtLlm,
    Vllm,
)
from cdk_sagemaker_llm.catalog import find_image
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.weights.compiling import disk_findings, volume_gib_of
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import TENSORRT_LLM
from tests.unit.hosting.weights.test_staged_model import (
    COMMIT,
    a_bucket,
    a_stack,
    statements,
    tails,
)
from tests.unit.hosting.written import awaited_in

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta", revision=COMMIT)
BASE = f"models/HuggingFaceH4--zephyr-7b-beta/{COMMIT}"
FOUR = TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16)
G5 = "ml.g5.12xlarge"


def compiled(
    stack: Stack,
    serving: TensorRtLlm = FOUR,
    type_name: str = G5,
    **more: Any,  # noqa: ANN401 - any keyword
) -> StagedModel:
    """
    Stage and compile a model.
    """
    given = {"bucket": a_bucket(stack), "model": ZEPHYR, **more}
    return StagedModel(
        stack, "Engines", compile=serving, instance_type=type_name, **given
    )


def order(stack: Stack) -> dict[str, Any]:
    """
    Return what the function is told to start.
    """
    template = Template.from_stack(stack)
    every = template.find_resources("Custom::StagedModel").values()
    (found,) = (
        one["Properties"] for one in every if one["Properties"]["Project"] == ""
    )
    # References stand for nothing that is looked at here.
    parts = found["Order"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else "<ref>" for part in parts)
    return {"base": found["Base"], **json.loads(text)}


def test_the_job_is_told_what_to_compile() -> None:
    """
    The whole order, in the words of LMI 0.26's script.
    """
    stack = a_stack()
    engines = compiled(stack)
    asked = order(stack)
    base = asked.pop("base")

    assert base.startswith(f"{BASE}-tensorrt-llm-")
    # The function appends a hyphen and 32 characters; the API takes 63.
    assert re.fullmatch("[0-9a-z]{20}", asked.pop("name"))
    assert asked == {
        "kind": "processing",
        "image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
        "djl-inference:0.26.0-tensorrtllm0.7.1-cu122",
        "instance_type": "ml.g5.12xlarge",
        "role": "<ref>",
        "arguments": [
            "python",
            "/opt/djl/partition/trt_llm_partition.py",
            "--properties_dir",
            "{input}/properties",
            "--trt_llm_model_repo",
            "{output}",
            "--tensor_parallel_degree",
            "4",
            "--model_path",
            "{input}/model",
        ],
        "folder": "",
        "needed": "*.engine",
        "weights": f"s3://bucket/{BASE}/",
        "properties": "engine=MPI\noption.tensor_parallel_degree=4\n"
        "option.max_rolling_batch_size=16\noption.rolling_batch=auto\n"
        "option.model_loading_timeout=1800\n",
        "volume_gib": 71,
        "seconds": 3600,
        "compiled": {
            "image": "0.26.0",
            "accelerator_model": "A10G",
            "tensor_parallel_degree": 4,
            "options": {"option.max_rolling_batch_size": "16"},
        },
    }
    assert engines.s3_uri == f"s3://bucket/{base}/"
    assert engines.manifest_uri == f"s3://bucket/{base}.json"
    assert engines.weights.uri == f"s3://bucket/{BASE}/"


@pytest.mark.parametrize(
    ("version", "has_pipeline"), [("0.28.0", False), ("0.29.0", True)]
)
def test_the_script_of_a_version_knows_its_arguments(
    version: str, *, has_pipeline: bool
) -> None:
    """
    From 0.29 on it must be told the pipeline's degree, and before it refuses that.
    """
    words = TENSORRT_LLM.command(version, 8)

    assert ("--pipeline_parallel_degree" in words) == has_pipeline
    assert words[words.index("--tensor_parallel_degree") + 1] == "8"


def test_the_endpoint_loads_the_engines() -> None:
    """
    It names their prefix, and is made after them.
    """
    stack = a_stack()
    engines = compiled(stack)
    LlmEndpoint(
        stack, "Llm", model=engines.model, serving=engines.serving, instance_type=G5
    )

    template = Template.from_stack(stack)
    conditions = template.find_resources("AWS::CloudFormation::WaitCondition")
    (model,) = template.find_resources("AWS::SageMaker::Model").values()
    waited = [name for name in conditions if name in model["DependsOn"]]
    assert len(conditions) == 2
    assert len(waited) == 1
    assert "CompileDone" in waited[0]
    assert engines.serving == TensorRtLlm(
        "0.26.0",
        tensor_parallel_degree=4,
        max_rolling_batch_size=16,
        precompiled=True,
    )


@pytest.mark.parametrize(
    ("type_name", "kind"),
    [("ml.g5.48xlarge", "processing"), ("ml.p4d.24xlarge", "training")],
)
def test_a_type_that_no_processing_job_has_trains(type_name: str, kind: str) -> None:
    """
    Only the training API has the A100.
    """
    stack = a_stack()
    compiled(stack, type_name=type_name, removal_policy=RemovalPolicy.DESTROY)
    asked = order(stack)
    word = kind.capitalize()
    found = statements(stack, "StarterAccess")
    (rule,) = (
        one["Properties"]["EventPattern"]
        for one in Template.from_stack(stack)
        .find_resources("AWS::Events::Rule")
        .values()
        if one["Properties"]["EventPattern"]["source"] == ["aws.sagemaker"]
    )

    assert asked["kind"] == kind
    assert found["StartJobs"]["Action"] == [
        f"sagemaker:Create{word}Job",
        f"sagemaker:Describe{word}Job",
        f"sagemaker:Stop{word}Job",
    ]
    assert rule == {
        "source": ["aws.sagemaker"],
        "detail-type": [f"SageMaker {word} Job State Change"],
        "detail": {
            f"{word}JobName": [{"prefix": f"{asked['name']}-"}],
            f"{word}JobStatus": ["Completed", "Failed", "Stopped"],
        },
    }
    assert found["PassRole"]["Condition"] == {
        "StringEquals": {"iam:PassedToService": ["sagemaker.amazonaws.com"]}
    }


@pytest.mark.parametrize(
    "other",
    [
        TensorRtLlm("0.27.0", tensor_parallel_degree=4, max_rolling_batch_size=16),
        TensorRtLlm("0.26.0", tensor_parallel_degree=2, max_rolling_batch_size=16),
        TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=32),
        TensorRtLlm("0.26.0", tensor_parallel_degree=4),
        TensorRtLlm(
            "0.26.0",
            tensor_parallel_degree=4,
            max_rolling_batch_size=16,
            options={"option.max_input_len": 512},
        ),
    ],
)
def test_what_engines_are_bound_to_is_another_prefix_and_refused_in_serving(
    other: TensorRtLlm,
) -> None:
    """
    Image, degree and options, each by itself.
    """
    stack = a_stack()
    ours = compiled(stack)
    theirs = compiled(a_stack(), other)

    assert ours.s3_uri != theirs.s3_uri
    with pytest.raises(ValueError, match="LLM775 the model was compiled otherwise"):
        LlmEndpoint(
            stack,
            "Llm",
            model=ours.model,
            serving=theirs.serving,
            instance_type=G5,
        )


def test_what_is_decided_when_serving_may_differ() -> None:
    """
    Formats and time-outs are no part of an engine.
    """
    stack = a_stack()
    engines = compiled(stack)
    serving = TensorRtLlm(
        "0.26.0",
        tensor_parallel_degree=4,
        max_rolling_batch_size=16,
        precompiled=True,
        output_formatter="jsonlines",
        kv_cache_free_gpu_mem_fraction=0.8,
        model_loading_timeout=900,
        predict_timeout=60,
    )
    LlmEndpoint(stack, "Llm", model=engines.model, serving=serving, instance_type=G5)

    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Endpoint", 1)


def test_engines_are_served_by_what_loads_them() -> None:
    """
    Another backend, and the one that compiles by itself, are refused.
    """
    stack = a_stack()
    engines = compiled(stack)
    with pytest.raises(
        ValueError, match=r"LLM775 the model was compiled ahead of time, got"
    ):
        LlmEndpoint(stack, "A", model=engines.model, serving=Vllm(), instance_type=G5)
    with pytest.raises(ValueError, match=r"LLM775 .* precompiled was left out"):
        LlmEndpoint(stack, "B", model=engines.model, serving=FOUR, instance_type=G5)


@pytest.mark.parametrize(
    ("type_name", "refused"), [("ml.g5.48xlarge", False), ("ml.g6.12xlarge", True)]
)
def test_engines_run_on_the_accelerators_they_were_compiled_for(
    type_name: str, *, refused: bool
) -> None:
    """
    As components too, where they have as many devices.
    """
    stack = a_stack()
    engines = compiled(stack)
    host = InferenceComponentEndpoint(stack, "Host", instance_type=type_name)
    if not refused:
        host.add_model("It", model=engines.model, serving=engines.serving)
        return
    with pytest.raises(ValueError, match="LLM777 the engines were compiled for A10G"):
        host.add_model("It", model=engines.model, serving=engines.serving)


@pytest.mark.parametrize(
    ("type_name", "weight_bytes", "expected"),
    [
        # 600 GB and 250 GB of NVMe; the model's size is known, or is not.
        ("ml.g5.8xlarge", None, 500),
        ("ml.g5.xlarge", None, 250),
        ("ml.g5.xlarge", 2**30, 33),
        ("ml.g5.xlarge", 73 * 2**30, 249),
        ("ml.g5.xlarge", 74 * 2**30, 250),
        # No local storage: a volume is attached.
        ("ml.p3.2xlarge", None, 500),
    ],
)
def test_a_job_asks_for_no_more_than_the_local_storage(
    type_name: str, weight_bytes: int | None, expected: int
) -> None:
    """
    SageMaker refuses a job that does.
    """
    assert volume_gib_of(find_instance_type(type_name), weight_bytes) == expected


@pytest.mark.parametrize(("gib", "said"), [(73, False), (74, True)])
def test_a_disk_that_is_too_small_is_said(gib: int, *, said: bool) -> None:
    """
    Weights, checkpoint and engines lie there at once.
    """
    found = disk_findings(find_instance_type("ml.g5.xlarge"), gib * 2**30)

    words = (
        "compiling may take 252 GiB of disk, and the local storage of ml.g5.xlarge "
        "has 250 GB"
    )
    assert [one.message for one in found] == ([words] if said else [])


@pytest.mark.parametrize(
    ("type_name", "weight_bytes"),
    [
        # 250 GiB, to the last.
        ("ml.g5.xlarge", 220 * 2**30 // 3),
        ("ml.g5.xlarge", None),
        # A volume is as large as it is asked for.
        ("ml.p3.2xlarge", 10**12),
    ],
)
def test_a_disk_that_may_hold_it_is_not_told(
    type_name: str, weight_bytes: int | None
) -> None:
    """
    Nor is one where the model's size is not known.
    """
    assert disk_findings(find_instance_type(type_name), weight_bytes) == []


def test_the_jobs_handle_is_made_when_the_weights_are_there() -> None:
    """
    Its address expires, and a download may take half a day.
    """
    stack = a_stack()
    compiled(stack)
    handles = Template.from_stack(stack).find_resources(
        "AWS::CloudFormation::WaitConditionHandle"
    )
    (waits,) = (
        one["DependsOn"] for name, one in handles.items() if "CompileHandle" in name
    )

    assert [name for name in waits if "DownloadDone" in name]


def test_a_type_without_gpus_is_refused_by_its_name() -> None:
    """
    And not by a degree that nobody wrote.
    """
    with pytest.raises(ValueError, match=r"LLM779 .*, and ml\.c5\.xlarge has none"):
        compiled(a_stack(), TensorRtLlm("0.30.0"), "ml.c5.xlarge")


def test_fails_if_the_type_is_not_said() -> None:
    """
    Nothing else says which accelerators.
    """
    stack = a_stack()
    words = (
        "LLM781 instance_type is missing, or known only at deployment: a model is "
        "compiled for one kind of accelerator; pass the instance type that will serve"
    )
    with pytest.raises(ValueError, match=words):
        StagedModel(
            stack, "Engines", model=ZEPHYR, bucket=a_bucket(stack), compile=FOUR
        )


def test_fails_if_nothing_would_serve_what_is_compiled() -> None:
    """
    In the words of serving itself.
    """
    eight = TensorRtLlm("0.26.0", tensor_parallel_degree=8)
    with pytest.raises(ValueError, match=r"LLM154 tensor_parallel_degree=8 needs 8"):
        compiled(a_stack(), eight)


def test_fails_if_the_image_is_not_in_the_region() -> None:
    """
    Which is said once.
    """
    env = Environment(account="111111111111", region="us-isob-east-1")
    stack = Stack(App(), "There", env=env)
    with pytest.raises(ValueError, match="LLM103 image djl-tensorrtllm") as caught:
        compiled(stack)

    assert str(caught.value).count("LLM103") == 1


@pytest.mark.parametrize(
    ("type_name", "is_told"),
    [("ml.g5.xlarge", True), ("ml.g5.12xlarge", False)],
)
def test_a_small_disk_is_told_where_it_is_compiled(
    type_name: str, *, is_told: bool
) -> None:
    """
    Of a model whose size is known.
    """
    stack = a_stack()
    large = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1", revision=COMMIT)
    compiled(stack, TensorRtLlm("0.26.0"), type_name, model=large)
    found = Annotations.from_stack(stack).find_warning("*", Match.any_value())

    assert any("LLM865" in str(one.entry.data) for one in found) == is_told


def test_engines_are_bound_to_an_image_of_ones_own() -> None:
    """
    By its tag.
    """
    image = find_image("djl-tensorrtllm", "0.26.0")
    engines = compiled(a_stack(), TensorRtLlm("0.26.0", image=image))

    assert engines.model.compiled is not None
    assert engines.model.compiled.image == "0.26.0-tensorrtllm0.7.1-cu122"


def test_the_job_may_read_weights_and_write_beside_them() -> None:
    """
    With the bucket's key, and nothing of the prefix that is served.
    """
    stack = a_stack()
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Own", encryption_key=key)
    compiled(stack, bucket=bucket)
    found = statements(stack, "CompileAccess")
    base = order(stack)["base"]

    assert f"/{base}.jobs/*" in json.dumps(found["WriteEngines"]["Resource"])
    assert f"/{base}/*" not in json.dumps(found)
    assert found["EncryptEngines"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    own = stack.resolve(key.key_arn)
    assert found["EncryptEngines"]["Resource"] == own
    assert f"/{BASE}/*" in json.dumps(found["ReadWeights"]["Resource"])


def test_all_devices_of_the_type_are_meant_where_no_degree_is_said() -> None:
    """
    As the container would take them.
    """
    stack = a_stack()
    engines = compiled(stack, TensorRtLlm("0.26.0"))

    assert engines.model.compiled == Compilation(
        image="0.26.0", accelerator_model="A10G", tensor_parallel_degree=4, options={}
    )


def test_a_model_of_ones_own_engines_is_held_likewise() -> None:
    """
    Engines that were compiled elsewhere can be described.
    """
    bound = Compilation(
        image="0.26.0", accelerator_model="L4", tensor_parallel_degree=4, options={}
    )
    model = S3Model(
        "s3://bucket/engines/", architecture=ZEPHYR.model_id, compiled=bound
    )
    serving = TensorRtLlm("0.26.0", tensor_parallel_degree=4, precompiled=True)
    with pytest.raises(ValueError, match="LLM777"):
        LlmEndpoint(a_stack(), "Llm", model=model, serving=serving, instance_type=G5)


def test_engines_of_other_devices_lie_elsewhere() -> None:
    """
    Four L4 load none of those of four A10G.
    """
    ours, theirs = (
        compiled(a_stack(), type_name=each).s3_uri for each in (G5, "ml.g6.12xlarge")
    )

    assert ours != theirs


def test_fails_if_the_image_does_not_run_there() -> None:
    """
    Trainium has jobs, and TensorRT-LLM does not know it.
    """
    with pytest.raises(ValueError, match="ml.trn1.32xlarge"):
        compiled(a_stack(), TensorRtLlm("0.26.0"), "ml.trn1.32xlarge")


def test_a_compilation_is_asked_for_when_all_that_it_needs_is_there() -> None:
    """
    The weights, what the job's role may do, and the rule that tells of its end.
    """
    stack = a_stack()
    compiled(stack)
    both = [
        "EnginesBuildFailed",
        "EnginesBuildFailedAllowEventRuleStackEnginesStarter",
        "EnginesCompileAccess",
        "EnginesJobEnded",
        "EnginesJobEndedAllowEventRuleStackEnginesStarter",
        "EnginesStarterAccess",
    ]

    for kind in ("CloudFormation::WaitConditionHandle", "Custom::StagedModel"):
        download, compilation = sorted(awaited_in(stack, kind), key=len)
        assert download == both
        assert compilation == sorted([*both, "EnginesDownloadDone"])


def test_each_role_may_do_just_this() -> None:
    """
    The job reads two prefixes and writes one; the function puts in place what it made.
    """
    stack = a_stack()
    compiled(stack)
    job, starter = (
        statements(stack, each) for each in ("CompileAccess", "StarterAccess")
    )
    base = order(stack)["base"]
    listed = "s3:prefix"

    assert {name: one["Action"] for name, one in job.items()} == {
        "LogInToRegistries": "ecr:GetAuthorizationToken",
        "PullImage": [
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ],
        "ReadWeights": "s3:GetObject",
        "ListWeights": "s3:ListBucket",
        "WriteEngines": ["s3:AbortMultipartUpload", "s3:PutObject"],
        "LogJobs": [
            "logs:CreateLogGroup",
            "logs:CreateLogStream",
            "logs:DescribeLogStreams",
            "logs:PutLogEvents",
        ],
        "PublishMetrics": "cloudwatch:PutMetricData",
    }
    assert tails(job["ReadWeights"]) == [
        f":s3:::bucket/{BASE}/*",
        f":s3:::bucket/{base}.jobs/*",
    ]
    assert tails(job["WriteEngines"]) == [f":s3:::bucket/{base}.jobs/*"]
    assert tails(job["LogJobs"]) == [
        ":log-group:/aws/sagemaker/ProcessingJobs",
        ":log-group:/aws/sagemaker/ProcessingJobs:*",
    ]
    assert tails(starter["PlaceEngines"]) == [
        f":s3:::bucket/{base}.jobs/*",
        f":s3:::bucket/{base}/*",
        f":s3:::bucket/{base}.json",
    ]
    assert starter["PlaceEngines"]["Action"] == [
        "s3:AbortMultipartUpload",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:PutObject",
    ]
    assert tails(starter["MarkOwners"]) == [":s3:::bucket/models/*.owners/*"]
    assert starter["ListJobs"]["Condition"]["StringLike"][listed] == [f"{base}.jobs/*"]
    assert tails(starter["StartJobs"])[0].startswith(":processing-job/")
    assert tails(starter["StartJobs"])[0].endswith(f"/{order(stack)['name']}-*")
    here = starter["StartJobs"]["Resource"]["Fn::Join"][1]
    assert [part for part in here if not isinstance(part, str)] == [
        {"Ref": f"AWS::{name}"} for name in ("Partition", "Region", "AccountId")
    ]
    roles = Template.from_stack(stack).find_resources("AWS::IAM::Role").items()
    (role,) = (
        name
        for name, one in roles
        if one["Properties"].get("Description") == "Compiles a model's engines"
    )
    assert starter["PassRole"]["Resource"] == {"Fn::GetAtt": [role, "Arn"]}
    trust = dict(roles)[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust == [
        {
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": "111111111111"}},
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
        }
    ]


@pytest.mark.parametrize(
    ("policy", "removes"),
    [(RemovalPolicy.RETAIN, False), (RemovalPolicy.DESTROY, True)],
)
def test_only_what_is_to_be_removed_may_be(
    policy: RemovalPolicy, *, removes: bool
) -> None:
    """
    By the one function that hears of the job's end, too.
    """
    stack = a_stack()
    compiled(stack, removal_policy=policy)
    template = Template.from_stack(stack)
    (function,) = template.find_resources("AWS::Lambda::Function")

    policies = template.find_resources("AWS::IAM::Policy")
    assert any("RemovalAccess" in each for each in policies) == removes
    if removes:
        removed = tails(statements(stack, "RemovalAccess")["RemoveWeights"])
        bases = [BASE, order(stack)["base"]]
        assert removed == [
            f":s3:::bucket/{base}{end}" for base in bases for end in ("/*", ".jobs/*")
        ]
    rules = template.find_resources("AWS::Events::Rule").values()
    assert [one["Properties"]["Targets"] for one in rules] == [
        [{"Arn": {"Fn::GetAtt": [function, "Arn"]}, "Id": "Target0"}]
    ] * 2


def test_the_stack_is_told_of_a_job_in_its_own_time() -> None:
    """
    The condition waits for the job, and half an hour for it to be told of; that of the
    download for the queue of builds as well.
    """
    stack = a_stack()
    engines = compiled(stack, timeout=Duration.minutes(90))
    conditions = Template.from_stack(stack).find_resources(
        "AWS::CloudFormation::WaitCondition"
    )

    assert order(stack)["seconds"] == 5400
    waited = {one["Properties"]["Timeout"] for one in conditions.values()}
    assert waited == {str((90 + 480 + 15) * 60), str((90 + 30) * 60)}
    assert engines.serving is not None
    assert engines.serving.precompiled is True
    assert engines.model.architecture == engines.weights.architecture
    assert engines.model.architecture is not None


def test_engines_of_an_image_of_ones_own_are_served_by_it() -> None:
    """
    By its tag: the same version's image of the catalogue is another.
    """
    stack = a_stack()
    tag = "0.30.0-tensorrtllm0.12.0-cu125-v1.1"
    engines = compiled(stack, TensorRtLlm("0.30.0", image=tag))
    bound = engines.model.compiled
    assert bound is not None
    assert bound.image == tag
    LlmEndpoint(
        stack, "Same", model=engines.model, serving=engines.serving, instance_type=G5
    )

    plain = TensorRtLlm("0.30.0", tensor_parallel_degree=4, precompiled=True)
    with pytest.raises(
        ValueError, match=f"LLM775 .* the image is 0.30.0 where it was {tag}"
    ):
        LlmEndpoint(
            stack, "Other", model=engines.model, serving=plain, instance_type=G5
        )
