"""
Hugging Face Text Generation Inference (TGI) on Inferentia and Trainium.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import architecture_of
from cdk_sagemaker_llm.serving.base import Case
from cdk_sagemaker_llm.serving.tgi.base import (
    EnvironmentValue,
    TgiServing,
    variable_texts,
)
from cdk_sagemaker_llm.serving.tgi.tgi_support import model_support_findings
from cdk_sagemaker_llm.serving.tgi.tgi_variables import (
    TgiSubject,
    as_count,
    gated_model_findings,
    hub_findings,
    launcher_variables,
    model_id_findings,
    option_name_findings,
)
from cdk_sagemaker_llm.serving.tgi.variable_combinations import (
    PROMPT_NOT_BELOW_TOTAL,
)
from cdk_sagemaker_llm.text import nearest
from cdk_sagemaker_llm.tokens import is_unresolved

FAMILY = "huggingface-llm-neuronx"
# What models are compiled to (the image's environment reader).
CAST_TYPES = ("bf16", "fp16")
# Documented for early images alone; the later ones derive them from the others.
_EARLY = ("HF_BATCH_SIZE", "HF_SEQUENCE_LENGTH")
_VARIABLES = {
    "num_cores": "HF_NUM_CORES",
    "auto_cast_type": "HF_AUTO_CAST_TYPE",
    "max_batch_size": "MAX_BATCH_SIZE",
    "max_input_length": "MAX_INPUT_LENGTH",
    "max_total_tokens": "MAX_TOTAL_TOKENS",
    "max_batch_prefill_tokens": "MAX_BATCH_PREFILL_TOKENS",
}

NOT_COMPILED_TO = Rule(
    "LLM180",
    "the Neuron image of TGI is given a type it does not compile to",
    "the environment variables of optimum-neuron",
)
EARLY_VARIABLE = Rule(
    "LLM270",
    "a variable that early Neuron images of TGI are documented with, and later ones "
    "derive from others",
    "the deployment guides of Hugging Face",
)


@dataclass(frozen=True, slots=True)
class TgiNeuron(TgiServing):
    """
    Serve with Text Generation Inference on Neuron devices.

    ``TgiNeuron("0.0.28", num_cores=2, auto_cast_type="bf16", max_batch_size=4,
    max_input_length=3686, max_total_tokens=4096)``

    A model runs in the shape that it was compiled for. What is left out is filled in
    from the model's own compilation, or from one in the Hub's cache that matches the
    rest; where there is none the container stops.

    Args:
        version: The version of the ``huggingface-llm-neuronx`` image.

        num_cores: Over how many Neuron cores the model is split; a chip of
            Inferentia2 has two.

        auto_cast_type: The type of the weights, ``bf16`` or ``fp16``.

        max_batch_size: How many requests are generated at the same time.

        max_input_length: The longest prompt that is accepted, in tokens.

        max_total_tokens: The longest prompt and answer together, in tokens.

        max_batch_prefill_tokens: Tokens of all prompts read in one step.

        options: Further variables of the launcher.
    """

    family_name: ClassVar[str] = FAMILY

    _: KW_ONLY
    num_cores: int | None = None
    auto_cast_type: str | None = None
    max_batch_size: int | None = None
    max_input_length: int | None = None
    max_total_tokens: int | None = None
    max_batch_prefill_tokens: int | None = None

    def _variable_values(
        self,
        devices: int | None,  # noqa: ARG002 - cores are counted, not chips
    ) -> Mapping[str, EnvironmentValue | None]:
        return {variable: getattr(self, name) for name, variable in _VARIABLES.items()}

    def _own_findings(
        self,
        case: Case,
        environment: Mapping[str, str],  # noqa: ARG002 - the model is checked alone
    ) -> list[Finding]:
        found, cast = [], self.auto_cast_type
        if cast is not None and cast not in CAST_TYPES:
            near = nearest(cast, CAST_TYPES, count=1)
            found.append(
                NOT_COMPILED_TO.finding(
                    f"auto_cast_type must be bf16 or fp16, got {cast!r}",
                    f"did you mean {near[0]}?" if near else "",
                )
            )
        longest, total = self.max_input_length, self.max_total_tokens
        total = None if is_unresolved(total) else total
        if longest is not None and total is not None and longest >= total:
            found.append(
                PROMPT_NOT_BELOW_TOTAL.finding(
                    "max_input_length must be below max_total_tokens, got "
                    f"{longest} and {total}",
                )
            )
        variables = self._with_token(case, variable_texts(self._typed(case)))
        subject = TgiSubject(variables, case.image.version, None)
        return [
            *found,
            *model_id_findings(subject),
            *gated_model_findings(subject),
            *model_support_findings(
                variables,
                engine="tgi-neuron",
                release=case.image.version,
                kind=architecture_of(case.model),
            ),
        ]

    def _counts(self) -> dict[str, int]:
        values: dict[str, Any] = {name: getattr(self, name) for name in _VARIABLES}
        return {
            name: value for name, value in values.items() if type(value) in (int, float)
        }

    def _name_findings(self) -> list[Finding]:
        own = {*_VARIABLES.values(), *_EARLY}
        others = [name for name in self.options if name not in own]
        found = list(option_name_findings(others, (*launcher_variables(), *own)))
        found += [
            EARLY_VARIABLE.finding(
                f"{name} is known of early Neuron images only",
                "set max_batch_size and max_total_tokens",
            )
            for name in _EARLY
            if name in self.options
        ]
        return found


def neuron_findings(environment: Mapping[str, str], version: str) -> list[Finding]:
    """
    Check an environment of the image: its model, the type, and the lengths.
    """
    subject = TgiSubject(environment, version, None)
    found = [
        *model_id_findings(subject),
        *hub_findings(subject),
        *gated_model_findings(subject),
    ]
    cast = subject.raw("HF_AUTO_CAST_TYPE")
    if cast and cast not in CAST_TYPES:
        found.append(
            NOT_COMPILED_TO.finding(
                f"HF_AUTO_CAST_TYPE must be bf16 or fp16, got {cast!r}"
            )
        )
    names = ("MAX_INPUT_TOKENS", "MAX_INPUT_LENGTH")
    name = next((one for one in names if one in environment), names[0])
    longest = as_count(subject.raw(name))
    total = as_count(subject.raw("MAX_TOTAL_TOKENS"))
    if longest is not None and total is not None and longest >= total:
        found.append(
            PROMPT_NOT_BELOW_TOTAL.finding(
                f"{name} must be below MAX_TOTAL_TOKENS, got {longest} and {total}"
            )
        )
    return found
