"""
Hugging Face Text Generation Inference (TGI) on GPUs.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding, error
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving._image_checks import image_findings
from cdk_sagemaker_llm.serving.configuration import Container

FAMILY = "huggingface-llm"
# The router reads one name up to 2.0.2 and both later; the launcher's hub library
# prefers the other (facts read from the tags' sources).
HUB_TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
LOCAL_WEIGHTS = "/opt/ml/model"


@dataclass(frozen=True, slots=True)
class Tgi:
    """
    Serve with Text Generation Inference.

    ``Tgi("1.4.5", max_input_length=2048, max_total_tokens=4096)``

    Lengths are in tokens. What is left out has the container's own default.

    Args:
        version: The TGI version of the ``huggingface-llm`` image.

        max_input_length: The longest prompt that is accepted.

        max_total_tokens: The longest prompt and answer together.

        max_batch_total_tokens: Tokens of all requests in one batch.

        max_batch_prefill_tokens: Tokens of all prompts read in one step.

        quantize:
            How the weights are quantized, such as ``gptq`` or ``awq``.
            Left out, they are loaded as they are.

        num_gpus:
            Over how many GPUs the model is split.
            Left out, over the accelerators that each copy has.
    """

    version: str
    _: KW_ONLY
    max_input_length: int | None = None
    max_total_tokens: int | None = None
    max_batch_total_tokens: int | None = None
    max_batch_prefill_tokens: int | None = None
    quantize: str | None = None
    num_gpus: int | None = None

    def findings(
        self,
        model: ModelSource | None,
        *,
        accelerators: int | None = None,  # noqa: ARG002 - the launcher counts them
    ) -> list[Finding]:
        """
        Check the image and the lengths against each other.
        """
        found = image_findings(FAMILY, self.version)
        if model is None:
            found.append(error("LLM112", "model is missing: TGI needs HF_MODEL_ID"))
        found += [
            error("LLM111", f"{name} must be at least 1, got {value}")
            for name, value in self._numbers().items()
            if value is not None and value < 1 and not is_unresolved(value)
        ]
        return found + self._placeholder_findings() + self._length_findings()

    def container(
        self, model: ModelSource | None, *, accelerators: int | None
    ) -> Container:
        """
        Describe the container: all of it in environment variables.
        """
        gpus = self.num_gpus if self.num_gpus is not None else accelerators
        variables: dict[str, object | None] = {
            "HF_MODEL_ID": _model_id(model),
            "HF_MODEL_REVISION": getattr(model, "revision", None),
            "HF_MODEL_QUANTIZE": self.quantize,
            "SM_NUM_GPUS": gpus,
            "MAX_INPUT_LENGTH": self.max_input_length,
            "MAX_TOTAL_TOKENS": self.max_total_tokens,
            "MAX_BATCH_TOTAL_TOKENS": self.max_batch_total_tokens,
            "MAX_BATCH_PREFILL_TOKENS": self.max_batch_prefill_tokens,
        }
        return Container(
            image=find_image(FAMILY, self.version),
            environment={k: str(v) for k, v in variables.items() if v is not None},
            token_variables=HUB_TOKEN_VARIABLES,
            weights_uri=None if isinstance(model, HuggingFaceModel) else _uri(model),
        )

    def _numbers(self) -> dict[str, int | None]:
        return {
            "max_input_length": self.max_input_length,
            "max_total_tokens": self.max_total_tokens,
            "max_batch_total_tokens": self.max_batch_total_tokens,
            "max_batch_prefill_tokens": self.max_batch_prefill_tokens,
            "num_gpus": self.num_gpus,
        }

    def _placeholder_findings(self) -> list[Finding]:
        return [
            error(
                "LLM114",
                f"{name} is known only at deployment, and is checked at synth",
                "pass a number",
            )
            for name, value in self._numbers().items()
            if is_unresolved(value)
        ]

    def _length_findings(self) -> list[Finding]:
        # The launcher exits on these (ArgumentValidation, TGI 0.9.3 to 3.3.6).
        found = []
        longest, total = self.max_input_length, self.max_total_tokens
        if longest is not None and total is not None and longest >= total:
            found.append(
                error(
                    "LLM115",
                    "max_input_length must be below max_total_tokens, got "
                    f"{longest} and {total}",
                )
            )
        batch = self.max_batch_total_tokens
        if total is not None and batch is not None and total > batch:
            found.append(
                error(
                    "LLM116",
                    "max_batch_total_tokens must be at least max_total_tokens, got "
                    f"{batch} and {total}",
                )
            )
        return found


def _model_id(model: ModelSource | None) -> str:
    # TGI takes a Hub id or a local path, no s3:// address.
    return model.model_id if isinstance(model, HuggingFaceModel) else LOCAL_WEIGHTS


def _uri(model: ModelSource | None) -> str | None:
    return getattr(model, "uri", None)
