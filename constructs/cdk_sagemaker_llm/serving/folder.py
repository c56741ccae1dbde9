"""
A hand-written serving artifact: a folder with serving.properties in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding, error
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving._image_checks import image_findings
from cdk_sagemaker_llm.serving.configuration import Container
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.tensorrt_llm import HUB_TOKEN_VARIABLES

PROPERTIES = "serving.properties"
# Configuration and code are kilobytes. What is larger is weights, which belong on
# S3: unpacking a tarball of them takes most of a start-up.
_LARGEST_ARTIFACT = 64 * 1024 * 1024


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
    """

    path: str | Path
    _: KW_ONLY
    container_family: str
    version: str

    def findings(self, model: ModelSource | None) -> list[Finding]:
        """
        Check that the folder is a serving artifact that this image can load.
        """
        found = image_findings(self.container_family, self.version)
        if not Path(self.path).is_dir():
            found.append(error("LLM108", f"path {str(self.path)!r} is not a folder"))
            return found
        if model is not None:
            found.append(
                error(
                    "LLM117",
                    "model and a serving folder exclude each other",
                    "name the weights as option.model_id in serving.properties",
                )
            )
        return found + self._content_findings()

    def container(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the folder names the weights
        *,
        accelerators: int | None,  # noqa: ARG002 - the folder says it
    ) -> Container:
        """
        Describe the container: the folder's files, as they are.
        """
        return Container(
            image=find_image(self.container_family, self.version),
            files=self._files(),
            token_variables=HUB_TOKEN_VARIABLES,
        )

    def _files(self) -> Mapping[str, bytes]:
        root = Path(self.path)
        return {
            str(name.as_posix()): (root / name).read_bytes()
            for name in sorted(p.relative_to(root) for p in root.rglob("*"))
            if (root / name).is_file() and not _is_left_behind(name)
        }

    def _content_findings(self) -> list[Finding]:
        files = self._files()
        if PROPERTIES not in files:
            return [
                error("LLM109", f"{str(self.path)!r} holds no serving.properties"),
            ]
        found = _properties_findings(files[PROPERTIES])
        size = sum(map(len, files.values()))
        if size > _LARGEST_ARTIFACT:
            found.append(
                error(
                    "LLM118",
                    f"{str(self.path)!r} holds {size // 2**20} MiB; an artifact holds "
                    "configuration and code only",
                    "put weights under an S3 prefix and name it as option.model_id",
                )
            )
        return found


def _is_left_behind(name: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in name.parts)


def _properties_findings(content: bytes) -> list[Finding]:
    try:
        # Java reads the file as ISO-8859-1, in which every byte is a character.
        properties = parse(content.decode("iso-8859-1"))
    except PropertiesError as fault:
        return [error("LLM114", f"serving.properties: {fault}")]
    found = credential_findings(PROPERTIES, properties)
    if properties.get("engine"):
        return found
    return [
        *found,
        error(
            "LLM110",
            "serving.properties has no engine",
            "write the line engine=MPI or engine=Python: without it LMI 0.26 "
            "ignores the Hugging Face token, and later versions guess",
        ),
    ]
