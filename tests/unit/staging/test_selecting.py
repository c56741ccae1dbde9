"""
Which files of a repository are staged.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.signalling import StagingError
from cdk_sagemaker_llm.staging.transfer import select

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


@pytest.mark.parametrize(
    "path",
    [
        *("a.bin", "a.pt", "a.pth", "a.pkl", "a.ckpt"),
        *("a.h5", "a.msgpack", "a.onnx", "a.onnx_data", "a.ot", "a.tflite"),
        *("a.mlmodel", "a.gguf", "nested/a.bin"),
        *("original/tokenizer.model", "metal/config.json", "consolidated.json"),
    ],
)
def test_each_form_that_no_engine_needs_is_left_out(path: str) -> None:
    """
    By its ending, or by the folder of its maker's own.
    """
    assert chosen(*SMALL, SAFE, path) == [*SMALL, SAFE]


@pytest.mark.parametrize("path", ["original/a.safetensors", "metal/a.safetensors"])
def test_a_makers_own_form_is_taken_where_there_is_no_other(path: str) -> None:
    """
    With all that lies beside it, but for other formats.
    """
    paths = (*SMALL, path, "original/params.json", "pytorch_model.bin", "model.onnx")

    assert chosen(*paths) == [*SMALL, path, "original/params.json"]


def test_what_is_left_out_is_left_out_of_the_usual_files_too() -> None:
    """
    Weights as well: what is left is chosen of as if it were all.
    """
    assert chosen(*SMALL, SAFE, exclude=("*.md",)) == [
        "config.json",
        "tokenizer.json",
        SAFE,
    ]
    paths = (*SMALL, "a.safetensors", "consolidated.safetensors")
    assert chosen(*paths, exclude=("a.*", "*.md", "config.json")) == [
        "tokenizer.json",
        "consolidated.safetensors",
    ]
    with pytest.raises(StagingError, match=r"^the repository holds no weights, but RE"):
        chosen(*SMALL, SAFE, exclude=("*.safetensors",))


def test_what_is_left_out_is_matched_by_no_pattern() -> None:
    """
    Else it would be missing without a word.
    """
    words = r"^include='\*\.md' matches no file of the repository, which holds config"
    with pytest.raises(StagingError, match=words):
        chosen(*SMALL, include=("*.json", "*.md"), exclude=("*.md",))


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("c", "b", "a"), "a, b, c"),
        (("d", "c", "b", "a"), "a, b, c and 1 more"),
        (("e", "d", "c", "b", "a"), "a, b, c and 2 more"),
    ],
)
def test_three_files_are_named_and_others_counted(
    paths: tuple[str, ...], words: str
) -> None:
    """
    In the order of their names.
    """
    with pytest.raises(StagingError) as caught:
        chosen(*paths)
    assert str(caught.value) == f"the repository holds no weights, but {words}"


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
