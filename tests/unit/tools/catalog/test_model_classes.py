"""
Rebuilding the tables of what releases load, from packages as engines publish them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tools.catalog.written import written
from tools.catalog.model_classes import (
    CATALOG,
    TABLES,
    chosen_releases,
    main,
    patch_inside,
    render,
    replaced,
    spans_of,
)
from tools.catalog.registries import Registered, read_registries

VLLM = {
    "vllm/model_executor/models/registry.py": """
_TEXT_GENERATION_MODELS = {
    "PlainForCausalLM": ("plain", "PlainForCausalLM"),
    "OtherForCausalLM": ("vllm.models.other", "OtherForCausalLM"),
}
_EMBEDDING_MODELS = {"PlainModel": ("plain", "PlainModel")}
_TRANSFORMERS_SUPPORTED_MODELS = {"ByForCausalLM": ("plain", "ByForCausalLM")}
_VLLM_MODELS = {**_TEXT_GENERATION_MODELS}
_PREVIOUSLY_SUPPORTED_MODELS = {"GoneForCausalLM": "0.1"}
""",
    "vllm/model_executor/models/plain.py": """
from .interfaces import SupportsLoRA as Adapts, SupportsPP
class PlainForCausalLM(Adapts, SupportsPP): ...
class PlainModel(as_embedding_model(PlainForCausalLM)): ...
class ByForCausalLM: ...
""",
    "vllm/model_executor/models/interfaces.py": """
class SupportsLoRA: ...
class SupportsPP: ...
""",
    "vllm/models/other/__init__.py": """
if current_platform.is_rocm():
    from .amd import OtherForCausalLM
else:
    from .nvidia import OtherForCausalLM
""",
    "vllm/models/other/amd.py": """
from vllm.model_executor.models.interfaces import SupportsLoRA
class OtherForCausalLM(SupportsLoRA): ...
""",
    "vllm/models/other/nvidia.py": """
from vllm.model_executor.models.interfaces import SupportsPP
class OtherForCausalLM(SupportsPP): ...
""",
    "vllm/model_executor/layers/quantization/__init__.py": """
QuantizationMethods = Literal["fp8", "old", "online"]
DEPRECATED_QUANTIZATION_METHODS = ["old"]
def get_quantization_config(quantization):
    from .fp8 import Fp8Config
    method_to_config = {"fp8": Fp8Config, "old": Fp8Config}
""",
    "vllm/model_executor/layers/quantization/fp8.py": """
class Fp8Config:
    def get_supported_act_dtypes(cls):
        return [torch.bfloat16, torch.half]
    def get_min_capability(cls):
        return 75
""",
    "vllm/tool_parsers/__init__.py": """
_TOOL_PARSERS_TO_REGISTER = {"hermes": ("a", "B")}
""",
    "vllm/reasoning/__init__.py": """
_REASONING_PARSERS_TO_REGISTER = {"qwen3": ("a", "B")}
""",
}
SGLANG = {
    "sglang-0.5.23.dist-info/METADATA": """
Requires-Dist: torch==2.11.0
Requires-Dist: transformers==5.19.0
""",
    "sglang/srt/configs/own.py": """
class OwnConfig(PretrainedConfig):
    model_type = "own"
class PartConfig(PretrainedConfig):
    model_type: str = "own_part"
    def make(self):
        model_type = "other"
class BaseConfig(PretrainedConfig):
    model_type = ""
""",
    "sglang/srt/models/llama.py": "EntryClass = [LlamaForCausalLM, PhiForCausalLM]",
    "sglang/srt/models/qwen.py": "EntryClass = QWenLMHeadModel",
    "sglang/srt/layers/quantization/__init__.py": """
from .fp8 import Fp8Config
BASE_QUANTIZATION_METHODS: Dict[str, Any] = {"fp8": Fp8Config, "mxfp8": Fp8Config}
if is_npu():
    BASE_QUANTIZATION_METHODS.update({"gptq": Fp8Config})
""",
    "sglang/srt/layers/quantization/fp8.py": """
class Fp8Config:
    def get_min_capability(self):
        if is_npu():
            return 0
        return 100 if self.use_mxfp8 else 80
""",
}


def test_reads_the_registries_of_vllm(tmp_path: Path) -> None:
    """
    Abilities are inherited, also through what makes a class of another, and on the
    platform that has GPUs of NVIDIA.
    """
    found = read_registries("vllm", written(tmp_path, VLLM))

    assert found.classes == {
        "PlainForCausalLM": {"in", "lora", "pp"},
        "OtherForCausalLM": {"in", "pp"},
        "PlainModel": {"in", "lora", "pp"},
        "ByForCausalLM": {"in", "by_transformers"},
    }
    assert found.methods == {
        "fp8": {"capability": 75, "types": ["bfloat16", "float16"]},
        "old": {
            "capability": 75,
            "types": ["bfloat16", "float16"],
            "deprecated": True,
        },
        "online": {},
    }
    assert found.parsers == {"tool": ("hermes",), "reasoning": ("qwen3",)}


def test_reads_the_registries_of_sglang(tmp_path: Path) -> None:
    """
    A format that shares its class has a capability of its own.
    """
    found = read_registries("sglang", written(tmp_path, SGLANG))

    assert set(found.classes) == {
        "LlamaForCausalLM",
        "PhiForCausalLM",
        "QWenLMHeadModel",
    }
    assert found.methods == {"fp8": {"capability": 80}, "mxfp8": {"capability": 100}}
    assert found.names == {"own_types": {"own", "own_part"}}
    assert found.inside == "5.19.0"


@pytest.mark.parametrize("name", TABLES)
def test_writes_the_tables_as_they_are_kept(name: str) -> None:
    """
    What a rebuild does not change stays as it is, to the letter.
    """
    text = (CATALOG / name).read_text("utf-8")

    assert render(name, json.loads(text)) == text


@pytest.mark.parametrize(
    ("flags", "spans"),
    [
        ([True, True, True], "1.."),
        ([True, False, True], "1..1 3.."),
        ([False, True, False], "2..2"),
        ([False, False, False], ""),
    ],
)
def test_writes_releases_as_spans(flags: list[bool], spans: str) -> None:
    """
    The last span is open where the newest release is within.
    """
    assert spans_of(dict(zip("123", flags, strict=True))) == spans


def test_takes_what_a_release_registers_for_what_it_loads() -> None:
    """
    The other releases are as they were.
    """
    tables: dict[str, Any] = {
        "model_classes.json": {
            "engines": {
                "vllm": {
                    "releases": ["1", "2", "3"],
                    "classes": {
                        "A": {"in": "1..", "lora": "3..", "pools": True},
                        "B": {"in": "3.."},
                    },
                }
            }
        },
        "gpu_formats.json": {
            "releases": {"vllm": ["1", "2", "3"]},
            "methods": {"vllm": {"fp8": [{"in": "1..", "capability": 80}]}},
        },
        "parsers.json": {
            "releases": {"vllm": ["1", "2", "3"]},
            "tool": {"vllm": {"hermes": "1.."}},
            "reasoning": {"vllm": {}},
        },
    }
    found = Registered(
        {"A": frozenset({"in"}), "C": frozenset({"in", "pp"})},
        {"fp8": {"capability": 75}},
        {"tool": (), "reasoning": ("qwen3",)},
    )

    after = replaced(tables, "vllm", "3", found)

    assert after["model_classes.json"]["engines"]["vllm"]["classes"] == {
        "A": {"in": "1..", "pools": True},
        "C": {"in": "3..", "pp": "3.."},
    }
    assert after["gpu_formats.json"]["methods"]["vllm"]["fp8"] == [
        {"in": "1..2", "capability": 80},
        {"in": "3..", "capability": 75},
    ]
    assert after["parsers.json"]["tool"]["vllm"] == {"hermes": "1..2"}
    assert after["parsers.json"]["reasoning"]["vllm"] == {"qwen3": "3.."}


TYPES: dict[str, Any] = {
    "model_classes.json": {
        "engines": {
            "vllm": {"inside": {"0.8.4": "4.51.3"}},
            "sglang": {"inside": {"0.5.20": "5.12.1"}},
        }
    },
    "model_types.json": {
        "engines": {
            "tgi": {
                "releases": ["1", "2"],
                "transformers": {"1": "4.49"},
                "types": {
                    "llama": {"in": "1..", "flash_to_shard": "1.."},
                    "old": {"in": "1.."},
                },
            }
        }
    },
    "transformers.json": {
        "versions": ["4.49.0", "4.51.0", "5.12.0", "5.13.0"],
        "causal": {"llama": "4.49.0.."},
        "class_types": {"LlamaModel": "llama", "OldModel": "old"},
    },
    "lmi_engines.json": {"vllm": {"0.33": "0.8.4", "0.34": "0.10.2"}, "lmi_dist": {}},
}


def test_takes_what_a_release_branches_on_for_what_it_loads() -> None:
    """
    The branches of a type are those of its row, in their order.
    """
    found = Registered(
        types={
            "llama": frozenset({"in", "flash"}),
            "new": frozenset({"in", "flash_to_shard"}),
        },
        inside="4.51.3",
    )

    after = replaced(TYPES, "tgi", "2", found)["model_types.json"]["engines"]["tgi"]

    assert list(after["types"]["llama"].items()) == [
        ("in", "1.."),
        ("flash", "2.."),
        ("flash_to_shard", "1..1"),
    ]
    assert after["types"]["new"] == {"in": "2..", "flash_to_shard": "2.."}
    assert after["types"]["old"] == {"in": "1..1"}
    assert after["transformers"] == {"1": "4.49", "2": "4.51.3"}


def test_takes_what_a_version_of_transformers_knows() -> None:
    """
    The types of classes that it does not have stay.
    """
    found = Registered(
        names={"causal": {"qwen"}},
        values={"class_types": {"LlamaModel": "llama9"}},
    )

    after = replaced(TYPES, "transformers", "5.13.0", found)["transformers.json"]

    assert after["causal"] == {"llama": "4.49.0..5.12.0", "qwen": "5.13.0.."}
    assert after["class_types"] == {"LlamaModel": "llama9", "OldModel": "old"}


def test_takes_what_is_inside_a_release_of_lmi() -> None:
    """
    An engine that it does not name stays as it was.
    """
    found = Registered(values={"vllm": {"0.34": "0.11.0"}})

    after = replaced(TYPES, "lmi", "0.34", found)["lmi_engines.json"]

    assert after == {"vllm": {"0.33": "0.8.4", "0.34": "0.11.0"}, "lmi_dist": {}}


def test_reads_the_versions_of_transformers_that_engines_have_inside() -> None:
    """
    Beside the newest of all, in the patch that is inside.
    """
    chosen = chosen_releases(TYPES, "transformers", 1)

    assert chosen == ["4.49.0", "4.51.0", "5.12.0", "5.13.0"]
    assert [patch_inside(TYPES, one) for one in chosen] == [
        "4.49.0",
        "4.51.3",
        "5.12.1",
        "5.13.0",
    ]


def test_goes_back_over_releases_of_what_is_in_clones() -> None:
    """
    The newest may be in none of them.
    """
    assert chosen_releases(TYPES, "lmi", 1) == ["0.34", "0.33"]


def test_takes_a_release_that_moved_its_lists_for_no_empty_one() -> None:
    """
    Else a table would be held to nothing at all.
    """
    with pytest.raises(ValueError, match="tgi 2 has nothing where it was read"):
        replaced(TYPES, "tgi", "2", Registered())


def test_names_engines_whose_clones_are_not_at_hand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    They are no failure: nothing says that their tables differ.
    """
    told = "tei is not read: --sources names no folder with text-embeddings-inference"

    assert main(["--check", "--engine", "tei"]) == 0
    assert told in capsys.readouterr().out
    assert main(["--check", "--engine", "tei", "--sources", str(tmp_path)]) == 0
    assert told in capsys.readouterr().out
