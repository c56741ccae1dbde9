"""
What the checks of a serving.properties look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.serving.lmi.launch import Launch
from cdk_sagemaker_llm.serving.lmi.properties import as_bool, as_int

FRONT_END = "djl-serving, wlm: LmiUtils and LmiConfigRecommender"
MODELS = "djl-serving, djl_python/properties_manager"
HANDLERS = "djl-serving, the handlers of djl_python"
DOCUMENTATION = "LMI documentation"
JAVA = "java.util.Properties"
# The property models, each by its own name.
DEEPSPEED = "DeepSpeedProperties"
HUGGING_FACE = "HuggingFaceProperties"
LMI_DIST = "LmiDistRbProperties"
NEURONX = "TransformerNeuronXProperties"
VLLM = "VllmRbProperties"
# The configuration of the engine itself.
LORA_CONFIG = "vLLM, LoRAConfig"


@dataclass(frozen=True, slots=True)
class Subject:
    """
    A file's properties, with where they are to run.

    Args:
        properties: What the file says, as Java reads it.

        launch: What the container makes of it.

        accelerators: Devices that each copy of the model has; ``None`` if not known.

        architecture: The model's class; ``None`` if not known.

        attention_heads: Its attention heads; ``None`` if not known.

        strict: Whether an option without effect is an error.

        model_type: Its type in config.json; ``None`` if not known.

        decided_elsewhere: Whether a plan, or a file that is not seen, has a say in the
            degree that is left out.
    """

    properties: Mapping[str, str]
    launch: Launch
    accelerators: int | None = None
    architecture: str | None = None
    attention_heads: int | None = None
    strict: bool = False
    model_type: str | None = None
    decided_elsewhere: bool = False

    @property
    def version(self) -> LmiVersion:
        """
        The LMI version that reads the file.
        """
        return self.launch.version

    def option(self, name: str) -> str | None:
        """
        Return ``option.<name>`` as written; ``None`` if it is left out.
        """
        return self.properties.get(f"option.{name}")

    def flag(self, name: str) -> bool:
        """
        Whether a switch is on.
        """
        return as_bool(self.option(name)) is True

    def number(self, name: str) -> int | None:
        """
        Return an option as a whole number; ``None`` if it is left out or none.
        """
        return as_int(self.option(name))

    def runs(self, *backends: str) -> bool:
        """
        Whether nothing but these backends can come of the file.
        """
        return set(self.launch.backends) <= set(backends)

    def has_code_of_its_own(self) -> bool:
        """
        Whether code of the user's reads the options: any of them, and as it likes.
        """
        entry_point = self.option("entryPoint")
        return entry_point is not None and not entry_point.startswith("djl_python.")

    def passes_handler(self) -> bool:
        """
        Whether the Hugging Face handler reads the file before the backend does.

        It does for every rolling batch, and refuses what its own model does not take.
        """
        launch = self.launch
        handled = {"huggingface", "vllm", "lmi-dist", "scheduler"}
        here = launch.container in ("djl-deepspeed", "djl-lmi")
        return here and not launch.asynchronous and self.runs(*handled)

    def degree(self) -> int | None:
        """
        Return over how many devices one copy is split, as far as the file and the
        devices tell.

        From 0.28 on the front end writes all of them where nothing is written.
        """
        written = self.option("tensor_parallel_degree")
        chosen = written is None and self.version.at_least("0.28")
        if written == "max" or (chosen and not self.decided_elsewhere):
            stages = self.stages() or 1
            if self.accelerators is None or stages < 1:
                return None
            return self.accelerators // stages
        return self.number("tensor_parallel_degree")

    def stages(self) -> int | None:
        """
        Return the pipeline's stages, which no image knows before 0.29.
        """
        has_stages = self.version.at_least("0.29")
        return self.number("pipeline_parallel_degree") if has_stages else None

    def devices(self) -> int | None:
        """
        Return how many devices tensor parallelism counts.

        On Inferentia2 and Trainium those are NeuronCores, two a chip.
        """
        if self.accelerators is None:
            return None
        cores = 2 if self.launch.container == "djl-neuronx" else 1
        return self.accelerators * cores
