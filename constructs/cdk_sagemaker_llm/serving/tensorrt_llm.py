"""
TensorRT-LLM on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding, error
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving._image_checks import image_findings
from cdk_sagemaker_llm.serving.configuration import Container
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.properties import (
    PropertiesError,
    PropertyValue,
    render,
)

FAMILY = "djl-tensorrtllm"
HUB_TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@dataclass(frozen=True, slots=True)
class TensorRtLlm:
    """
    Serve with TensorRT-LLM, compiled for the instance when the container starts.

    ``TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16)``

    Args:
        version: The LMI version of the ``djl-tensorrtllm`` image.

        tensor_parallel_degree:
            Over how many GPUs one copy of the model is split, or ``"max"``.
            Left out, over all that it has.

        max_rolling_batch_size:
            How many requests are generated at the same time.
            Left out, the container's default for its version.

        rolling_batch:
            Which scheduler batches requests.
            Left out, ``auto``, which is TensorRT-LLM's; from 0.33 ``disable``, since
            its own asynchronous service took that over.

        model_loading_timeout:
            Seconds that loading may take.
            Left out, the image's own 1200.

        options:
            Further properties as in serving.properties, such as
            ``{"option.max_input_len": 2048}``.
    """

    version: str
    _: KW_ONLY
    tensor_parallel_degree: int | Literal["max"] | None = None
    max_rolling_batch_size: int | None = None
    rolling_batch: str | None = None
    model_loading_timeout: int | None = None
    options: Mapping[str, PropertyValue] = field(default_factory=dict)

    def findings(self, model: ModelSource | None) -> list[Finding]:
        """
        Check image, values and what is given twice.
        """
        found = image_findings(FAMILY, self.version)
        found += self._value_findings()
        if model is None and "option.model_id" not in self.options:
            found.append(error("LLM112", "model is missing: nothing names the weights"))
        twice = sorted(set(self.options) & set(self._typed(model)))
        found += [
            error("LLM113", f"options repeats {key}, which has a parameter of its own")
            for key in twice
        ]
        options = {key: str(value) for key, value in self.options.items()}
        found += credential_findings("options", options)
        try:
            render({**self._typed(model), **self.options})
        except PropertiesError as fault:
            found.append(error("LLM114", str(fault)))
        return found

    def container(
        self,
        model: ModelSource | None,
        *,
        accelerators: int | None,  # noqa: ARG002 - the tarball's properties say it
    ) -> Container:
        """
        Describe the container: all of it in serving.properties.
        """
        properties = {**self._typed(model), **dict(sorted(self.options.items()))}
        return Container(
            image=find_image(FAMILY, self.version),
            files={"serving.properties": render(properties).encode("ascii")},
            environment=_environment(model),
            token_variables=HUB_TOKEN_VARIABLES,
        )

    def _typed(self, model: ModelSource | None) -> dict[str, PropertyValue]:
        # The engine is always written: without it LMI 0.26 fetches the model's
        # config.json without the token, and a gated model fails to load.
        properties: dict[str, PropertyValue | None] = {
            "engine": "Python" if self._is_async else "MPI",
            "option.tensor_parallel_degree": self.tensor_parallel_degree,
            "option.model_id": _model_id(model),
            "option.revision": getattr(model, "revision", None),
            "option.max_rolling_batch_size": self.max_rolling_batch_size,
            "option.rolling_batch": self._rolling_batch,
            "option.mpi_mode": True if self._is_async else None,
            "option.model_loading_timeout": self.model_loading_timeout,
        }
        return {k: v for k, v in properties.items() if v is not None}

    @property
    def _is_async(self) -> bool:
        # LMI 0.33 is the one image with TensorRT-LLM's own asynchronous API.
        return self.version.startswith("0.33.")

    @property
    def _rolling_batch(self) -> str:
        default = "disable" if self._is_async else "auto"
        return self.rolling_batch if self.rolling_batch is not None else default

    def _value_findings(self) -> list[Finding]:
        values = {
            "tensor_parallel_degree": self.tensor_parallel_degree,
            "max_rolling_batch_size": self.max_rolling_batch_size,
            "model_loading_timeout": self.model_loading_timeout,
        }
        return [
            error("LLM111", f"{name} must be at least 1, got {value}")
            for name, value in values.items()
            if isinstance(value, int) and value < 1 and not is_unresolved(value)
        ]


def _model_id(model: ModelSource | None) -> str | None:
    address = _address(model)
    return None if is_unresolved(address) else address


def _environment(model: ModelSource | None) -> dict[str, str]:
    """
    Name weights whose address is known only at deployment, too late for a file.

    A bucket made in the same app is such a case. The address travels as the variable
    that LMI turns into ``option.model_id``.
    """
    address = _address(model)
    if address is None or not is_unresolved(address):
        return {}
    return {"OPTION_MODEL_ID": address}


def _address(model: ModelSource | None) -> str | None:
    if model is None:
        return None
    return model.model_id if isinstance(model, HuggingFaceModel) else model.uri
