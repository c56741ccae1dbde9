"""
A hand-written serving artifact: a folder with serving.properties in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.models import ModelSource, looked_up, sized
from cdk_sagemaker_llm.serving.base import Accelerators, Case, Serving, Settings
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.drafts import draft_in
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.lmi.artifact import Artifact, folder_files
from cdk_sagemaker_llm.serving.lmi.base import DEFAULT_LOADING_SECONDS, SPREADING
from cdk_sagemaker_llm.serving.lmi.checks.artifacts import (
    artifact_findings,
    file_of,
    properties_path,
    read_findings,
)
from cdk_sagemaker_llm.serving.lmi.launch import (
    CONTAINERS,
    SEQUENCES_OF_SERVICE,
    resolve,
)
from cdk_sagemaker_llm.serving.lmi.properties import as_int
from cdk_sagemaker_llm.text import any_of

NO_FOLDER = Rule("LLM108", "the serving folder does not exist")
TWO_MODELS = Rule("LLM117", "a model and a serving folder are both given")
NO_LMI_FAMILY = Rule("LLM187", "a serving folder is given to an image that is no LMI")
_LMI_REPOSITORY = "djl-inference"


@dataclass(frozen=True, slots=True)
class ServingFolder(Serving):
    """
    Serve what a folder of yours says: serving.properties, model.py, requirements.txt.

    ``ServingFolder("assets/mixtral-8x7b", container_family="djl-tensorrtllm",
    version="0.26.0")``

    Args:
        path:
            The folder; everything in it travels, but hidden files, bytecode, and
            what editors leave: at most 64 MiB, and nothing from outside of it.

        container_family: The LMI image family, such as ``djl-tensorrtllm``.

        version: The version of that image.

        architecture:
            What the model is: a ``ModelArchitecture``, the name of a catalogued model
            that it is like, or at least its class, such as ``MistralForCausalLM``.
            If omitted, it is what the catalogue knows of the model that the file
            names.

        image:
            Another image of the family than the catalogue has of that version: its
            tag or digest, or its full URI in Amazon ECR. It is checked as the
            catalogued version nearest to the one that its tag names, or else to
            ``version``. Or the ``image`` of a ``MirroredImage``.
            If omitted, it is the catalogue's.
    """

    path: str | Path
    _: KW_ONLY
    container_family: str
    version: str
    architecture: ModelArchitecture | str | None = None
    image: str | ImageRelease | None = None

    def _usable(self) -> tuple[Serving, list[Finding]]:
        # Read once, whoever asks.
        try:
            is_folder = Path(self.path).is_dir()
        except (OSError, ValueError):
            # A name that is too long, or that no file can have.
            is_folder = False
        artifact = folder_files(Path(self.path)) if is_folder else None
        properties = {} if artifact is None else file_of(artifact.files) or {}
        return _ReadFolder(self, artifact, properties), []


@dataclass(frozen=True, slots=True)
class _ReadFolder(Serving):
    """
    A serving folder, with its files, ``None`` if it does not exist, and with what its
    serving.properties says.
    """

    reads_model_folder: ClassVar[bool] = False

    folder: ServingFolder
    artifact: Artifact | None
    properties: Mapping[str, str]

    def _image(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        accelerators: Accelerators,
    ) -> tuple[ChosenImage, Accelerators]:
        folder = self.folder
        image = choose_image(folder.container_family, folder.version, folder.image)
        return image, accelerators

    def _general_findings(self, case: Case) -> list[Finding]:
        found = self._choice_findings(case)
        if self.artifact is None:
            return found
        return found + read_findings(str(self.folder.path), self.artifact)

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:  # noqa: ARG002 - the base's signature
        """
        Check that the folder is a serving artifact that this image can load.
        """
        if self.artifact is None:
            return Settings()
        files = self.artifact.files
        family = self.folder.container_family
        of_choice = [*case.image.findings, *self._choice_findings(case)]
        is_readable = properties_path(files) is not None and family in CONTAINERS
        if errors_of(of_choice) or not is_readable:
            return Settings(files=files)
        found = artifact_findings(
            files,
            container=family,
            version=case.image.version,
            accelerators=case.devices,
            architecture=config_of(self._kind()),
        )
        return Settings(files=files, findings=tuple(found))

    def _choice_findings(self, case: Case) -> list[Finding]:
        """
        Find an image that reads no serving.properties, a folder that is not there, and
        a second model.
        """
        found, image, path = [], case.image, str(self.folder.path)
        reads_properties = (
            image.release is None
            or find_image(image.family, image.version).repository == _LMI_REPOSITORY
        )
        if not reads_properties:
            found.append(
                NO_LMI_FAMILY.finding(
                    f"container_family must be that of an LMI image, which reads "
                    f"serving.properties, got {image.family!r}",
                    f"use {any_of(CONTAINERS)}; other images are told what to do by "
                    "Tgi, TgiNeuron or CustomContainer",
                )
            )
        if self.artifact is None:
            found.append(NO_FOLDER.finding(f"path {path!r} is not a folder"))
        elif case.model is not None:
            found.append(
                TWO_MODELS.finding(
                    "model and a serving folder exclude each other",
                    "name the weights as option.model_id in serving.properties",
                )
            )
        return found

    def _loading_seconds(self, case: Case) -> int:  # noqa: ARG002 - the base's signature
        seconds = as_int(self.properties.get("option.model_loading_timeout"))
        return seconds or DEFAULT_LOADING_SECONDS

    def _start_up_seconds(self, case: Case) -> None:  # noqa: ARG002 - the base's signature
        # The file says how long it may load.
        return None

    def _model_architecture(self) -> ModelArchitecture | str | None:
        return self.folder.architecture

    def _demand(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        image: ChosenImage | None,
    ) -> Demand | None:
        properties = self.properties
        if self.artifact is None or any(name in properties for name in SPREADING):
            return None
        architecture = sized(looked_up(self.folder.architecture))
        # An engine of whatever kind: the one with the more cautious figures is taken,
        # unless the image has TensorRT-LLM alone.
        compiled = self.folder.container_family == "djl-tensorrtllm"
        eager = properties.get("option.enforce_eager", "").lower() == "true"
        in_fp8 = properties.get("option.kv_cache_dtype", "").startswith("fp8")
        return Demand(
            architecture=architecture
            or find_architecture(properties.get("option.model_id", "")),
            assumptions=Assumptions(
                gpu_memory_utilization=_share(
                    properties.get("option.gpu_memory_utilization")
                ),
                cuda_graphs_gib=0.0 if eager else None,
                max_num_seqs=as_int(properties.get("option.max_rolling_batch_size"))
                or _sequences_of_service(properties, image),
                kv_cache_dtype_bytes=1 if in_fp8 else 2,
            ),
            weight_bits=weight_bits_of(
                properties.get("option.quantize"), properties.get("option.dtype")
            ),
            context_length=as_int(properties.get("option.max_model_len")),
            tensor_parallel_degree=as_int(
                properties.get("option.tensor_parallel_degree")
            ),
            engine="tensorrt-llm" if compiled else "vllm",
            draft=draft_in(properties),
        )

    def _kind(self) -> ModelArchitecture | str | None:
        """
        Return what is known of the model: what was said of it, or else what the
        catalogue knows of the one that the file names.
        """
        if self.folder.architecture is not None:
            return looked_up(self.folder.architecture)
        return find_architecture(self.properties.get("option.model_id", ""))


def _sequences_of_service(
    properties: Mapping[str, str], image: ChosenImage | None
) -> int | None:
    """
    Return how many requests the asynchronous service of vLLM runs at once where nothing
    says so; ``None`` where something else runs.
    """
    if image is None or image.family != "djl-lmi":
        return None
    version = LmiVersion.parse(image.version)
    launch = resolve(properties, container=image.family, version=version)
    return SEQUENCES_OF_SERVICE if launch.asynchronous else None


def _share(text: str | None) -> float | None:
    try:
        share = float(text or 0)
    except ValueError:
        # The check of the value says what is wrong with it.
        return None
    return share if 0 < share <= 1 else None
