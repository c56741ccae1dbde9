"""
Which LMI version and backend knows which option, and how it reads it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import (
    ARGUMENTS_SINCE,
    LmiVersion,
    OptionType,
    Span,
    deprecated_since,
    engine_argument_state,
    engine_arguments,
    front_end_type,
    is_known,
    option_names,
    option_spans,
    option_type,
)


def version(text: str) -> LmiVersion:
    """
    Return a version, such as of ``0.26.0``.
    """
    return LmiVersion.parse(text)


@pytest.mark.parametrize(
    ("span", "covered", "beyond"),
    [
        (Span("x", "0.26", "0.28"), ["0.26", "0.27", "0.28"], ["0.25", "0.29"]),
        (Span("x", "0.27", "0.27"), ["0.27"], ["0.26", "0.28"]),
        (Span("x", "0.35", None), ["0.35", "0.36", "0.36-lmi27"], ["0.34"]),
        # What the tables do not describe is later than they are.
        (Span("x", "0.35", "0.40"), ["0.36-lmi27"], ["0.34"]),
    ],
)
def test_a_span_covers_both_its_ends(
    span: Span, covered: list[str], beyond: list[str]
) -> None:
    """
    And is open without a last.
    """
    assert [span.covers(row) for row in covered] == [True] * len(covered)
    assert [span.covers(row) for row in beyond] == [False] * len(beyond)


@pytest.mark.parametrize(
    ("backend", "key", "at", "expected"),
    [
        ("vllm", "option.max_loras", "0.26.0", None),
        ("vllm", "option.max_loras", "0.27.0", OptionType(kind="int")),
        (
            "lmi-dist",
            "option.quantize",
            "0.27.0",
            OptionType(kind="enum", choices=("awq", "gptq", "squeezellm")),
        ),
        ("lmi-dist", "option.quantize", "0.31.0", OptionType(kind="str")),
        ("lmi-dist", "option.quantize", "0.35.0", None),
        (
            "neuronx",
            "option.neuron_optimize_level",
            "0.26.0",
            OptionType(kind="int-enum", choices=("1", "2", "3")),
        ),
        # By its other name.
        ("vllm", "option.max_num_batched_tokens", "0.32.0", OptionType(kind="int")),
        ("vllm", "option.max_num_batched_tokens", "0.31.0", None),
        # Of the series' middle, what the later end says, or else the earlier.
        ("vllm", "option.normalize", "0.36.0-lmi18", None),
        ("vllm", "option.normalize", "0.36.0-lmi20", OptionType(kind="bool")),
        ("vllm", "option.chat_template", "0.36.0-lmi20", OptionType(kind="str")),
        # By the documentation alone.
        (
            "trtllm",
            "option.max_input_len",
            "0.26.0",
            OptionType(kind="int", documented_only=True, above=0),
        ),
        ("trtllm", "option.max_input_len", "0.33.0", OptionType(kind="int")),
        (
            "trtllm",
            "option.smoothquant_alpha",
            "0.26.0",
            OptionType(kind="float", documented_only=True, range=(0, 1)),
        ),
        (
            "trtllm",
            "option.quantize",
            "0.26.0",
            OptionType(
                kind="enum",
                choices=("smoothquant", "awq", "fp8"),
                documented_only=True,
            ),
        ),
        ("trtllm", "option.quantize", "0.25.0", None),
        ("trtllm", "option.use_custom_all_reduce", "0.30.0", None),
        ("vllm", "option.max_input_len", "0.26.0", None),
        ("nothing", "option.quantize", "0.26.0", None),
        ("vllm", "option.nothing", "0.26.0", None),
        ("vllm", "option.max_model_len", "0.24.0", None),
    ],
)
def test_a_backend_reads_an_option_as_its_version_does(
    backend: str, key: str, at: str, expected: OptionType | None
) -> None:
    """
    Kind, choices, and what is documented of it.
    """
    assert option_type(backend, key, version(at)) == expected


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("job_queue_size", "int"),
        ("option.tensor_parallel_degree", "int-or-max"),
        ("option.entryPoint", "str"),
        ("option.mpi_mode", "bool"),
        ("option.max_model_len", None),
    ],
)
def test_the_server_reads_some_keys_itself(key: str, kind: str | None) -> None:
    """
    With a prefix and without.
    """
    assert front_end_type(key) == (OptionType(kind=kind) if kind else None)


@pytest.mark.parametrize(
    ("key", "spans"),
    [
        ("option.nothing", []),
        (
            "log_request_metric",
            [Span("server", "0.27", None)],
        ),
        ("log_model_metric", [Span("server", "0.25", "0.26")]),
        # Documented from 0.26 on, which does not say that it began there.
        (
            "job_queue_size",
            [Span("server", "0.25", None), Span("common", "0.25", None)],
        ),
        (
            "option.decoding_strategy",
            [Span("hf", "0.25", "0.26"), Span("scheduler", "0.26", "0.32")],
        ),
        (
            "option.max_num_tokens",
            [Span("trtllm", "0.27", None), Span("trtllm", "0.33", "0.36-lmi27")],
        ),
        ("option.quantization", [Span("vllm", "0.32", "0.36-lmi27")]),
        (
            "option.on_device_embedding",
            [
                Span("neuronx", "0.27", "0.27"),
                Span("neuronx", "0.30", "0.30"),
                Span("neuronx", "0.31", "0.34"),
            ],
        ),
    ],
)
def test_where_an_option_is_known_is_told_oldest_first(
    key: str, spans: list[Span]
) -> None:
    """
    By the server, the documentation, and each backend's own model.
    """
    assert list(option_spans(key)) == spans


@pytest.mark.parametrize(
    ("key", "backends", "at", "known"),
    [
        ("option.max_loras", ["vllm"], "0.27.0", True),
        ("option.max_loras", ["vllm"], "0.26.0", False),
        ("option.max_loras", ["trtllm"], "0.27.0", False),
        ("option.max_loras", [], "0.27.0", False),
        # Everyone's and the server's are known whatever the backend.
        ("option.waiting_steps", [], "0.26.0", True),
        ("option.waiting_steps", [], "0.25.0", False),
        ("job_queue_size", [], "0.26.0", True),
        ("log_request_metric", [], "0.26.0", False),
        # Of the series' middle, one of the ends is enough.
        ("option.normalize", ["vllm"], "0.36.0-lmi20", True),
        ("option.normalize", ["vllm"], "0.36.0-lmi18", False),
        ("option.max_loras", ["vllm"], "0.24.0", False),
    ],
)
def test_an_option_is_known_where_one_of_its_readers_is(
    key: str, backends: list[str], at: str, *, known: bool
) -> None:
    """
    At that version.
    """
    assert is_known(key, backends, version(at)) is known


def test_all_names_are_there_once_and_in_order() -> None:
    """
    Of the server, the documentation, and the backends.
    """
    names = option_names()

    assert list(names) == sorted(set(names))
    assert {
        "engine",
        "option.entryPoint",
        "option.awq_format",
        "option.max_model_len",
    } <= set(names)
    assert "option.quantization" not in names


@pytest.mark.parametrize(
    ("key", "since"),
    [
        ("option.enable_streaming", "0.25.0"),
        ("option.load_in_8bit", "0.25.0"),
        ("option.max_model_len", None),
        ("option.nothing", None),
    ],
)
def test_an_option_is_deprecated_by_its_documentation(
    key: str, since: str | None
) -> None:
    """
    Or is not.
    """
    assert deprecated_since(key) == since


@pytest.mark.parametrize(
    ("name", "at", "state"),
    [
        # Of the older list and the newer, of one of them, and of neither.
        ("seed", "0.32.0", "known"),
        ("seed", "0.36.0", "known"),
        ("rope_scaling", "0.32.0", "known"),
        ("rope_scaling", "0.33.0", "known"),
        # vLLM 0.10.2 has it still, as its table says.
        ("rope_scaling", "0.34.0", "known"),
        ("rope_scaling", "0.36.0", "doubtful"),
        ("async_scheduling", "0.32.0", "unknown"),
        ("async_scheduling", "0.33.0", "unknown"),
        ("async_scheduling", "0.34.0", "known"),
        ("nothing", "0.33.0", "unknown"),
        ("nothing", "0.36.0", "unknown"),
    ],
)
def test_vllm_takes_an_argument_or_seems_not_to(name: str, at: str, state: str) -> None:
    """
    What the newer list lacks is doubtful: nobody has read its source.
    """
    assert engine_argument_state(name, version(at)) == state


def test_the_arguments_of_both_lists_are_known() -> None:
    """
    They pass through from 0.32 on.
    """
    assert {"rope_scaling", "async_scheduling", "seed"} <= engine_arguments()
    assert "nothing" not in engine_arguments()
    assert ARGUMENTS_SINCE == "0.32"
