"""
What the backends on Large Model Inference (LMI) images have in common.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import ClassVar, Literal, cast

from cdk_sagemaker_llm.arguments import hold_kinds, hold_known
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    architecture_of,
    kind_of,
)
from cdk_sagemaker_llm.serving.base import (
    LONG_SECONDS,
    Accelerators,
    Case,
    Serving,
    Settings,
    start_up_seconds,
)
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image, image_version
from cdk_sagemaker_llm.serving.lmi.checks import property_findings
from cdk_sagemaker_llm.serving.lmi.checks.launcher import OTHER_BACKEND
from cdk_sagemaker_llm.serving.lmi.properties import (
    PropertiesError,
    PropertyValue,
    lines,
    texts_of,
)
from cdk_sagemaker_llm.serving.parameters import (
    NO_WEIGHTS,
    REPEATED,
    UNREADABLE,
    bounds_findings,
    credential_findings,
    gated_findings,
    option,
    with_class_named,
)
from cdk_sagemaker_llm.tokens import is_unresolved, placeholder_in

# MODEL_LOADING_TIMEOUT in the environment of every LMI image from 0.24 to 0.36; the
# documentation's 1800 is wrong.
DEFAULT_LOADING_SECONDS = 1200
# Where weights are on more than a degree's devices, which is not modelled.
SPREADING = (
    "option.pipeline_parallel_degree",
    "option.cpu_offload_gb",
    "option.cpu_offload_gb_per_gpu",
)


@dataclass(frozen=True, slots=True)
class LmiServing(Serving):
    """
    Serve with an LMI image; the base of its backends.

    Args:
        version: The LMI version of the image.

        image:
            Another image of the family than the catalogue has of that version: its
            tag or digest, or its full URI in Amazon ECR. It is checked as the
            catalogued version nearest to the one that its tag names, or else to
            ``version``. Or the ``image`` of a ``MirroredImage``.
            If omitted, it is the catalogue's.

        tensor_parallel_degree:
            Over how many devices one copy of the model is split, or ``"max"``.
            If omitted, it is split over all that it has.

        max_rolling_batch_size:
            How many requests are generated at the same time.
            If omitted, it is the container's default for its version.

        dtype: The number format of the weights. If omitted, it is the backend's
            default.

        quantize: How the weights are quantized. If omitted, they are not, or as the
            model says.

        trust_remote_code: Whether code from the model's repository may run.

        output_formatter: How answers are written: ``json``, ``jsonlines`` or ``sse``.

        model_loading_timeout:
            Seconds that loading may take.
            If omitted, it is as long as SageMaker waits for the container.

        predict_timeout: Seconds that one request may take.
            If omitted, it is the image's own 240.

        options:
            Further properties as in serving.properties, such as
            ``{"option.max_input_len": 2048}``; a name that this version does not
            know is an error.

        unchecked_options: Properties that are written without being checked.
    """

    reads_model_folder: ClassVar[bool] = False
    family_name: ClassVar[str] = ""
    backend: ClassVar[str] = ""

    version: str
    _: KW_ONLY
    image: str | ImageRelease | None = None
    tensor_parallel_degree: int | Literal["max"] | None = option(
        "tensor_parallel_degree"
    )
    max_rolling_batch_size: int | None = option("max_rolling_batch_size")
    model_loading_timeout: int | None = option("model_loading_timeout")
    predict_timeout: int | None = option("predict_timeout")
    dtype: str | None = option("dtype")
    quantize: str | None = option("quantize")
    trust_remote_code: bool | None = option("trust_remote_code")
    output_formatter: str | None = option("output_formatter")
    options: Mapping[str, PropertyValue] = field(default_factory=dict)
    unchecked_options: Mapping[str, PropertyValue] = field(default_factory=dict)

    @property
    def container_family(self) -> str:
        """
        The image family that has the backend at this version.
        """
        return self.family_name

    def _image(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        accelerators: Accelerators,
    ) -> tuple[ChosenImage, Accelerators]:
        chosen = choose_image(self.container_family, self.version, self.image)
        return chosen, accelerators

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:
        """
        Write all of it into serving.properties, and check the options for this version.
        """
        if not is_sound:
            return Settings()
        extra = {**self.options, **self.unchecked_options}
        try:
            texts = texts_of({**self._typed(case), **dict(sorted(extra.items()))})
        except PropertiesError as fault:
            return Settings(findings=(UNREADABLE.finding(str(fault)),))
        address = address_of(case.model)
        is_later = is_unresolved(address)
        return Settings(
            files={"serving.properties": lines(texts).encode()},
            # The address of a bucket made in the same app is known at deployment alone:
            # it travels as the variable that LMI turns into option.model_id.
            environment={"OPTION_MODEL_ID": address} if address and is_later else {},
            findings=tuple(self._property_findings(case, texts)),
        )

    def _degree(self) -> int | None:
        degree = self.tensor_parallel_degree
        return degree if isinstance(degree, int) else None

    def _engine(self) -> str:
        raise NotImplementedError

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        """
        Return the properties that choose the backend, beside the engine.
        """
        return {}

    def _more(self) -> Mapping[str, PropertyValue]:
        """
        Return properties that no parameter stands for one to one.
        """
        return {}

    def _own_findings(self, model: ModelSource | None) -> list[Finding]:  # noqa: ARG002
        return []

    def _general_findings(self, case: Case) -> list[Finding]:
        """
        Find what is given twice or not at all, credentials, and what is out of bounds.
        """
        model, typed = case.model, self._typed(case)
        found = []
        if model is None and "option.model_id" not in self.options:
            found.append(
                NO_WEIGHTS.finding("model is missing: nothing names the weights")
            )
        extra = {**self.options, **self.unchecked_options}
        found += [
            REPEATED.finding(f"options repeats {key}, which has a parameter of its own")
            for key in sorted(set(extra) & set(typed))
        ]
        found += [
            REPEATED.finding(
                f"unchecked_options repeats {key}, which options says already",
                "keep one of them",
            )
            for key in sorted(set(self.options) & set(self.unchecked_options))
        ]
        found += credential_findings("options", extra)
        if isinstance(model, HuggingFaceModel) and not errors_of(
            [*case.image.findings, *found]
        ):
            has_token = model.token is not None
            found += gated_findings(model.model_id, has_token=has_token)
        return [*found, *bounds_findings(self, self.options)]

    def _typed(self, case: Case) -> dict[str, PropertyValue]:
        """
        Return what parameters and model write into serving.properties, in its order.
        """
        values = {
            f"option.{one.metadata['option']}": _plain(getattr(self, one.name))
            for one in fields(self)
            if "option" in one.metadata and getattr(self, one.name) is not None
        }
        values.pop("option.model_loading_timeout", None)
        # The engine is always written: without it LMI 0.26 fetches the model's
        # config.json without the token, and a gated model fails to load.
        address = address_of(case.model)
        first: dict[str, PropertyValue | None] = {
            "engine": self._engine(),
            "option.tensor_parallel_degree": values.pop(
                "option.tensor_parallel_degree", None
            ),
            "option.model_id": (None if is_unresolved(address) else address),
            "option.revision": None if case.model is None else case.model.revision,
            "option.max_rolling_batch_size": values.pop(
                "option.max_rolling_batch_size", None
            ),
            **self._scheduling(),
            "option.model_loading_timeout": self._loading_seconds(case),
        }
        kept = {key: value for key, value in first.items() if value is not None}
        return {**kept, **values, **self._more()}

    def _loading_seconds(self, case: Case) -> int:
        """
        Return how long the container lets loading take: as long as SageMaker waits.

        The image's own default is shorter, and would cut a model off that takes its
        time.
        """
        if self.model_loading_timeout is not None:
            return self.model_loading_timeout
        if case.start_up_seconds is not None:
            return case.start_up_seconds
        return self._start_up_seconds(case) or LONG_SECONDS

    def _start_up_seconds(self, case: Case) -> int | None:
        # Of a backend whose memory is not modelled, the model's size is known.
        unplanned = Demand(
            architecture=architecture_of(case.model), assumptions=Assumptions()
        )
        return start_up_seconds(case.demand or unplanned)

    def _property_findings(self, case: Case, texts: Mapping[str, str]) -> list[Finding]:
        model = case.model
        architecture = None if model is None else model.architecture
        found = property_findings(
            {k: v for k, v in texts.items() if k not in self.unchecked_options},
            container=self.container_family,
            version=case.image.version,
            accelerators=case.devices,
            architecture=config_of(kind_of(model)),
            backend=self.backend,
            strict=True,
            decided_elsewhere=True,
        )
        found = with_class_named(found, OTHER_BACKEND, architecture)
        found = [self._in_the_callers_words(finding) for finding in found]
        return [
            *found,
            *self._own_findings(model),
            *self._compiled_findings(case, texts),
        ]

    def _compiled_findings(
        self,
        case: Case,  # noqa: ARG002 - what is compiled needs them
        texts: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> list[Finding]:
        """
        Return how the configuration differs from what a model was compiled with.
        """
        return []

    def _in_the_callers_words(self, finding: Finding) -> Finding:
        names = {
            one.metadata["option"]: one.name
            for one in fields(self)
            if "option" in one.metadata
        }

        def rename(match: re.Match[str]) -> str:
            name = match[1]
            is_option = f"option.{name}" in self.options
            return names[name] if name in names and not is_option else match[0]

        message = re.sub(r"\boption\.(\w+)", rename, finding.message)
        remedy = re.sub(r"\boption\.(\w+)", rename, finding.remedy)
        bare = finding.message.split(" ")[0]
        if bare in names and bare in self.options:
            # An option that lacks its prefix, and has a parameter: both are named.
            message, remedy = finding.message, f"as a parameter, {remedy}"
        return Finding(finding.severity, finding.code, message, remedy)

    @property
    def _image_version(self) -> str:
        return image_version(self.version, self.image)

    @property
    def _lmi_version(self) -> LmiVersion | None:
        try:
            return LmiVersion.parse(self._image_version)
        except ValueError:
            # The check of the image says what is wrong with the version.
            return None

    def _at_least(self, minor: str) -> bool:
        version = self._lmi_version
        return version is None or version.at_least(minor)


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """
    Scale rotary positions, so that prompts may be longer than in training.

    ``RopeScaling("dynamic", factor=2.0)``

    Args:
        type: ``linear``, or ``dynamic`` with the length of the prompt.

        factor: How many times the training length; above 1.

    Raises:
        ValueError: If the factor is not above 1.
    """

    type: Literal["linear", "dynamic"]
    factor: float

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the rule that both engines state.
        """
        hold_known(self)
        if isinstance(self.factor, int | float) and not self.factor > 1:
            raise ValueError(f"factor must be above 1, got {self.factor}")
        hold_kinds(self)

    def as_tensorrt_llm(self) -> Mapping[str, PropertyValue]:
        """
        Write both options, which TensorRT-LLM takes only together.
        """
        return {
            "option.rotary_scaling_type": self.type,
            "option.rotary_scaling_factor": float(self.factor),
        }

    def as_json(self) -> str:
        """
        Write the object that a model's config.json has under ``rope_scaling``.
        """
        value = {"factor": float(self.factor), "rope_type": self.type}
        return json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True, slots=True)
class SmoothQuant:
    """
    Quantize weights and activations to 8 bits, smoothing the activations' outliers.

    ``SmoothQuant(alpha=0.8, per_token=True, per_channel=True)``

    Args:
        alpha:
            How much of the outliers moves into the weights, 0 to 1.
            If omitted, it is the backend's default, 0.8 in TensorRT-LLM.

        per_token: Whether activations are scaled per token; TensorRT-LLM only.

        per_channel: Whether weights are scaled per channel; TensorRT-LLM only.

    Raises:
        ValueError: If alpha is outside 0 to 1.
    """

    alpha: float | None = None
    per_token: bool = False
    per_channel: bool = False

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the range.
        """
        hold_known(self)
        if isinstance(self.alpha, int | float) and not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must be from 0 to 1, got {self.alpha}")
        hold_kinds(self)

    def as_tensorrt_llm(self) -> Mapping[str, PropertyValue]:
        """
        Write the quantization and what differs from its defaults.
        """
        scaling = {
            "option.smoothquant_per_token": self.per_token,
            "option.smoothquant_per_channel": self.per_channel,
        }
        return {**self.as_deepspeed(), **{k: True for k, v in scaling.items() if v}}

    def as_deepspeed(self) -> Mapping[str, PropertyValue]:
        """
        Write the quantization and its alpha.
        """
        alpha = {} if self.alpha is None else {"option.smoothquant_alpha": self.alpha}
        return {"option.quantize": "smoothquant", **alpha}


def address_of(model: ModelSource | None) -> str | None:
    """
    Return what the container is told to load.
    """
    if model is None:
        return None
    return model.model_id if isinstance(model, HuggingFaceModel) else model.uri


def _plain(value: object) -> PropertyValue:
    later = placeholder_in(value)
    if later is not None:
        # Whoever writes it says that it comes too late for a file.
        return later
    if isinstance(value, Mapping):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    # Each field was held to its kind when it was given.
    return cast("PropertyValue", value)
