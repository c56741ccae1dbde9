"""
How the engines' parsers read a value, of each kind on both sides of its limits.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    find_argument,
)
from cdk_sagemaker_llm.serving.engines.argument_values import (
    ValueFaultError,
    bound_faults,
    instead_of,
    later_fault,
    object_fault,
    read_value,
)

LATE, EARLY = "0.30.0", "0.19.0"
K = "such as 8192, 8k (8000) or 8K (8192)"
KI = "such as 8192, 8k (8000) or 8Ki (8192)"
ADAPTER = 'name=path, or JSON such as {"name": "a", "path": "/b"}'


def an(kind: str, name: str = "it", **more: Any) -> EngineArgument:  # noqa: ANN401 - any field
    """
    Return an argument of a kind.
    """
    return EngineArgument(name=name, kind=kind, **more)


AUTO = an("human_int_or_auto")
LORA = an("str", action="LoRAParserAction")
GRAPHS = an("json", "cuda-graph-config")
LEVEL = an("str", "log-level")


@pytest.mark.parametrize(
    ("argument", "engine", "release", "text", "expected"),
    [
        (an("str"), "vllm", LATE, "a", "a"),
        (an("int"), "vllm", LATE, "-3", -3),
        (an("float"), "vllm", LATE, "0.5", 0.5),
        (an("bool"), "vllm", LATE, "True", True),
        (an("bool"), "vllm", LATE, "false", False),
        (an("json"), "vllm", LATE, '{"a": [1]}', {"a": [1]}),
        (an("json_or_str"), "vllm", LATE, "{ab", "{ab"),
        (an("json_or_str"), "vllm", LATE, ' {"a": 1} ', {"a": 1}),
        (an("kvs"), "vllm", LATE, "image=4, video =1", {"image": 4, "video": 1}),
        (an("int", allows_none=True), "vllm", LATE, "None", None),
        (an("int", allows_none=True), "vllm", LATE, "", None),
        (an("str"), "vllm", LATE, "None", "None"),
        (an("str", choices=("a_b",), folds=True), "vllm", LATE, "A-B", "a_b"),
        (an("human_int"), "vllm", LATE, "8192", 8192),
        (an("human_int"), "vllm", LATE, "8k", 8000),
        (an("human_int"), "vllm", LATE, "8K", 8192),
        (an("human_int"), "vllm", LATE, "1.5k", 1500),
        (an("human_int"), "vllm", LATE, "2m", 2_000_000),
        (an("human_int"), "vllm", LATE, "2M", 2 * 2**20),
        (an("human_int"), "vllm", LATE, "2g", 2 * 10**9),
        (an("human_int"), "vllm", LATE, "2G", 2 * 2**30),
        (an("human_int"), "vllm", LATE, "2t", 2 * 10**12),
        (an("human_int"), "vllm", "0.20.0", "2T", 2 * 2**40),
        (an("human_int_or_auto"), "vllm", LATE, "auto", -1),
        (an("human_int_or_auto"), "vllm", LATE, " AUTO ", -1),
        (an("human_int_or_auto"), "vllm", LATE, "-1", -1),
        (an("human_int"), "sglang", "0.5.19", "8k", 8000),
        (an("human_int"), "sglang", "0.5.19", "8Ki", 8192),
        (an("human_int"), "sglang", "0.5.19", "8M", 8_000_000),
        (an("human_int"), "sglang", "0.5.19", "1.5M", 1_500_000),
        (LORA, "vllm", LATE, "a=/b", "a=/b"),
        (LORA, "vllm", LATE, "a=/b=c", "a=/b=c"),
        (LORA, "vllm", "0.29.0", "a=/b", "a=/b"),
        (LORA, "vllm", LATE, "", ""),
        (
            LORA,
            "vllm",
            LATE,
            '{"name": "a", "path": "/b"}',
            '{"name": "a", "path": "/b"}',
        ),
        (GRAPHS, "sglang", "0.5.19", '{"decode": {}}', {"decode": {}}),
        (GRAPHS, "vllm", LATE, '{"any": 1}', {"any": 1}),
        (LEVEL, "sglang", "0.5.19", "WARN", "WARN"),
        (LEVEL, "sglang", "0.5.19", "notset", "notset"),
        (LEVEL, "vllm", LATE, "loud", "loud"),
    ],
)
def test_each_kind_is_read_as_the_parser_reads_it(
    argument: EngineArgument, engine: Engine, release: str, text: str, expected: object
) -> None:
    """
    vLLM's sizes in capitals are of 1,024, SGLang's with an i behind them.
    """
    found = read_value(argument, text, engine=engine, release=release)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("argument", "engine", "release", "text", "fault"),
    [
        (an("int"), "vllm", LATE, "3.0", "a whole number"),
        (an("float"), "vllm", LATE, "half", "a number"),
        (an("bool"), "vllm", LATE, "yes", "true or false"),
        (
            an("json"),
            "vllm",
            LATE,
            "",
            "JSON (Expecting value: line 1 column 1 (char 0))",
        ),
        (
            an("json_or_str"),
            "vllm",
            LATE,
            "{}{}",
            "JSON (Extra data: line 1 column 3 (char 2))",
        ),
        (an("kvs"), "vllm", LATE, "image", "pairs such as image=4,video=1"),
        (an("kvs"), "vllm", LATE, "image=a", "pairs such as image=4,video=1"),
        (an("kvs"), "vllm", LATE, "a=b=1", "pairs such as image=4,video=1"),
        (an("int"), "vllm", LATE, "None", "a whole number"),
        (an("str", choices=("on", "off")), "vllm", LATE, "zzz", "on or off"),
        (
            an("str", choices=("awq", "gptq", "fp8")),
            "vllm",
            LATE,
            "gptqq",
            "awq, gptq or fp8 (did you mean gptq?)",
        ),
        (
            an("str", choices=("half", "full"), allows_none=True),
            "vllm",
            LATE,
            "",
            "half or full",
        ),
        (an("human_int"), "vllm", LATE, "8Ki", f"a whole number {K}"),
        (an("human_int"), "vllm", LATE, "1.5K", f"a whole number {K}"),
        (an("human_int"), "vllm", EARLY, "2t", f"a whole number {K}"),
        (an("human_int"), "vllm", LATE, "auto", f"a whole number {K}"),
        (AUTO, "vllm", LATE, "many", f"a whole number {K}, or auto"),
        (
            AUTO,
            "vllm",
            EARLY,
            " auto",
            f"a whole number {K}, or auto",
        ),
        (an("human_int"), "sglang", "0.5.19", "8K", f"a whole number {KI}"),
        (an("human_int"), "sglang", "0.5.19", "1.5Mi", f"a whole number {KI}"),
        (an("human_int"), "vllm", LATE, "1" * 310 + "k", f"a whole number {K}"),
        (LORA, "vllm", LATE, "a", ADAPTER),
        (LORA, "vllm", "0.29.0", "a=/b=c", ADAPTER),
        (LORA, "vllm", LATE, '{"name": "a"}', ADAPTER),
        (LORA, "vllm", LATE, "a=/b,c=/d", ADAPTER),
        (
            GRAPHS,
            "sglang",
            "0.5.19",
            '{"decode": 1}',
            'a JSON object such as {"decode": {"max_bs": 64}}',
        ),
        (
            GRAPHS,
            "sglang",
            "0.5.19",
            '{"both": {}}',
            'a JSON object such as {"decode": {"max_bs": 64}}',
        ),
        (
            LEVEL,
            "sglang",
            "0.5.19",
            "inf",
            "critical, error, warning, info or debug (did you mean info?)",
        ),
    ],
)
def test_what_the_parser_does_not_take_is_said_to_be_something_else(
    argument: EngineArgument, engine: Engine, release: str, text: str, fault: str
) -> None:
    """
    In words that go on after "must be".
    """
    with pytest.raises(ValueFaultError) as raised:
        read_value(argument, text, engine=engine, release=release)

    assert str(raised.value) == fault


@pytest.mark.parametrize(
    ("text", "release", "is_taken"),
    [
        ('{"cudagraph_capture_sizes": [1, 2]}', LATE, True),
        ('{"max_cudagraph_capture_size": 8k}', LATE, True),
        ('{"max_cudagraph_capture_size": 1.5K}', LATE, True),
        ('{"max_cudagraph_capture_size": 8k}', EARLY, False),
        ('{"backend": "8k \\" 8k"}', LATE, True),
        ('{"cudagraph_capture_sizes": "1"}', LATE, False),
        ('{"cudagraph_capture_sizes": ["a"]}', LATE, False),
        ('{"unheard_of": 1}', LATE, False),
        ("[1]", LATE, False),
    ],
)
def test_a_configuration_class_takes_its_own_keys(
    text: str, release: str, *, is_taken: bool
) -> None:
    """
    Of their kinds; a size such as 8k stands in JSON since vLLM 0.20, outside of texts.
    """
    argument = find_argument("vllm", "compilation-config", release)
    assert argument is not None

    def read() -> object:
        return read_value(argument, text, engine="vllm", release=release)

    if is_taken:
        assert isinstance(read(), dict)
    else:
        with pytest.raises(ValueFaultError):
            read()


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, ""),
        ([], "a JSON object"),
        ({"method": "ngram"}, ""),
        ({"num-speculative-tokens": 3}, ""),
        (
            {"num_speculative_token": 3},
            (
                "JSON without the key 'num_speculative_token', which this release does "
                "not know (did you mean num_speculative_tokens?)"
            ),
        ),
        (
            {"num_speculative_tokens": 0.5},
            "JSON whose 'num_speculative_tokens' is a whole number",
        ),
        ({"num_speculative_tokens": "3"}, ""),
        (
            {"num_speculative_tokens": 0},
            "JSON whose 'num_speculative_tokens' is above 0",
        ),
        ({"enforce_eager": "YES"}, ""),
        ({"enforce_eager": 1}, ""),
        ({"enforce_eager": 2}, "JSON whose 'enforce_eager' is true or false"),
        ({"enforce_eager": []}, "JSON whose 'enforce_eager' is true or false"),
        ({"model": 3}, "JSON whose 'model' is a text"),
        ({"model": None}, ""),
    ],
)
def test_json_that_is_read_later_has_its_class_too(value: object, fault: str) -> None:
    """
    A dash stands for an underscore, as the engine has it.
    """
    argument = an("json", "speculative-config")

    assert later_fault(argument, value, LATE) == fault
    assert later_fault(an("json", "other-config"), value, LATE) == ""


def test_a_connector_of_caches_has_a_role() -> None:
    """
    One is asked for beside the other.
    """
    named = {"kv_connector": "OffloadingConnector"}

    assert object_fault(named, "KVTransferConfig", LATE) == (
        "JSON with 'kv_role' beside 'kv_connector'"
    )
    assert object_fault({**named, "kv_role": "kv_both"}, "KVTransferConfig", LATE) == ""
    assert object_fault({}, "KVTransferConfig", LATE) == ""
    assert object_fault([], "KVTransferConfig", LATE) == "a JSON object"


@pytest.mark.parametrize(
    ("bounds", "value", "fault"),
    [
        ({"ge": 1}, 1, ""),
        ({"ge": 1}, 0, "at least 1"),
        ({"gt": 0}, 0.1, ""),
        ({"gt": 0}, 0, "above 0"),
        ({"le": 1}, 1, ""),
        ({"le": 1}, 1.1, "at most 1"),
        ({"lt": 1}, 0.9, ""),
        ({"lt": 1}, 1, "below 1"),
        ({"gt": 0, "le": 1}, 2, "at most 1"),
        ({"ge": 3, "lt": 2}, 2.5, "at least 3 and below 2"),
        ({"ge": 1}, None, ""),
        ({"ge": 1}, "0", ""),
    ],
)
def test_a_number_is_within_its_bounds(
    bounds: dict[str, float], value: object, fault: str
) -> None:
    """
    What is no number has none.
    """
    assert bound_faults(an("float", bounds=bounds), value) == fault


def test_another_name_is_proposed() -> None:
    """
    The nearest, or the first eight.
    """
    names = tuple("abcdefghi")

    assert instead_of("hermess", ["hermes", "mistral"]) == "did you mean hermes?"
    assert instead_of("zzz", names) == "it has a, b, c, d, e, f, g or h"
