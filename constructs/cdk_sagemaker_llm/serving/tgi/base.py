"""
What serving with Text Generation Inference (TGI) has in common on GPUs and on Neuron:
writing the variables of its launcher, and what the user may write into them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from cdk_sagemaker_llm.arguments import is_later
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.tgi import tgi_aliases
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.base import Accelerators, Case, Serving, Settings
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.parameters import (
    OUTSIDE_RANGE,
    TOKEN_VARIABLES,
    UNREADABLE,
    credential_findings,
)
from cdk_sagemaker_llm.tokens import is_unresolved

EnvironmentValue = str | int | float | bool | Sequence[str] | Sequence[int]
"""
What an environment variable of TGI is written from.
"""

LOCAL_WEIGHTS = "/opt/ml/model"

SET_TWICE = Rule(
    "LLM163", "an option of TGI repeats what a parameter sets", "the library's own rule"
)


@dataclass(frozen=True, slots=True)
class TgiServing(Serving):
    """
    Serve with Text Generation Inference; the base for GPUs and for Neuron.

    Args:
        version: The image's version.

        image:
            Another image than the catalogue has of that version: its tag or digest in
            the same repository, or its full URI in Amazon ECR. It is checked as the
            catalogued version nearest to the one that its tag names, or else to
            ``version``. Or the ``image`` of a ``MirroredImage``.
            If omitted, it is the catalogue's.

        options: Further variables of the launcher.

        unchecked_options: Variables that are passed on as they are.
    """

    family_name: ClassVar[str] = ""

    version: str
    _: KW_ONLY
    image: str | ImageRelease | None = None
    options: Mapping[str, EnvironmentValue] = field(default_factory=dict)
    unchecked_options: Mapping[str, EnvironmentValue] = field(default_factory=dict)

    def _image(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        accelerators: Accelerators,
    ) -> tuple[ChosenImage, Accelerators]:
        return choose_image(self.family_name, self.version, self.image), accelerators

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:  # noqa: ARG002 - the base's signature
        """
        Write all of it into environment variables, and check each for its version.
        """
        typed = self._typed(case)
        environment = variable_texts(
            {**typed, **self.options, **self.unchecked_options}
        )
        findings = [
            *count_findings(self._counts()),
            *later_number_findings(self._uncounted()),
            *repeated_variable_findings(typed, self.options, self.unchecked_options),
            *self._name_findings(),
            *credential_findings("options", self.options),
            *credential_findings("unchecked_options", self.unchecked_options),
            *self._own_findings(case, environment),
        ]
        return Settings(environment=environment, findings=tuple(findings))

    def _typed(self, case: Case) -> dict[str, EnvironmentValue]:
        """
        Return what parameters, model and devices say, by the variables' names.
        """
        model = case.model
        values = {
            "HF_MODEL_ID": model_id(model),
            "HF_MODEL_REVISION": None if model is None else model.revision,
            **self._variable_values(case.devices),
        }
        return {name: value for name, value in values.items() if value is not None}

    def _with_token(
        self, case: Case, environment: Mapping[str, str]
    ) -> Mapping[str, str]:
        """
        Return variables with the token, which is set by reference after the checks.
        """
        if case.model is None or case.model.token is None:
            return environment
        return {**environment, **dict.fromkeys(TOKEN_VARIABLES, "by reference")}

    def _variable_values(
        self, devices: int | None
    ) -> Mapping[str, EnvironmentValue | None]:
        raise NotImplementedError

    def _counts(self) -> dict[str, int]:
        raise NotImplementedError

    def _uncounted(self) -> dict[str, EnvironmentValue]:
        return {**self.options, **self.unchecked_options}

    def _name_findings(self) -> list[Finding]:
        raise NotImplementedError

    def _own_findings(
        self, case: Case, environment: Mapping[str, str]
    ) -> list[Finding]:
        """
        Check the values for the image's version, and against each other.
        """
        raise NotImplementedError


def variable_texts(values: Mapping[str, EnvironmentValue]) -> dict[str, str]:
    """
    Write values as the launcher reads them.
    """
    return {name: _text(value) for name, value in values.items()}


def model_id(model: ModelSource | None) -> str | None:
    """
    Return what TGI takes as a model: a Hub id or a local path, no s3:// address.
    """
    if model is None:
        return None
    return model.model_id if isinstance(model, HuggingFaceModel) else LOCAL_WEIGHTS


def count_findings(counts: Mapping[str, int]) -> list[Finding]:
    """
    Parameters that count something are numbers of at least 1.
    """
    return [
        UNREADABLE.finding(
            f"{name} is known only at deployment, and is checked at synth",
            "pass a number",
        )
        if is_unresolved(counts[name])
        else OUTSIDE_RANGE.finding(f"{name} must be at least 1, got {counts[name]}")
        for name in wrong_counts(counts)
    ]


def wrong_counts(counts: Mapping[str, int]) -> list[str]:
    """
    Return the names of counts that are below 1, or known only at deployment.
    """
    return [name for name, value in counts.items() if value < 1]


def later_number_findings(values: Mapping[str, EnvironmentValue]) -> list[Finding]:
    """
    Numbers, which are checked, are known at synth.
    """
    return [
        UNREADABLE.finding(
            f"{name} is known only at deployment, and is checked at synth",
            "pass a number, or the text of Token.as_string(...) in unchecked_options",
        )
        for name, value in values.items()
        if is_later(value)
    ]


def repeated_variable_findings(
    typed: Mapping[str, EnvironmentValue], *options: Mapping[str, EnvironmentValue]
) -> list[Finding]:
    """
    Options say nothing that parameters, or one another, say already.
    """
    taken = {_native(name) for name in typed}
    found = []
    for names in options:
        found += [
            SET_TWICE.finding(
                f"{name} is set twice: a parameter or another option sets it already",
                "keep one of them",
            )
            for name in names
            if _native(name) in taken
        ]
        taken |= {_native(name) for name in names}
    return found


def _native(name: str) -> str:
    return tgi_aliases().get(name, name)


def _text(value: EnvironmentValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(str(item) for item in value)
