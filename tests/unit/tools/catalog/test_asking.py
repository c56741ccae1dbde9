"""
Asking packages that declare their arguments as the engines do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
CONFIG = """
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

if TYPE_CHECKING:
    from vllm.methods import Methods
else:
    Methods = Any


@dataclass(config=ConfigDict(extra="forbid"))
class CacheConfig:
    block: Literal[16, 32] | None = None
    share: float = Field(default=0.9, gt=0, le=1)
    dtypes: list[str] = field(default_factory=lambda: ["auto"])
    device: torch.device | None = None
    method: Methods | None = None

    def __post_init__(self):
        raise RuntimeError("there is no accelerator on this machine")


@dataclass
class ModelConfig(torch.nn.Module):
    model: str = "a/b"
    is_eager: bool = False
    method: Methods | None = None
    length: int = Field(default=8, ge=1)
    cache: CacheConfig = Field(default_factory=CacheConfig)
"""
ARGUMENTS = """
import argparse
import dataclasses

import torch._C
import vllm._C
from vllm.config import ModelConfig
from vllm.platforms import current_platform


def optional_type(return_type):
    def _optional_type(value):
        return None if value == "None" else return_type(value)

    return _optional_type


def get_kwargs(cls):
    def parse_dataclass(value, cls=cls.__dataclass_fields__["cache"].type):
        return cls(value)

    found = {}
    for one in dataclasses.fields(cls):
        default = one.default
        if hasattr(default, "default_factory"):
            factory = default.default_factory
            default = factory() if factory else default.default
        found[one.name] = {"default": default}
    found["is_eager"]["action"] = argparse.BooleanOptionalAction
    found["method"]["type"] = optional_type(str)
    found["length"]["type"] = int
    found["cache"]["type"] = parse_dataclass
    return found


class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        group = parser.add_argument_group("Model")
        for name, words in get_kwargs(ModelConfig).items():
            group.add_argument(f"--{name.replace('_', '-')}", **words)
        if current_platform.device_type == "cuda":
            parser.add_argument("--graphs", "-g", type=int, choices=[2, 1])
        return parser


class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--log", action="store_true", help="It is deprecated.")
        return EngineArgs.add_cli_args(parser)
"""
FILES = {
    "__init__": "",
    "config": CONFIG,
    "methods": "from typing import Literal\nMethods = Literal['fp8', 'awq']",
    "platforms/__init__": "",
    "platforms/interface": """
import enum

class PlatformEnum(enum.Enum):
    CUDA = 1

class Platform:
    pass
""",
    "engine/__init__": "",
    "engine/arg_utils": ARGUMENTS,
    "entrypoints/__init__": "",
    "entrypoints/openai/__init__": "",
    "entrypoints/openai/cli_args": """
import uvloop
from vllm.engine.arg_utils import AsyncEngineArgs

@uvloop.kept
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--port", type=int, default=8000)
    return AsyncEngineArgs.add_cli_args(parser)
""",
}
ENGINE = {"default": None, "src": "engine"}


@pytest.fixture(name="answer", scope="module")
def _answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """
    Return what the program prints of a package that stands for vLLM.
    """
    folder = tmp_path_factory.mktemp("release")
    for name, text in FILES.items():
        path = folder / "vllm" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    program = [sys.executable, "-m", "tools.catalog.asking", "vllm", str(folder)]
    done = subprocess.run(
        [*program, "CacheConfig", "NoConfig"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("port", {"default": 8000, "type": "int", "src": "frontend"}),
        (
            "log",
            {
                "default": False,
                "type": "bool",
                "src": "async",
                "deprecated": "It is deprecated.",
            },
        ),
        ("model", {**ENGINE, "default": "a/b", "type": "str"}),
        (
            "is-eager",
            {
                **ENGINE,
                "default": False,
                "type": "bool",
                "no": True,
                "field": "is_eager",
            },
        ),
        ("method", {**ENGINE, "type": "str", "null": True, "known": ["awq", "fp8"]}),
        ("length", {**ENGINE, "default": 8, "type": "int", "bounds": {"ge": 1}}),
        (
            "cache",
            {
                **ENGINE,
                "default": "CacheConfig()",
                "type": "json",
                "schema": "CacheConfig",
            },
        ),
        ("graphs", {**ENGINE, "type": "int", "choices": [2, 1], "alias": ["-g"]}),
    ],
    ids=[
        "of the front end",
        "on its way out",
        "plain",
        "a switch",
        "known values",
        "bounds",
        "a configuration",
        "on an accelerator",
    ],
)
def test_rows(answer: dict[str, Any], name: str, row: dict[str, Any]) -> None:
    """
    The rows say how an argument reads its value, and who adds it.
    """
    assert answer["rows"][name] == {"field": name, **row}


def test_nothing_else_is_added(answer: dict[str, Any]) -> None:
    """
    What needs no dashes is none of an environment, and nothing wants a hand.
    """
    names = ["port", "log", "model", "is-eager", "method", "length", "cache", "graphs"]

    assert list(answer["rows"]) == names
    assert answer["wanting"] == {}


def test_configurations(answer: dict[str, Any]) -> None:
    """
    Keys with the kinds of their values, and whether others are refused.
    """
    assert answer["schemas"] == {
        "CacheConfig": {
            "keys": {
                "block": ["int", [16, 32]],
                "share": ["float", {"gt": 0, "le": 1}],
                "dtypes": ["list of str"],
                "device": ["str"],
                "method": ["str", ["awq", "fp8"]],
            },
            "rejects": True,
        }
    }
