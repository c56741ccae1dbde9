"""
Graphs of Transformers-NeuronX that are compiled ahead of time.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    Compilation,
    HuggingFaceModel,
    LlmEndpoint,
    NeuronX,
    S3Model,
    StagedModel,
    TensorRtLlm,
    Vllm,
)
from tests.unit.hosting.weights.test_compiling import BASE, ZEPHYR, order
from tests.unit.hosting.weights.test_staged_model import a_bucket, a_stack, statements

TRN1 = "ml.trn1.32xlarge"
EIGHT = NeuronX("0.29.0", tensor_parallel_degree=8, n_positions=2048)


def compiled(
    stack: Stack,
    serving: NeuronX = EIGHT,
    type_name: str = TRN1,
    **more: Any,  # noqa: ANN401 - any keyword
) -> StagedModel:
    """
    Stage and compile a model.
    """
    given = {"bucket": a_bucket(stack), "model": ZEPHYR, **more}
    return StagedModel(
        stack, "Graphs", compile=serving, instance_type=type_name, **given
    )


def test_a_training_job_is_told_what_to_compile() -> None:
    """
    No processing job has Trainium; the script writes below the model's folder.
    """
    stack = a_stack()
    graphs = compiled(stack)
    asked = order(stack)
    base = asked.pop("base")

    assert base.startswith(f"{BASE}-neuronx-")
    del asked["name"]
    assert asked == {
        "kind": "training",
        "image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
        "djl-inference:0.29.0-neuronx-sdk2.19.1",
        "instance_type": TRN1,
        "role": "<ref>",
        "arguments": [
            "partition",
            "--model-dir",
            "{input}/properties",
            "--model-id",
            "{input}/model",
            "--save-mp-checkpoint-path",
            "{output}/neuron",
            "--tensor-parallel-degree",
            "8",
            "--skip-copy",
        ],
        "folder": "neuron/",
        "needed": "compiled/*",
        "weights": f"s3://bucket/{BASE}/",
        "properties": "engine=Python\noption.tensor_parallel_degree=8\n"
        "option.rolling_batch=auto\noption.model_loading_timeout=1800\n"
        "option.n_positions=2048\noption.model_loader=tnx\n",
        "volume_gib": 71,
        "seconds": 3600,
        "compiled": {
            "image": "0.29.0",
            "accelerator_model": "Trainium",
            "tensor_parallel_degree": 8,
            "options": {
                "option.model_loader": "tnx",
                "option.n_positions": "2048",
                "option.rolling_batch": "auto",
            },
        },
    }
    assert graphs.s3_uri == f"s3://bucket/{base}/"
    found = statements(stack, "StarterAccess")
    assert found["StartJobs"]["Action"] == [
        "sagemaker:CreateTrainingJob",
        "sagemaker:DescribeTrainingJob",
        "sagemaker:StopTrainingJob",
    ]


def test_the_endpoint_loads_the_graphs() -> None:
    """
    By the one loader that does.
    """
    stack = a_stack()
    graphs = compiled(stack)
    LlmEndpoint(
        stack, "Llm", model=graphs.model, serving=graphs.serving, instance_type=TRN1
    )

    assert graphs.serving == NeuronX(
        "0.29.0",
        tensor_parallel_degree=8,
        n_positions=2048,
        model_loader="tnx",
        precompiled=True,
    )
    (model,) = (
        Template.from_stack(stack).find_resources("AWS::SageMaker::Model").values()
    )
    assert [name for name in model["DependsOn"] if "CompileDone" in name]


@pytest.mark.parametrize(
    ("type_name", "cores"), [("ml.trn1.2xlarge", 2), ("ml.trn1.32xlarge", 32)]
)
def test_all_cores_are_meant_where_no_degree_is_said(
    type_name: str, cores: int
) -> None:
    """
    Two a chip.
    """
    graphs = compiled(a_stack(), NeuronX("0.29.0", n_positions=512), type_name)

    assert graphs.model.compiled == Compilation(
        image="0.29.0",
        accelerator_model="Trainium",
        tensor_parallel_degree=cores,
        options={
            "option.model_loader": "tnx",
            "option.n_positions": "512",
            "option.rolling_batch": "auto",
        },
    )


def test_fails_if_no_job_has_the_chips() -> None:
    """
    Inferentia2 serves only.
    """
    with pytest.raises(
        ValueError,
        match=r"LLM779 ml\.inf2\.48xlarge is neither a type of processing jobs nor of "
        r"training jobs; no job has that accelerator",
    ):
        compiled(a_stack(), type_name="ml.inf2.48xlarge")


@pytest.mark.parametrize("version", ["0.25.0", "0.26.0"])
def test_fails_if_the_script_writes_where_it_reads(version: str) -> None:
    """
    Up to LMI 0.26.
    """
    with pytest.raises(
        ValueError,
        match=f"LLM793 LMI {version} compiles NeuronX ahead of time in the folder of "
        "its input; choose LMI 0.27 or later",
    ):
        compiled(a_stack(), NeuronX(version, tensor_parallel_degree=8))


@pytest.mark.parametrize("version", ["0.27.0", "0.28.0", "0.30.0"])
def test_later_scripts_compile(version: str) -> None:
    """
    To the last image of NeuronX.
    """
    graphs = compiled(a_stack(), NeuronX(version, tensor_parallel_degree=8))

    assert graphs.model.compiled is not None
    assert graphs.model.compiled.image == version


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"model_loader": "optimum"},
            "model_loader must be 'tnx', got 'optimum'; leave model_loader out",
        ),
        ({"quantize": "awq"}, "quantize must be 'static_int8', got 'awq'"),
        ({"load_split_model": True}, "load_split_model is of weights or graphs that"),
        ({"compiled_graph_path": "/opt/it"}, "compiled_graph_path is of weights or"),
        (
            {"speculative_draft_model": "a/b"},
            "speculative_draft_model is nothing that LMI's script compiles",
        ),
        ({"speculative_length": 4}, "speculative_length is nothing that LMI's script"),
    ],
    ids=str,
)
def test_fails_if_the_script_does_not_compile_it(
    more: dict[str, Any], words: str
) -> None:
    """
    Each by its parameter.
    """
    serving = NeuronX("0.28.0", tensor_parallel_degree=8, **more)
    with pytest.raises(ValueError, match=f"LLM793 {words}"):
        compiled(a_stack(), serving)


def test_what_the_script_compiles_is_not_refused() -> None:
    """
    Whole numbers, the loader by its name, and weights that are said not to be split.
    """
    serving = NeuronX(
        "0.28.0",
        tensor_parallel_degree=8,
        model_loader="tnx",
        quantize="static_int8",
        load_split_model=False,
    )

    assert serving.compiling_findings() == []


TOO_OLD = (
    "LLM793 LMI 0.26.0 compiles NeuronX ahead of time in the folder of its input; "
    "choose LMI 0.27 or later"
)
SPLIT = (
    "LLM793 load_split_model is of weights or graphs that are there already; leave "
    "load_split_model out"
)
OTHERWISE = (
    "LLM775 the model was compiled otherwise: tensor_parallel_degree is 16 where it "
    "was 32; pass the serving of the StagedModel that compiled them, or compile anew"
)


def test_each_fault_of_one_configuration_is_told() -> None:
    """
    The version's as well.
    """
    serving = NeuronX("0.26.0", quantize="awq", load_split_model=True)

    assert [str(one) for one in serving.compiling_findings()] == [
        TOO_OLD,
        "LLM793 quantize must be 'static_int8', got 'awq'; leave quantize out",
        SPLIT,
    ]


def test_what_is_compiled_is_not_what_serves_it() -> None:
    """
    It is told to compile, by the loader that does, with all cores where no degree is
    said.
    """
    served = NeuronX("0.29.0", n_positions=512, precompiled=True)

    assert served.compiling(16) == NeuronX(
        "0.29.0", n_positions=512, tensor_parallel_degree=32, model_loader="tnx"
    )
    eight = NeuronX("0.29.0", tensor_parallel_degree=8)
    assert eight.compiling(16).tensor_parallel_degree == 8


@pytest.mark.parametrize(("accelerators", "words"), [(16, []), (8, [OTHERWISE])])
def test_all_cores_serve_where_no_degree_is_said(
    accelerators: int, words: list[str]
) -> None:
    """
    And must be as many as were compiled for.
    """
    made = Compilation(
        image="0.29.0",
        accelerator_model="Trainium",
        tensor_parallel_degree=32,
        options={"option.model_loader": "tnx", "option.rolling_batch": "auto"},
    )
    model = S3Model("s3://bucket/graphs/", compiled=made)
    found = NeuronX("0.29.0", precompiled=True).prepare(model, accelerators).findings

    assert [str(one) for one in found if one.code == "LLM775"] == words


@pytest.mark.parametrize(
    "other",
    [
        NeuronX("0.28.0", tensor_parallel_degree=8, n_positions=2048),
        NeuronX("0.29.0", tensor_parallel_degree=16, n_positions=2048),
        NeuronX("0.29.0", tensor_parallel_degree=8, n_positions=1024),
        NeuronX(
            "0.29.0",
            tensor_parallel_degree=8,
            n_positions=2048,
            max_rolling_batch_size=4,
        ),
    ],
)
def test_graphs_are_bound_to_what_they_were_compiled_with(other: NeuronX) -> None:
    """
    Image, degree and options: another prefix each, and refused in serving.
    """
    stack = a_stack()
    ours = compiled(stack)
    theirs = compiled(a_stack(), other)

    assert ours.s3_uri != theirs.s3_uri
    with pytest.raises(ValueError, match="LLM775 the model was compiled otherwise"):
        LlmEndpoint(
            stack, "Llm", model=ours.model, serving=theirs.serving, instance_type=TRN1
        )


@pytest.mark.parametrize(
    ("serving", "words"),
    [
        (EIGHT, r"LLM775 .* precompiled was left out"),
        (Vllm(), r"LLM775 the model was compiled ahead of time, got serving=Vllm"),
    ],
)
def test_graphs_are_served_by_what_loads_them(
    serving: NeuronX | Vllm, words: str
) -> None:
    """
    Another engine, and one that compiles by itself, are refused.
    """
    stack = a_stack()
    graphs = compiled(stack)
    with pytest.raises(ValueError, match=words):
        LlmEndpoint(
            stack, "Llm", model=graphs.model, serving=serving, instance_type=TRN1
        )


def test_graphs_of_trainium_run_on_no_other_chip() -> None:
    """
    Though Inferentia2 has the same cores.
    """
    stack = a_stack()
    graphs = compiled(stack)
    with pytest.raises(ValueError, match="LLM777 the engines were compiled for Train"):
        LlmEndpoint(
            stack,
            "Llm",
            model=graphs.model,
            serving=graphs.serving,
            instance_type="ml.inf2.48xlarge",
        )


def test_graphs_of_ones_own_are_named() -> None:
    """
    What was compiled by hand is loaded by the same loader, without a StagedModel.
    """
    serving = NeuronX("0.27.0", tensor_parallel_degree=8, precompiled=True)
    model = S3Model("s3://bucket/graphs/", architecture="MistralForCausalLM")
    container = serving.prepare(model, 4).container

    assert container is not None
    lines = container.files["serving.properties"].decode().splitlines()
    assert "option.model_loader=tnx" in lines
    assert "option.model_id=s3://bucket/graphs/" in lines


@pytest.mark.parametrize(
    ("more", "model", "words"),
    [
        ({"version": "0.26.0"}, None, "LLM793 precompiled is known from LMI 0.27 on"),
        (
            {"model_loader": "vllm"},
            None,
            "LLM793 model_loader must be 'tnx' for what was compiled ahead of time",
        ),
        ({}, ZEPHYR, "LLM795 what was compiled ahead of time is loaded from S3"),
    ],
    ids=str,
)
def test_fails_if_graphs_are_loaded_otherwise(
    more: dict[str, Any], model: HuggingFaceModel | None, words: str
) -> None:
    """
    Too early a version, another loader, and a model of the Hub.
    """
    given = {"version": "0.28.0", "tensor_parallel_degree": 8, **more}
    serving = NeuronX(given.pop("version"), precompiled=True, **given)
    source = model or S3Model("s3://bucket/graphs/", architecture="MistralForCausalLM")

    assert [
        one for one in serving.prepare(source, 4).findings if str(one).startswith(words)
    ]


def test_engines_are_no_graphs() -> None:
    """
    TensorRT-LLM's are of GPUs.
    """
    stack = a_stack()
    with pytest.raises(ValueError, match=r"ml\.g5\.12xlarge"):
        compiled(stack, EIGHT, "ml.g5.12xlarge")
    with pytest.raises(ValueError, match=r"ml\.trn1\.32xlarge"):
        compiled(a_stack(), TensorRtLlm("0.30.0"), TRN1)  # type: ignore[arg-type] # the other one
