"""
Which files of a repository are staged.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.selecting import select

SMALL = ("README.md", "config.json", "tokenizer.json")
SAFE = "model.safetensors"


def chosen(
    *paths: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()
) -> list[str]:
    """
    Choose of files by their paths.
    """
    files = [HubFile(path, 1, "git:0") for path in paths]
    return [one.path for one in select(files, include, exclude)]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ((*SMALL, SAFE), [*SMALL, SAFE]),
        # The same weights in other forms, and in their maker's own.
        (
            (
                *SMALL,
                SAFE,
                "pytorch_model.bin",
                "tf_model.h5",
                "flax_model.msgpack",
                "onnx/model.onnx",
                "model-Q4_K_M.gguf",
                "original/consolidated.00.pth",
                "consolidated.safetensors",
            ),
            [*SMALL, SAFE],
        ),
        # The maker's own form alone.
        ((*SMALL, "consolidated.safetensors"), [*SMALL, "consolidated.safetensors"]),
    ],
)
def test_what_an_engine_needs_is_chosen(
    paths: tuple[str, ...], expected: list[str]
) -> None:
    """
    Safetensors where there are any, and what is small.
    """
    assert chosen(*paths) == expected


def test_patterns_are_the_users_own() -> None:
    """
    A file must match one of them, and none of those that leave out.
    """
    paths = (*SMALL, "a-Q4_K_M.gguf", "a-Q8_0.gguf", "pytorch_model.bin")

    assert chosen(*paths, include=("*.json", "*Q8_0.gguf")) == [
        "config.json",
        "tokenizer.json",
        "a-Q8_0.gguf",
    ]
    assert chosen(*paths, include=("*",), exclude=("*.gguf", "*.md")) == [
        "config.json",
        "tokenizer.json",
        "pytorch_model.bin",
    ]


@pytest.mark.parametrize(
    ("paths", "include", "message"),
    [
        (
            (*SMALL, "pytorch_model.bin"),
            (),
            r"weights as pickles alone \(pytorch_model\.bin\).*include=\['\*'\]",
        ),
        (
            (*SMALL, "a.gguf", "b.gguf"),
            (),
            r"holds GGUF files \(a\.gguf, b\.gguf\); pass include=\['a\.gguf'\]",
        ),
        (SMALL, (), r"holds no weights, but README\.md, config\.json, tokenizer\.json"),
        (
            (*SMALL, SAFE),
            ("*.bin",),
            r"include='\*\.bin' matches no file .* README\.md, config\.json, model\.",
        ),
        ((), (), "holds no weights, but none"),
    ],
)
def test_fails_if_nothing_could_be_served(
    paths: tuple[str, ...], include: tuple[str, ...], message: str
) -> None:
    """
    What is there is said, and how to take it.
    """
    with pytest.raises(StagingError, match=message):
        chosen(*paths, include=include)
