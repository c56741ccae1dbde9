"""
A hand-written serving artifact: a folder with serving.properties in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.models import ModelSource, looked_up, sized
from cdk_sagemaker_llm.serving.configuration import (
    Accelerators,
    Container,
    Prepared,
    settled,
)
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.hub import TOKEN_VARIABLES
from cdk_sagemaker_llm.serving.images import image_findings
from cdk_sagemaker_llm.serving.lmi.base import DEFAULT_LOADING_SECONDS, config_of
from cdk_sagemaker_llm.serving.lmi.checks import check_properties
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.lmi.values import as_int
from cdk_sagemaker_llm.serving.lmi.vllm_family import SPREADING

PROPERTIES = "serving.properties"
# Configuration and code are kilobytes. What is larger is weights, which belong on
# S3: unpacking a tarball of them takes most of a start-up.
_LARGEST_ARTIFACT = 64 * 1024 * 1024

NO_FOLDER = Rule("LLM108", "the serving folder does not exist")
NO_PROPERTIES = Rule("LLM109", "the serving folder holds no serving.properties")
TWO_MODELS = Rule("LLM117", "a model and a serving folder are both given")
TOO_LARGE = Rule("LLM118", "the serving folder holds more than configuration and code")
SEVERAL_MODELS = Rule(
    "LLM126",
    "several folders at the top would be several models",
    "djl-serving, ModelStore",
)


@dataclass(frozen=True, slots=True)
class ServingFolder:
    """
    Serve what a folder of yours says: serving.properties, model.py, requirements.txt.

    ``ServingFolder("assets/mixtral-8x7b", container_family="djl-tensorrtllm",
    version="0.26.0")``

    Args:
        path:
            The folder; everything in it travels, but hidden files and bytecode.

        container_family: The LMI image family, such as ``djl-tensorrtllm``.

        version: The version of that image.

        architecture:
            What the model is: a ``ModelArchitecture``, the name of a catalogued model
            that it is like, or at least its class, such as ``MistralForCausalLM``.
            If left out, the checks that depend on its class are not made, and its
            size is that of the model that the file names.
    """

    path: str | Path
    _: KW_ONLY
    container_family: str
    version: str
    architecture: ModelArchitecture | str | None = None

    def prepare(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> Prepared:
        """
        Check that the folder is a serving artifact that this image can load; read it
        once.
        """
        found = image_findings(self.container_family, self.version)
        if not Path(self.path).is_dir():
            found.append(NO_FOLDER.finding(f"path {str(self.path)!r} is not a folder"))
            return Prepared(None, tuple(found))
        if model is not None:
            found.append(
                TWO_MODELS.finding(
                    "model and a serving folder exclude each other",
                    "name the weights as option.model_id in serving.properties",
                )
            )
        files = folder_files(Path(self.path))
        properties = _properties(files)
        demand = self._demand(properties)
        devices = settled(accelerators, demand)
        known = not errors_of(found)
        found += self._artifact_findings(files, devices, known_image=known)
        if errors_of(found):
            return Prepared(None, tuple(found), demand)
        return Prepared(self._container(files, properties), tuple(found), demand)

    def _container(
        self, files: Mapping[str, bytes], properties: Mapping[str, str]
    ) -> Container:
        seconds = as_int(properties.get("option.model_loading_timeout"))
        return Container(
            image=find_image(self.container_family, self.version),
            files=files,
            token_variables=TOKEN_VARIABLES,
            loading_seconds=seconds or DEFAULT_LOADING_SECONDS,
        )

    def _demand(self, properties: Mapping[str, str]) -> Demand | None:
        if any(name in properties for name in SPREADING):
            return None
        given = sized(looked_up(self.architecture))
        # An engine of whatever kind: the one with the more cautious figures is taken,
        # unless the image has TensorRT-LLM alone.
        compiled = self.container_family == "djl-tensorrtllm"
        return Demand(
            architecture=given
            or find_architecture(properties.get("option.model_id", "")),
            assumptions=_assumptions(properties),
            weight_bits=weight_bits_of(
                properties.get("option.quantize"), properties.get("option.dtype")
            ),
            context_length=as_int(properties.get("option.max_model_len")),
            tensor_parallel_degree=as_int(
                properties.get("option.tensor_parallel_degree")
            ),
            engine="tensorrt-llm" if compiled else "vllm",
        )

    def _artifact_findings(
        self,
        files: Mapping[str, bytes],
        accelerators: int | None,
        *,
        known_image: bool,
    ) -> list[Finding]:
        found = layout_findings(str(self.path), files)
        checkable = known_image and self.container_family in CONTAINERS
        if properties_path(files) is None or not checkable:
            return found
        return found + artifact_findings(
            files,
            container=self.container_family,
            version=self.version,
            accelerators=accelerators,
            architecture=config_of(looked_up(self.architecture)),
        )


def _assumptions(properties: Mapping[str, str]) -> Assumptions:
    """
    Read what changes the memory that vLLM and its kin take.
    """
    eager = properties.get("option.enforce_eager", "").lower() == "true"
    in_fp8 = properties.get("option.kv_cache_dtype", "").startswith("fp8")
    return Assumptions(
        gpu_memory_utilization=_share(properties.get("option.gpu_memory_utilization")),
        cuda_graphs_gib=0.0 if eager else None,
        max_num_seqs=as_int(properties.get("option.max_rolling_batch_size")),
        kv_cache_dtype_bytes=1 if in_fp8 else 2,
    )


def _share(text: str | None) -> float | None:
    try:
        share = float(text or 0)
    except ValueError:
        # The check of the value says what is wrong with it.
        return None
    return share if 0 < share <= 1 else None


def folder_files(path: Path) -> dict[str, bytes]:
    """
    Read what travels of a folder: everything but hidden files and bytecode.
    """
    names = sorted(entry.relative_to(path) for entry in path.rglob("*"))
    return {
        name.as_posix(): (path / name).read_bytes()
        for name in names
        if (path / name).is_file() and not _is_left_behind(name)
    }


def artifact_findings(
    files: Mapping[str, bytes],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Mapping[str, object] | str | None = None,
    backend: str | None = None,
) -> list[Finding]:
    """
    Check the serving.properties among an artifact's files, and that it holds no
    credentials.

    Args:
        files: The artifact's files by path.

        container: The image family.

        version: The LMI version.

        accelerators: Devices that each copy of the model has.

        architecture: The model's class, or what is known of its config.json.
            If left out, what depends on it is not checked.

        backend: The backend that must come of it. If left out, any may.
    """
    text = _properties_text(files)
    found = check_properties(
        text,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        backend=backend,
        # Python files beside it may read any option.
        strict=not any(name.endswith(".py") for name in files),
    )
    try:
        return found + credential_findings(PROPERTIES, parse(text))
    except PropertiesError:
        return found


def properties_path(files: Iterable[str]) -> str | None:
    """
    Find the serving.properties that the container reads: at the top, or in a folder
    that is all there is (ModelStore and Utils.getNestedModelDir of djl-serving).
    """
    names = list(files)
    if PROPERTIES in names:
        return PROPERTIES
    tops = {name.split("/", 1)[0] for name in names}
    nested = f"{min(tops, default='')}/{PROPERTIES}"
    return nested if len(tops) == 1 and nested in names else None


def layout_findings(path: str, files: Mapping[str, bytes]) -> list[Finding]:
    """
    Check what is in a folder: one model, and no weights.
    """
    found = []
    if properties_path(files) is None:
        found.append(_no_properties(path, files))
    size = sum(map(len, files.values()))
    if size > _LARGEST_ARTIFACT:
        found.append(
            TOO_LARGE.finding(
                f"{path!r} holds {size // 2**20} MiB; an artifact holds "
                "configuration and code only",
                "put weights under an S3 prefix and name it as option.model_id",
            )
        )
    return found


def _no_properties(path: str, files: Iterable[str]) -> Finding:
    inner = sorted({n.split("/", 1)[0] for n in files if n.endswith(f"/{PROPERTIES}")})
    if not inner:
        return NO_PROPERTIES.finding(f"{path!r} holds no serving.properties")
    return SEVERAL_MODELS.finding(
        f"{path!r} holds {', '.join(inner)} beside other entries: each folder at the "
        "top would be a model of its own",
        "put one model's files at the top, or into one folder",
    )


def _properties(files: Mapping[str, bytes]) -> dict[str, str]:
    try:
        return parse(_properties_text(files))
    except PropertiesError:
        # The check of the file says what is wrong with it.
        return {}


def _properties_text(files: Mapping[str, bytes]) -> str:
    # Java reads the file as ISO-8859-1, in which every byte is a character.
    return files.get(properties_path(files) or "", b"").decode("iso-8859-1")


def _is_left_behind(name: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in name.parts)
