"""
Which model a container of an app serves, and how, as far as the app says it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.architecture import find_architecture
from cdk_sagemaker_llm.catalog.engine_releases import (
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.cli.app.hosting import App, Resource, artifact_files, image_of
from cdk_sagemaker_llm.demand import Assumptions, EngineName, weight_bits_of
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.serving.lmi.artifact import ArtifactError
from cdk_sagemaker_llm.serving.lmi.checks.artifacts import properties_path
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, as_int, parse
from cdk_sagemaker_llm.serving.lmi.translation import translate
from cdk_sagemaker_llm.simulation.api_values import Shape, is_open, map_of

if TYPE_CHECKING:
    from cdk_sagemaker_llm.catalog.engine_arguments import Engine

_OF_FAMILIES: Mapping[str, EngineName] = {
    "djl-tensorrtllm": "tensorrt-llm",
    "huggingface-llm": "tgi",
}
_PLANNED: Mapping[str, EngineName] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llama.cpp": "llama.cpp",
    "tei": "tei",
}
_RELEASED = frozenset({"vllm", "sglang"})
_GGUF = re.compile(r"-gguf$", re.IGNORECASE)
_PARSED: Mapping[str, Engine] = {"vllm": "vllm", "sglang": "sglang"}
# By what the plan calls them: the names of vLLM, SGLang and llama.cpp.
_SETTINGS = {
    "model": ("model", "model_path", "hf_repo"),
    "file": ("hf_file",),
    "degree": ("tensor_parallel_size", "tp_size"),
    "context_length": ("max_model_len", "context_length", "ctx_size"),
    "most_sequences": ("max_num_seqs", "max_running_requests", "parallel"),
    "quantize": ("quantization",),
    "dtype": ("dtype",),
}


class ServedModel(NamedTuple):
    """
    A model as a container serves it; ``None`` where the app does not say.

    Args:
        degree: Over how many accelerators a copy is split.

        unknown: Why nothing can be planned; empty if it can.
    """

    model: str | None = None
    architecture: ModelArchitecture | None = None
    degree: int | None = None
    weight_bits: int | None = None
    context_length: int | None = None
    most_sequences: int | None = None
    engine: EngineName = "vllm"
    engine_version: str | None = None
    gguf_type: str | None = None
    source: Literal["hub", "s3"] = "hub"
    image: str = ""
    unknown: str = ""

    def plan_on(self, instance_type: str, accelerators: int | None) -> Plan | str:
        """
        Plan one copy on an instance type, or say why there is no plan.
        """
        if self.architecture is None:
            return self.unknown
        try:
            return plan(
                self.architecture,
                instance_type,
                weight_bits=self.weight_bits,
                context_length=self.context_length,
                tensor_parallel_degree=self.degree or accelerators,
                assumptions=Assumptions(max_num_seqs=self.most_sequences),
                engine=self.engine,
                engine_version=self.engine_version,
                gguf_type=self.gguf_type,
            )
        except ValueError as fault:
            return str(fault)


def served_by(app: App, container: Shape, home: Resource) -> ServedModel:
    environment = {
        str(name): str(value)
        for name, value in map_of(container, "Environment").items()
        if not is_open(value)
    }
    image = image_of(container)
    try:
        settings = _settings(home, container, image, environment)
    except (ArtifactError, PropertiesError, OSError, ValueError) as fault:
        is_lmi = image is not None and image.family in LMI
        what = "model data" if is_lmi else "environment"
        app.tell(home.key, f"its {what} cannot be read: {fault}")
        settings = dict(environment)
    return _served(settings, container, image)


def _settings(
    home: Resource,
    container: Shape,
    image: ImageRelease | None,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """
    Return the properties that take effect in an LMI container, what an engine in an
    image of its own is told, else the variables.
    """
    if image is None or image.family not in LMI:
        return engine_settings(image, environment) or dict(environment)
    files = artifact_files(home.stack, container).files
    where = properties_path(files)
    file = parse(files[where].decode("utf-8-sig")) if where else None
    version = LmiVersion.parse(image.version)
    found = translate(environment, file, container=image.family, version=version)
    return found.properties


def _served(
    settings: Mapping[str, str], container: Shape, image: ImageRelease | None
) -> ServedModel:
    def first(*names: str) -> str | None:
        return next((settings[name] for name in names if name in settings), None)

    model = first("option.model_id", "model", "HF_MODEL_ID")
    engine, engine_version = _engine(image)
    is_gguf = engine == "llama.cpp"
    architecture, unknown = None, "the app does not say which model it serves"
    is_on_s3 = True
    if model:
        # A repository of GGUF files is named after the one that they were made from.
        name = _GGUF.sub("", model.partition(":")[0]) if is_gguf else model
        architecture = find_architecture(name)
        unknown = f"the catalogue does not have its model {model}"
        # What SageMaker puts beside the container is named by its folder there.
        is_on_s3 = model.startswith(("s3://", "/")) or bool(
            map_of(map_of(container, "ModelDataSource"), "S3DataSource")
        )
    return ServedModel(
        model=model,
        architecture=architecture,
        degree=as_int(first("option.tensor_parallel_degree", "degree", "SM_NUM_GPUS")),
        weight_bits=weight_bits_of(
            first("option.quantize", "quantize", "HF_MODEL_QUANTIZE", "QUANTIZE"),
            first("option.dtype", "dtype", "DTYPE"),
        ),
        context_length=as_int(
            first("option.max_model_len", "context_length", "MAX_TOTAL_TOKENS")
        ),
        most_sequences=as_int(
            first("option.max_rolling_batch_size", "most_sequences", "MAX_BATCH_SIZE")
        ),
        engine=engine,
        engine_version=engine_version,
        gguf_type=_gguf_type(settings.get("file"), model) if is_gguf else None,
        image=str(container.get("Image", "")),
        source="s3" if is_on_s3 else "hub",
        unknown="" if architecture else unknown,
    )


def _gguf_type(file: str | None, model: str | None) -> str | None:
    from cdk_sagemaker_llm.serving.engines.checks.engine_models import (  # noqa: PLC0415 - who has such a file has it
        gguf_type_of,
    )

    return gguf_type_of(file, model)


def _engine(image: ImageRelease | None) -> tuple[EngineName, str | None]:
    if image is None:
        return "vllm", None
    if image.family in _OF_FAMILIES:
        return _OF_FAMILIES[image.family], None
    version = pinned_version(image.family, image.version)
    release = find_engine_release(image.family, version)
    if release is None or release.engine not in _PLANNED:
        return "vllm", None
    name = _PLANNED[release.engine]
    return name, release.engine_version if name in _RELEASED else None


def engine_settings(
    image: ImageRelease | None,
    environment: Mapping[str, str],
    files: Collection[str] = (),
) -> dict[str, str] | None:
    """
    Return what an engine is told; ``None`` for an image without one.
    """
    if image is None:
        return None
    version = pinned_version(image.family, image.version)
    release = find_engine_release(image.family, version)
    if release is None or release.rule is None:
        return None
    from cdk_sagemaker_llm.serving.engines.entry_points import (  # noqa: PLC0415 - images of LMI and TGI need none
        ENTRY_POINTS,
        StartError,
        command_line,
    )
    from cdk_sagemaker_llm.serving.engines.parsing import (  # noqa: PLC0415 - as above
        ParserError,
    )
    from cdk_sagemaker_llm.serving.engines.parsing import (  # noqa: PLC0415 - as above
        parse as parse_arguments,
    )

    rule = ENTRY_POINTS[release.rule]
    try:
        arguments = command_line(environment, rule, model_data=files)
        engine = _PARSED.get(release.engine)
        if engine is None or release.engine_version is None:
            pairs = zip(arguments, [*arguments[1:], ""], strict=True)
            settings = {
                flag.removeprefix("--").replace("-", "_"): value
                for flag, value in pairs
                if flag.startswith("--") and not value.startswith("--")
            }
        else:
            settings = vars(parse_arguments(engine, release.engine_version, arguments))
    except (ParserError, StartError) as fault:
        raise ValueError(str(fault)) from fault
    found = {
        name: str(settings[field])
        for name, fields in _SETTINGS.items()
        for field in fields
        if settings.get(field) is not None
    }
    # What is not split runs on one accelerator, however many there are.
    return {"degree": "1", **found}
