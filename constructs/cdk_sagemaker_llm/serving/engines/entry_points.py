"""
How the entry point of each image turns variables into the engine's arguments.

Read in the entry points of aws/deep-learning-containers (e0ecedea, 2026-08-21, and its
older states) and of huggingface/optimum-neuron (c0798b48); what the supervisor does
was seen with model-hosting-container-standards 0.1.12 to 0.1.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

VLLM_PREFIX = "SM_VLLM_"
SGLANG_PREFIX = "SM_SGLANG_"
LLAMA_CPP_PREFIX = "SM_LLAMA_CPP_"
HF_LLAMA_CPP_PREFIX = "SM_LLAMACPP_"
NEURON_PREFIX = "SM_ON_"

MODEL_DIR = "/opt/ml/model"
PORT = "8080"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryPoint:
    """
    One rule by which variables become arguments.

    Args:
        name: What the rule is called here, such as ``vllm-C``.

        prefix: What the variables that become arguments begin with.

        reads_truth: Whether ``true`` becomes a bare argument and ``false`` none.
            Where it does not, both are passed on as values.

        trims: Whether blanks around ``true`` and ``false`` do not matter.

        spreads_lists: Whether a JSON list becomes one value for each of its elements.

        reads_lines: Whether a shell reads the variables line by line: a value ends
            with its first line, and loses its last ``=`` if it has no other.

        keeps_underscores: Whether names keep their underscores.

        model_flag: The argument that names the model, with its dashes; empty where
            the entry point never writes it.

        finds_model: Whether the model is sought in ``/opt/ml/model``, and then in
            ``HF_MODEL_ID``, where its variable is left out.

        insists_on_model: Whether the model's argument is written in any case, with
            ``/opt/ml/model`` for a model that nothing names.

        supervisor: Which supervisor starts the engine: ``None``; ``joins`` for one
            that puts blanks between its arguments and takes them apart at blanks;
            ``keeps`` for one that quotes them.

        consumed: Names behind the prefix that are not passed on.

        first: Arguments that come before all others.
    """

    name: str
    prefix: str
    reads_truth: bool = True
    trims: bool = False
    spreads_lists: bool = False
    reads_lines: bool = True
    keeps_underscores: bool = False
    model_flag: str = "--model"
    finds_model: bool = True
    insists_on_model: bool = False
    supervisor: str | None = None
    consumed: tuple[str, ...] = ()
    first: tuple[str, ...] = ()

    def variable(self, argument: str) -> str:
        """
        Return the variable of an argument's long name.
        """
        return self.prefix + argument.replace("-", "_").upper()

    def flag(self, variable: str) -> str:
        """
        Return the argument that a variable becomes, with its dashes.
        """
        name = variable.removeprefix(self.prefix).lower()
        return "--" + (name if self.keeps_underscores else name.replace("_", "-"))


_B0 = EntryPoint(name="vllm-B0", prefix=VLLM_PREFIX, first=("--port", PORT))
_B2 = replace(_B0, name="vllm-B2", supervisor="keeps")
_SGLANG_B = EntryPoint(
    name="sglang-B",
    prefix=SGLANG_PREFIX,
    model_flag="--model-path",
    finds_model=False,
    insists_on_model=True,
)

_ALL = (
    replace(_B0, name="vllm-A", reads_truth=False, finds_model=False),
    replace(_B0, name="hf-vllm-A", reads_truth=False, finds_model=False),
    _B0,
    replace(_B0, name="vllm-B-nosup"),
    replace(_B0, name="vllm-B1", supervisor="joins"),
    _B2,
    replace(_B2, name="hf-vllm-B"),
    replace(
        _B2,
        name="vllm-C",
        trims=True,
        spreads_lists=True,
        reads_lines=False,
    ),
    replace(
        _B0,
        name="vllm-C-nosup",
        trims=True,
        spreads_lists=True,
        reads_lines=False,
    ),
    replace(_SGLANG_B, name="sglang-A", reads_truth=False),
    _SGLANG_B,
    EntryPoint(
        name="llama-cpp",
        prefix=LLAMA_CPP_PREFIX,
        finds_model=False,
        consumed=("MODEL", "MODEL_DIR", "PORT"),
        # nginx is in front.
        first=("--host", "127.0.0.1", "--port", "8081"),
    ),
    EntryPoint(
        name="hf-llama-cpp",
        prefix=HF_LLAMA_CPP_PREFIX,
        reads_truth=False,
        finds_model=False,
        model_flag="",
        consumed=("HOST", "PORT"),
    ),
    EntryPoint(
        name="neuron",
        prefix=NEURON_PREFIX,
        reads_truth=False,
        keeps_underscores=True,
        finds_model=False,
        model_flag="",
    ),
)

ENTRY_POINTS: Mapping[str, EntryPoint] = {rule.name: rule for rule in _ALL}
