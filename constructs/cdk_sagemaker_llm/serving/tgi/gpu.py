"""
Hugging Face Text Generation Inference (TGI) on GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from cdk_sagemaker_llm.arguments import is_later
from cdk_sagemaker_llm.catalog.tgi import is_between
from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.base import Case
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.tgi.base import (
    EnvironmentValue,
    TgiServing,
    wrong_counts,
)
from cdk_sagemaker_llm.serving.tgi.tgi_family import subject_findings
from cdk_sagemaker_llm.serving.tgi.tgi_support import model_support_findings
from cdk_sagemaker_llm.serving.tgi.tgi_variables import (
    TgiSubject,
    launcher_variables,
    option_name_findings,
)

FAMILY = "huggingface-llm"
# CUDA graphs came with 2.0.0 (the launcher's options).
_WITHOUT_GRAPHS = ("0.", "1.")
# The launcher's default of max_batch_prefill_tokens up to 1.4.5.
_PREFILL_TOKENS = 4096
_OLD_NAME, _NEW_NAME = "max_input_length", "max_input_tokens"
_VARIABLES = {
    "quantize": "HF_MODEL_QUANTIZE",
    "num_gpus": "SM_NUM_GPUS",
    _OLD_NAME: "MAX_INPUT_LENGTH",
    "max_total_tokens": "MAX_TOTAL_TOKENS",
    "max_batch_total_tokens": "MAX_BATCH_TOTAL_TOKENS",
    "max_batch_prefill_tokens": "MAX_BATCH_PREFILL_TOKENS",
    _NEW_NAME: "MAX_INPUT_TOKENS",
    "max_batch_size": "MAX_BATCH_SIZE",
    "max_concurrent_requests": "MAX_CONCURRENT_REQUESTS",
    "waiting_served_ratio": "WAITING_SERVED_RATIO",
    "dtype": "DTYPE",
    "kv_cache_dtype": "KV_CACHE_DTYPE",
    "rope_scaling": "ROPE_SCALING",
    "rope_factor": "ROPE_FACTOR",
    "cuda_memory_fraction": "CUDA_MEMORY_FRACTION",
    "cuda_graphs": "CUDA_GRAPHS",
    "speculate": "SPECULATE",
    "lora_adapters": "LORA_ADAPTERS",
    "trust_remote_code": "HF_MODEL_TRUST_REMOTE_CODE",
    "messages_api": "MESSAGES_API_ENABLED",
}
_COUNTS = (
    _OLD_NAME,
    _NEW_NAME,
    "max_total_tokens",
    "max_batch_total_tokens",
    "max_batch_prefill_tokens",
    "max_batch_size",
    "max_concurrent_requests",
    "num_gpus",
)


@dataclass(frozen=True, slots=True)
class Tgi(TgiServing):
    """
    Serve with Text Generation Inference.

    ``Tgi("1.4.5", max_input_length=2048, max_total_tokens=4096)``
    ``Tgi("3.3.6", options={"MAX_CLIENT_BATCH_SIZE": 8})``

    Lengths are in tokens. What is left out has the container's own default.

    Args:
        version: The TGI version of the ``huggingface-llm`` image.

        max_input_length:
            The longest prompt that is accepted.
            From 2.0.0 on it is written under its newer name, MAX_INPUT_TOKENS.

        max_total_tokens: The longest prompt and answer together.

        max_batch_total_tokens: Tokens of all requests in one batch.

        max_batch_prefill_tokens: Tokens of all prompts read in one step.

        quantize:
            How the weights are quantized, such as ``gptq`` or ``awq``.
            If omitted, they are loaded as they are.

        num_gpus:
            Over how many GPUs the model is split.
            If omitted, it is split over the accelerators that each copy has.

        max_input_tokens: As max_input_length, for 2.0.0 and later.

        max_batch_size: How many requests one batch holds at most.

        max_concurrent_requests: How many requests wait or run before more are refused.

        waiting_served_ratio: How many requests wait, for each that runs, before the
            running ones are paused to let them in.

        dtype: The weights' type, ``float16`` or ``bfloat16``; not with quantize.

        kv_cache_dtype: The type of the key-value cache, such as ``fp8_e5m2``.

        rope_scaling: How positions are scaled, ``linear`` or ``dynamic``.

        rope_factor: By how much; alone it scales linearly.

        cuda_memory_fraction: The share of the GPU's memory that may be used.

        cuda_graphs: The batch sizes to record CUDA graphs for; empty for none.

        speculate: How many tokens to guess ahead.

        lora_adapters: The adapters that requests may name, as Hub repositories.

        trust_remote_code: Whether code in the model's repository may run.

        messages_api: Whether /invocations takes chats, up to 2.3.1.

        options:
            Further variables of the launcher, such as ``{"MAX_BEST_OF": 4}``.
            They are checked against the version.
    """

    family_name: ClassVar[str] = FAMILY

    _: KW_ONLY
    max_input_length: int | None = None
    max_total_tokens: int | None = None
    max_batch_total_tokens: int | None = None
    max_batch_prefill_tokens: int | None = None
    quantize: str | None = None
    num_gpus: int | None = None
    max_input_tokens: int | None = None
    max_batch_size: int | None = None
    max_concurrent_requests: int | None = None
    waiting_served_ratio: float | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    rope_scaling: str | None = None
    rope_factor: float | None = None
    cuda_memory_fraction: float | None = None
    cuda_graphs: Sequence[int] | None = None
    speculate: int | None = None
    lora_adapters: Sequence[str] | None = None
    trust_remote_code: bool | None = None
    messages_api: bool | None = None

    def _name_findings(self) -> list[Finding]:
        return option_name_findings(self.options, launcher_variables())

    def _own_findings(
        self, case: Case, environment: Mapping[str, str]
    ) -> list[Finding]:
        subject = self._subject(environment, case)
        return [
            *subject_findings(subject),
            *model_support_findings(
                environment,
                engine="tgi",
                release=self._checked_version,
                kind=architecture_of(case.model),
                words=subject.words,
                unchecked=subject.unchecked,
            ),
        ]

    @property
    def _checked_version(self) -> str:
        return choose_image(FAMILY, self.version, self.image).version

    def _demand(
        self,
        model: ModelSource | None,
        image: ChosenImage | None,  # noqa: ARG002 - the base's signature
    ) -> Demand:
        records_graphs = not self._checked_version.startswith(_WITHOUT_GRAPHS)
        in_fp8 = (self.kv_cache_dtype or "").startswith("fp8")
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                # Weights, activations and cache share all of the memory but what
                # cuda_memory_fraction withholds.
                gpu_memory_utilization=self.cuda_memory_fraction,
                cuda_graphs_gib=None if records_graphs else 0.0,
                max_num_batched_tokens=self.max_batch_prefill_tokens or _PREFILL_TOKENS,
                kv_cache_dtype_bytes=1 if in_fp8 else 2,
            ),
            weight_bits=weight_bits_of(self.quantize, self.dtype),
            context_length=self.max_total_tokens,
            batch_tokens=self.max_batch_total_tokens,
            tensor_parallel_degree=self.num_gpus,
            engine="tgi",
            engine_version=self._checked_version,
        )

    def _variable_values(
        self, devices: int | None
    ) -> Mapping[str, EnvironmentValue | None]:
        values: dict[str, EnvironmentValue | None] = {
            variable: getattr(self, name)
            for name, variable in self._variables().items()
            if self._has(name)
        }
        if self.num_gpus is None:
            # On a host without any the host's own check says what is wrong.
            values["SM_NUM_GPUS"] = devices or None
        if self.cuda_graphs is not None:
            # The launcher's help: 0 records none.
            values["CUDA_GRAPHS"] = self.cuda_graphs or "0"
        return values

    def _variables(self) -> dict[str, str]:
        renamed = is_between(self._checked_version, "2.0.0") and not self._has(
            _NEW_NAME
        )
        if renamed and self._has(_OLD_NAME):
            return {**_VARIABLES, _OLD_NAME: _VARIABLES[_NEW_NAME]}
        return _VARIABLES

    def _has(self, parameter: str) -> bool:
        return getattr(self, parameter) is not None

    def _counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in _COUNTS if self._has(name)}

    def _uncounted(self) -> dict[str, EnvironmentValue]:
        names = [name for name in _VARIABLES if name not in _COUNTS and self._has(name)]
        typed = {name: getattr(self, name) for name in names}
        return {**typed, **self.options, **self.unchecked_options}

    def _subject(self, environment: Mapping[str, str], case: Case) -> TgiSubject:
        variables = self._variables()
        words = {variable: name for name, variable in variables.items()}
        words |= {v: name for name, v in variables.items() if self._has(name)}
        # Those have been told of already.
        wrong = {variables[name] for name in wrong_counts(self._counts())}
        values = self._uncounted()
        wrong |= {variables.get(n, n) for n, value in values.items() if is_later(value)}
        # A number of GPUs that is left out is the plan's to check.
        model = None if self.num_gpus is None else architecture_of(case.model)
        return TgiSubject(
            self._with_token(case, environment),
            self._checked_version,
            case.devices,
            words=words,
            unchecked={*self.unchecked_options, *wrong},
            attention_heads=model.num_attention_heads if model else None,
        )
