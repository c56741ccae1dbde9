"""
What the backends on Large Model Inference (LMI) images have in common.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import ClassVar, Literal, Self, cast

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import hold_kinds, known_at_synth
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    architecture_of,
    class_of,
    kind_of,
    sized,
)
from cdk_sagemaker_llm.serving.configuration import (
    Accelerators,
    Container,
    Prepared,
    settled,
)
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.hub import TOKEN_VARIABLES, gated_findings
from cdk_sagemaker_llm.serving.images import asked_version, choose_image
from cdk_sagemaker_llm.serving.lmi.checks import property_findings
from cdk_sagemaker_llm.serving.lmi.checks.launcher import OTHER_BACKEND
from cdk_sagemaker_llm.serving.lmi.properties import (
    PropertiesError,
    PropertyValue,
    lines,
    texts_of,
)
from cdk_sagemaker_llm.serving.lmi.typed import bounds_findings, option
from cdk_sagemaker_llm.serving.loading import (
    LONG_SECONDS,
    start_up_seconds,
)
from cdk_sagemaker_llm.serving.naming import with_class_named
from cdk_sagemaker_llm.serving.rules import NO_WEIGHTS, REPEATED, UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved, placeholder_in

# MODEL_LOADING_TIMEOUT in the environment of every LMI image from 0.24 to 0.36; the
# documentation's 1800 is wrong.
DEFAULT_LOADING_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class LmiServing:
    """
    Serve with an LMI image; the base of its backends.

    Args:
        version: The LMI version of the image.

        image:
            Another image of the family than the catalogue has of that version: its
            tag or digest, or its full URI in Amazon ECR. It is checked as the
            catalogued version nearest to the one that its tag names, or else to
            ``version``. Or the ``image`` of a ``MirroredImage``.
            If left out, it is the catalogue's.

        tensor_parallel_degree:
            Over how many devices one copy of the model is split, or ``"max"``.
            If left out, it is split over all that it has.

        max_rolling_batch_size:
            How many requests are generated at the same time.
            If left out, it is the container's default for its version.

        dtype: The number format of the weights. If left out, it is the backend's
            default.

        quantize: How the weights are quantized. If left out, they are not, or as the
            model says.

        trust_remote_code: Whether code from the model's repository may run.

        output_formatter: How answers are written: ``json``, ``jsonlines`` or ``sse``.

        model_loading_timeout:
            Seconds that loading may take.
            If left out, it is as long as SageMaker waits for the container.

        predict_timeout: Seconds that one request may take.
            If left out, it is the image's own 240.

        options:
            Further properties as in serving.properties, such as
            ``{"option.max_input_len": 2048}``; a name that this version does not
            know is an error.

        unchecked_options: Properties that are written without being checked.
    """

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

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @property
    def container_family(self) -> str:
        """
        The image family that has the backend at this version.
        """
        return self.family_name

    def prepare(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> Prepared:
        """
        Check the image and the options for this version; write all of it into
        serving.properties.
        """
        demand = known_at_synth(self)._demand(model)  # noqa: SLF001 - its own
        devices = settled(accelerators, demand)
        start_up = start_up_seconds(demand or _unplanned(model))
        limit = self._loading_seconds(start_up)
        typed = self._typed(model, limit)
        chosen = choose_image(self.container_family, self.version, self.image)
        found = [
            *self._general_findings(model, typed, chosen.findings),
            *bounds_findings(self, self.options),
        ]
        if chosen.release is None:
            return Prepared(None, tuple(found), demand)
        texts: dict[str, str] = {}
        if not errors_of(found):
            texts, faults = self._texts(typed)
            found += faults or self._property_findings(
                model, texts, devices, chosen.version
            )
        if errors_of(found):
            return Prepared(None, tuple(found), demand)
        container = Container(
            image=chosen.release,
            files={"serving.properties": lines(texts).encode()},
            environment=_environment(model),
            token_variables=TOKEN_VARIABLES,
            loading_seconds=limit,
            start_up_seconds=start_up,
        )
        return Prepared(container, tuple(found), demand)

    def _degree(self) -> int | None:
        """
        Return over how many devices a copy is split, where a number says so.
        """
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
        """
        Return what only this backend checks.
        """
        return []

    def _demand(self, model: ModelSource | None) -> Demand | None:  # noqa: ARG002
        """
        Say what the backend asks of the memory; ``None`` where that is not modelled.
        """
        return None

    def _general_findings(
        self,
        model: ModelSource | None,
        typed: Mapping[str, PropertyValue],
        of_image: Iterable[Finding],
    ) -> list[Finding]:
        """
        Add to what was found of the image what is given twice or not at all, and
        credentials.
        """
        found = list(of_image)
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
        if isinstance(model, HuggingFaceModel) and not errors_of(found):
            has_token = model.token is not None
            found += gated_findings(model.model_id, has_token=has_token)
        return found

    def _texts(
        self, typed: Mapping[str, PropertyValue]
    ) -> tuple[dict[str, str], list[Finding]]:
        extra = {**self.options, **self.unchecked_options}
        try:
            return texts_of({**typed, **dict(sorted(extra.items()))}), []
        except PropertiesError as fault:
            return {}, [UNREADABLE.finding(str(fault))]

    def _typed(
        self, model: ModelSource | None, loading: int
    ) -> dict[str, PropertyValue]:
        """
        Return what parameters and model write into serving.properties, in its order.
        """
        given = {
            f"option.{one.metadata['option']}": _plain(getattr(self, one.name))
            for one in fields(self)
            if "option" in one.metadata and getattr(self, one.name) is not None
        }
        given.pop("option.model_loading_timeout", None)
        # The engine is always written: without it LMI 0.26 fetches the model's
        # config.json without the token, and a gated model fails to load.
        first: dict[str, PropertyValue | None] = {
            "engine": self._engine(),
            "option.tensor_parallel_degree": given.pop(
                "option.tensor_parallel_degree", None
            ),
            "option.model_id": _model_id(model),
            "option.revision": getattr(model, "revision", None),
            "option.max_rolling_batch_size": given.pop(
                "option.max_rolling_batch_size", None
            ),
            **self._scheduling(),
            "option.model_loading_timeout": loading,
        }
        kept = {key: value for key, value in first.items() if value is not None}
        return {**kept, **given, **self._more()}

    def waiting(self, seconds: int) -> Self:
        """
        Return this configuration with as long to load as SageMaker waits for it,
        unless it says how long itself.
        """
        if self.model_loading_timeout is not None:
            return self
        return replace(self, model_loading_timeout=seconds)

    def _loading_seconds(self, start_up: int | None) -> int:
        """
        Return how long the container is told to wait: as long as SageMaker does.

        The image's own default is shorter, and would cut a model off that takes its
        time.
        """
        if self.model_loading_timeout is not None:
            return self.model_loading_timeout
        return start_up or LONG_SECONDS

    def _property_findings(
        self,
        model: ModelSource | None,
        texts: Mapping[str, str],
        accelerators: int | None,
        version: str,
    ) -> list[Finding]:
        architecture = None if model is None else model.architecture
        found = property_findings(
            {k: v for k, v in texts.items() if k not in self.unchecked_options},
            container=self.container_family,
            version=version,
            accelerators=accelerators,
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
            *self._compiled_findings(model, texts, accelerators, version),
        ]

    def _compiled_findings(
        self,
        model: ModelSource | None,  # noqa: ARG002 - what is compiled needs them
        texts: Mapping[str, str],  # noqa: ARG002
        accelerators: int | None,  # noqa: ARG002
        version: str,  # noqa: ARG002
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
            asked = f"option.{name}" in self.options
            return names[name] if name in names and not asked else match[0]

        message = re.sub(r"\boption\.(\w+)", rename, finding.message)
        remedy = re.sub(r"\boption\.(\w+)", rename, finding.remedy)
        bare = finding.message.split(" ")[0]
        if bare in names and bare in self.options:
            # An option that lacks its prefix, and has a parameter: both are named.
            message, remedy = finding.message, f"as a parameter, {remedy}"
        return Finding(finding.severity, finding.code, message, remedy)

    @property
    def _asked_version(self) -> str:
        """
        The version that the image's tag names, or else the one given.
        """
        return asked_version(self.version, self.image)

    def _at_least(self, minor: str) -> bool:
        try:
            return LmiVersion.parse(self._asked_version).at_least(minor)
        except ValueError:
            # The check of the image says what is wrong with the version.
            return True


def address_of(model: ModelSource | None) -> str | None:
    """
    Return what the container is told to load.
    """
    if model is None:
        return None
    return model.model_id if isinstance(model, HuggingFaceModel) else model.uri


def _model_id(model: ModelSource | None) -> str | None:
    address = address_of(model)
    return None if is_unresolved(address) else address


def config_of(architecture: ModelArchitecture | str | None) -> Mapping[str, object]:
    """
    Return what is known of the model's config.json, as the checks of a file take it.
    """
    known = sized(architecture)
    return {
        "architectures": [class_of(architecture)],
        "num_attention_heads": known.num_attention_heads if known else None,
    }


def _unplanned(model: ModelSource | None) -> Demand:
    """
    Say what is known of a model whose backend's memory is not modelled.
    """
    return Demand(architecture=architecture_of(model), assumptions=Assumptions())


def _environment(model: ModelSource | None) -> dict[str, str]:
    """
    Name weights whose address is known only at deployment, too late for a file.

    A bucket made in the same app is such a case. The address travels as the variable
    that LMI turns into ``option.model_id``.
    """
    address = address_of(model)
    if address is None or not is_unresolved(address):
        return {}
    return {"OPTION_MODEL_ID": address}


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
