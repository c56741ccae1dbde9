"""
Unchecked options that say again what a parameter, or an option, says.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlamaCpp,
    LmiVllm,
    S3Model,
    ServingConfiguration,
    Sglang,
    TextEmbeddings,
    Vllm,
    VllmNeuron,
    VllmOmni,
)
from cdk_sagemaker_llm.catalog.engine_arguments import EngineArgument
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    UntellableError,
    Written,
    plain_name,
    plain_text,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import EntryPoint
from tests.unit.serving.answers import container_of

MODEL = HuggingFaceModel("a/b")
ON_S3 = S3Model("s3://bucket/prefix/")

BY_PARAMETER: dict[str, tuple[ServingConfiguration, str, str]] = {
    "the same name": (
        Vllm(max_model_len=4096, unchecked_options={"max-model-len": "8192"}),
        "max-model-len",
        "the parameter max_model_len",
    ),
    "the form that switches off": (
        Vllm(
            enable_prefix_caching=True,
            unchecked_options={"no_enable_prefix_caching": "true"},
        ),
        "no_enable_prefix_caching",
        "the parameter enable_prefix_caching",
    ),
    "another spelling": (
        Sglang(tp_size=1, unchecked_options={"tensor-parallel-size": "1"}),
        "tensor-parallel-size",
        "the parameter tp_size",
    ),
    "a beginning": (
        Sglang(context_length=8192, unchecked_options={"context-len": "4096"}),
        "context-len",
        "the parameter context_length",
    ),
    "llama.cpp": (
        LlamaCpp(ctx_size=8192, unchecked_options={"CTX_SIZE": "1"}),
        "CTX_SIZE",
        "the parameter ctx_size",
    ),
    "another spelling of llama.cpp": (
        LlamaCpp(n_gpu_layers=8, unchecked_options={"gpu-layers": "9"}),
        "gpu-layers",
        "the parameter n_gpu_layers",
    ),
    "TEI": (
        TextEmbeddings(dtype="float32", unchecked_options={"DTYPE": "float16"}),
        "DTYPE",
        "the parameter dtype",
    ),
    "vLLM-Omni's own": (
        VllmOmni(num_gpus=1, unchecked_options={"num_gpus": "2"}),
        "num_gpus",
        "the parameter num_gpus",
    ),
    "vLLM's in vLLM-Omni": (
        VllmOmni(max_model_len=4096, unchecked_options={"max_model_len": "2"}),
        "max_model_len",
        "the parameter max_model_len",
    ),
    "Neuron": (
        VllmNeuron(batch_size=1, unchecked_options={"batch_size": "2"}),
        "batch_size",
        "the parameter batch_size",
    ),
    "options": (
        Vllm(options={"max_logprobs": 4}, unchecked_options={"--max-logprobs": "5"}),
        "--max-logprobs",
        "options['max_logprobs']",
    ),
    "options of TEI": (
        TextEmbeddings(
            options={"api_key": "guess"}, unchecked_options={"API_KEY": "x"}
        ),
        "API_KEY",
        "options['api_key']",
    ),
}


@pytest.mark.parametrize("case", BY_PARAMETER)
def test_what_is_said_already_is_refused(case: str) -> None:
    """
    It would win over a parameter, or an option, without a word.
    """
    serving, spelling, other = BY_PARAMETER[case]
    prepared = serving.prepare(MODEL, 1)

    assert prepared.container is None
    assert (
        f"LLM113 unchecked_options repeats {spelling}, which {other} says already; "
        "keep one of them"
    ) in list(map(str, prepared.findings))


def test_llama_cpps_file_of_weights_is_said_once() -> None:
    """
    Its name is no argument of ``options``, but is written as one.
    """
    serving = LlamaCpp(model="a.gguf", unchecked_options={"model": "/b.gguf"})

    assert [str(one) for one in serving.prepare(ON_S3, 0).findings] == [
        (
            "LLM113 unchecked_options repeats model, which the parameter model says "
            "already; keep one of them"
        )
    ]


@pytest.mark.parametrize(
    ("serving", "variable", "value"),
    [
        (
            Vllm(unchecked_options={"tensor-parallel-size": "1"}),
            "SM_VLLM_TENSOR_PARALLEL_SIZE",
            "1",
        ),
        (
            Vllm(unchecked_options={"model": "/opt/ml/model/inner"}),
            "SM_VLLM_MODEL",
            "/opt/ml/model/inner",
        ),
        (
            LlamaCpp(unchecked_options={"n_gpu_layers": "20"}),
            "SM_LLAMA_CPP_N_GPU_LAYERS",
            "20",
        ),
    ],
    ids=["split", "model", "layers"],
)
def test_what_is_worked_out_gives_way(
    serving: ServingConfiguration, variable: str, value: str
) -> None:
    """
    Nobody said it: the unchecked option is the way past it.
    """
    environment = container_of(serving, MODEL, 2).environment

    assert environment[variable] == value


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("--Max_Model-len", "max-model-len"), ("-tp", "tp"), ("", "")],
)
def test_spellings_are_told_apart_by_their_letters(spelling: str, name: str) -> None:
    """
    Dashes in front, capitals and underscores do not matter.
    """
    assert plain_name(spelling) == name


def test_another_spelling_in_options_is_llama_cpps_own_name() -> None:
    """
    Written beside the class's own default both would be passed on.
    """
    given: dict[str, Any] = {"options": {"rerank": True}}

    assert (
        container_of(LlamaCpp(**given), MODEL, 0).environment["SM_LLAMA_CPP_RERANKING"]
        == "true"
    )


def test_lmi_is_told_once() -> None:
    """
    Its unchecked options are told apart by their whole names.
    """
    serving = LmiVllm(
        options={"option.max_logprobs": 4},
        unchecked_options={"option.max_logprobs": 5, "option.brand_new": 1},
    )

    assert [str(one) for one in serving.prepare(MODEL, 1).findings] == [
        (
            "LLM113 unchecked_options repeats option.max_logprobs, which options says "
            "already; keep one of them"
        )
    ]


PLAIN = EntryPoint(name="plain", prefix="SM_X_")
TEXTS = EntryPoint(name="texts", prefix="SM_X_", reads_truth=False, reads_lines=False)
SPREADS = EntryPoint(name="spreads", prefix="SM_X_", spreads_lists=True)
KEEPS = EntryPoint(name="keeps", prefix="SM_X_", supervisor="keeps")
JOINS = EntryPoint(name="joins", prefix="SM_X_", supervisor="joins")
IT = EngineArgument(name="it")
SWITCH = EngineArgument(name="it", kind="bool")
SEVERAL = EngineArgument(name="it", nargs="+")


@pytest.mark.parametrize(
    ("argument", "value", "rule", "expected"),
    [
        (IT, "a", PLAIN, {"SM_X_IT": "a"}),
        (IT, 3, PLAIN, {"SM_X_IT": "3"}),
        (IT, 0.5, PLAIN, {"SM_X_IT": "0.5"}),
        (IT, -1, PLAIN, {"SM_X_IT": "-1"}),
        (IT, {"a": [1, True]}, PLAIN, {"SM_X_IT": '{"a":[1,true]}'}),
        (IT, ["a", "b"], PLAIN, {"SM_X_IT": '["a","b"]'}),
        (IT, "true", TEXTS, {"SM_X_IT": "true"}),
        (IT, "a\nb", TEXTS, {"SM_X_IT": "a\nb"}),
        (SWITCH, True, PLAIN, {"SM_X_IT": "true"}),
        (SWITCH, True, TEXTS, {"SM_X_IT": ""}),
        (SWITCH, False, PLAIN, {}),
        (SWITCH._replace(has_negative=True), False, PLAIN, {"SM_X_NO_IT": "true"}),
        (SWITCH._replace(has_negative=True), False, TEXTS, {"SM_X_NO_IT": ""}),
        (SWITCH._replace(takes_truth=True), "on", PLAIN, {"SM_X_IT": "on"}),
        (SWITCH._replace(takes_truth=True), True, PLAIN, {"SM_X_IT": "true"}),
        (SEVERAL, ["a"], PLAIN, {"SM_X_IT": "a"}),
        (SEVERAL, ["a", "é"], SPREADS, {"SM_X_IT": '["a","é"]'}),
        (SEVERAL, ["[1]"], SPREADS, {"SM_X_IT": '["[1]"]'}),
        (IT._replace(is_csv=True), ["a", 2], PLAIN, {"SM_X_IT": "a,2"}),
        (IT, "5%", KEEPS, {"SM_X_IT": "5%%"}),
        (IT, "a b", KEEPS, {"SM_X_IT": "a b"}),
    ],
)
def test_an_argument_is_written_so_that_it_arrives(
    argument: EngineArgument,
    value: ArgumentValue,
    rule: EntryPoint,
    expected: dict[str, str],
) -> None:
    """
    As the image's entry point reads it.
    """
    assert write(argument, value, rule) == Written(expected)


def test_what_a_supervisor_cannot_hand_on_needs_none() -> None:
    """
    One that puts blanks between arguments takes them apart there.
    """
    written = Written({"SM_X_IT": "a b"}, needs_no_supervisor=True)

    assert write(IT, "a b", JOINS) == written


@pytest.mark.parametrize(
    ("argument", "value", "rule", "message"),
    [
        (SEVERAL, [], PLAIN, "an empty list cannot be told: leave it out"),
        (
            SEVERAL,
            ["a", "b"],
            PLAIN,
            "this image takes one value for each variable, got 2",
        ),
        (SWITCH, "on", PLAIN, "it takes True or False, got 'on'"),
        (
            SWITCH._replace(default=True),
            False,
            PLAIN,
            (
                "it is on unless the engine is told otherwise, and has no argument "
                "that switches it off"
            ),
        ),
        (
            IT,
            "-a",
            PLAIN,
            "it begins with a dash: the engine's parser takes it for another argument",
        ),
        (
            IT,
            -0.5,
            PLAIN,
            "it begins with a dash: the engine's parser takes it for another argument",
        ),
        (
            IT,
            "",
            PLAIN,
            "an empty value cannot be told: the argument would stand alone",
        ),
        (
            IT,
            " TRUE",
            PLAIN._replace(trims=True),
            "the text ' TRUE' cannot be told: it is read as a switch",
        ),
        (
            IT,
            "a\nb",
            PLAIN,
            "it has more than one line, and only the first would be read",
        ),
        (IT, "a=", PLAIN, "it ends in its only '=', which would be lost"),
        (
            IT,
            {"a": float},
            PLAIN,
            (
                "it is not what JSON can say: Object of type type is not JSON "
                "serializable"
            ),
        ),
        (
            IT,
            "a",
            PLAIN._replace(consumed=("IT",)),
            "the entry point would make something else of 'a'",
        ),
    ],
)
def test_fails_if_the_entry_point_cannot_be_told(
    argument: EngineArgument, value: ArgumentValue, rule: EntryPoint, message: str
) -> None:
    """
    With why.
    """
    with pytest.raises(UntellableError) as raised:
        write(argument, value, rule)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        ({"a": None}, '{"a":null}'),
        (["a", 1], '["a",1]'),
    ],
)
def test_a_value_is_a_text(value: object, expected: str) -> None:
    """
    As an engine's parser reads it.
    """
    assert plain_text(value) == expected
