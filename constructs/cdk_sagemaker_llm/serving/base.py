"""
How every backend prepares a container: one ``prepare``, hooks for what differs, and
how long SageMaker waits for a model of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import (
    held,
    hold_kinds,
    known_at_synth,
)
from cdk_sagemaker_llm.arguments.kinds import value_text
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.models import ModelSource, S3Model
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.parameters import TOKEN_VARIABLES
from cdk_sagemaker_llm.tokens import is_unresolved

# Published deployments: 93 GB came up within 30 minutes and 26 GB within 15 to 25, the
# instance included. This rate is slower than each of them.
BYTES_PER_SECOND = 50_000_000
# Starting the container, compiling or recording graphs, and warming up.
_FIXED_SECONDS = 600
_STEP_SECONDS = 300
LONGEST_SECONDS = 3600
# Up to here the defaults will do: SageMaker is told to wait 30 minutes.
LONG_SECONDS = 1800
# What a download is granted at least, and where its size is not known.
_SHORTEST_DOWNLOAD_SECONDS = 600
_UNKNOWN_DOWNLOAD_SECONDS = 1800

OTHER_SERVING = Rule(
    "LLM775",
    "engines are served otherwise than they were compiled for",
    "LMI documentation, TensorRT-LLM ahead-of-time compilation",
)

Accelerators = int | Callable[[Demand | None], int | None] | None
"""
How many devices each copy of the model has.

A number; ``None`` if it is not known; or a function that decides it, once the
configuration has said what it asks of the memory.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """
    What SageMaker starts for a model: an image, files, variables and weights.

    Args:
        image: The image that runs.

        files: What goes into the model tarball, by path; empty for no tarball.

        environment: Environment variables, without secrets.

        token_variables: Variables that are to hold the Hugging Face token.

        weights_uri: A prefix on S3 that SageMaker itself puts into
            ``/opt/ml/model``; ``None`` when the container fetches the weights.

        loading_seconds: How long the container itself lets loading take; ``None``
            where it sets no limit.

        start_up_seconds: How long SageMaker should wait for an answer, where the
            model's size asks for more than the default; ``None`` for the default.
    """

    image: ImageRelease
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    token_variables: tuple[str, ...] = ()
    weights_uri: str | None = None
    loading_seconds: int | None = None
    start_up_seconds: int | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and keep files and variables as they are now.
        """
        hold_kinds(self)


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    All that a serving configuration answers for one model, at once.

    Args:
        container: What is started; ``None`` where an error stands in the way.

        findings: What was found, errors and warnings.

        demand: What it asks of the memory; ``None`` where that is not modelled.

        architecture: What the configuration itself says of its model; ``None`` where
            it leaves that to the model.

        loads_engines: Whether it loads engines that were compiled ahead of time, and
            holds them to what they were compiled for.
    """

    container: Container | None
    findings: tuple[Finding, ...]
    demand: Demand | None = None
    architecture: ModelArchitecture | str | None = None
    loads_engines: bool = False

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


@runtime_checkable
class ServingConfiguration(Protocol):
    """
    How a model is served: one of the backends, or a hand-written folder.
    """

    def prepare(
        self,
        model: ModelSource | None,
        accelerators: Accelerators,
        *,
        start_up_seconds: int | None = None,
    ) -> Prepared:
        """
        Check the configuration for a model and describe the container, before
        anything is made of it.

        Args:
            model: Where the weights come from; ``None`` when the files name it.

            accelerators: Devices that each copy of the model has.
                ``None`` skips what depends on them.

            start_up_seconds: How long SageMaker waits for an answer.
                If omitted, the model's size decides.
        """


def prepared_by(
    serving: ServingConfiguration,
    model: ModelSource | None,
    accelerators: Accelerators,
    start_up_seconds: int | None = None,
) -> Prepared:
    """
    Ask a configuration, which may be the user's own.
    """
    if start_up_seconds is None:
        prepared: object = serving.prepare(model, accelerators)
    else:
        prepared = serving.prepare(
            model, accelerators, start_up_seconds=start_up_seconds
        )
    if isinstance(prepared, Prepared):
        return prepared
    raise ValueError(
        f"{type(serving).__name__}.prepare() must return a Prepared, got "
        f"{value_text(prepared)}; write Prepared(container, findings)"
    )


class Case(NamedTuple):
    """
    What a configuration is prepared for: one model, in one image, on some devices.

    The model is ``None`` where the files name it, the demand where it is not modelled,
    and the devices where they are not known; ``start_up_seconds`` are the user's
    choice.
    """

    model: ModelSource | None
    image: ChosenImage
    demand: Demand | None
    devices: int | None
    start_up_seconds: int | None


class Settings(NamedTuple):
    """
    What is written into a container, and what was found of it.
    """

    files: Mapping[str, bytes] = {}
    environment: Mapping[str, str] = {}
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Serving:
    """
    The base of all backends, which differ in the hooks.
    """

    loads_engines: ClassVar[bool] = False
    # Whether SageMaker puts weights on S3 into /opt/ml/model for it.
    reads_model_folder: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @held
    def prepare(
        self,
        model: ModelSource | None,
        accelerators: Accelerators,
        *,
        start_up_seconds: int | None = None,
    ) -> Prepared:
        """
        Check the configuration for a model, and describe the container.

        Args:
            model: Where the weights come from; ``None`` when the files name it.

            accelerators: Devices that each copy of the model has.
                ``None`` skips what depends on them.

            start_up_seconds: How long SageMaker waits for an answer.
                If omitted, the model's size decides.

        Raises:
            ValueError: If an argument is of a wrong kind.
        """
        usable, unusable = self._usable()
        prepared = usable._prepared(  # noqa: SLF001 - its own
            model, accelerators, start_up_seconds
        )
        if not unusable:
            return prepared
        findings = (*unusable, *prepared.findings)
        return replace(prepared, container=None, findings=findings)

    def _prepared(
        self,
        model: ModelSource | None,
        accelerators: Accelerators,
        start_up_seconds: int | None,
    ) -> Prepared:
        image, accelerators = self._image(model, accelerators)
        demand = known_at_synth(self)._demand(model, image)  # noqa: SLF001 - its own
        case = Case(
            model=model,
            image=image,
            demand=demand,
            devices=settled(accelerators, demand),
            start_up_seconds=start_up_seconds,
        )
        findings = [*image.findings, *self._general_findings(case)]
        container = None
        if image.release is not None:
            settings = self._settings(case, is_sound=not errors_of(findings))
            # What is found of the model, the settings may show once more.
            findings += [one for one in settings.findings if one not in findings]
            if not errors_of(findings):
                container = self._container(case, image.release, settings)
        return Prepared(
            container,
            tuple(findings),
            demand,
            architecture=self._model_architecture(),
            loads_engines=self.loads_engines,
        )

    def _container(
        self, case: Case, image: ImageRelease, settings: Settings
    ) -> Container:
        on_s3 = case.model.uri if isinstance(case.model, S3Model) else None
        return Container(
            image=image,
            files=settings.files,
            environment=settings.environment,
            token_variables=self._token_variables(case.image),
            weights_uri=on_s3 if self.reads_model_folder else None,
            loading_seconds=self._loading_seconds(case),
            start_up_seconds=self._start_up_seconds(case),
        )

    def _usable(self) -> tuple[Serving, list[Finding]]:
        """
        Return what is prepared in its place, and what of it is not usable.
        """
        return self, []

    def _image(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> tuple[ChosenImage, Accelerators]:
        """
        Choose the image for what each copy has, and return what that is.
        """
        raise NotImplementedError

    def _demand(
        self,
        model: ModelSource | None,  # noqa: ARG002 - a class may go by it
        image: ChosenImage | None,  # noqa: ARG002 - as above
    ) -> Demand | None:
        """
        Return what it asks of the memory; ``None`` where that is not modelled.
        """
        return None

    def _general_findings(self, case: Case) -> list[Finding]:  # noqa: ARG002 - a class may go by it
        """
        Find what is wrong in whichever image: of the model, and of what the user wrote.
        """
        return []

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:
        """
        Write what the container reads, and check it.
        """
        raise NotImplementedError

    def _token_variables(self, image: ChosenImage) -> tuple[str, ...]:  # noqa: ARG002 - a class may go by it
        return TOKEN_VARIABLES

    def _loading_seconds(self, case: Case) -> int | None:  # noqa: ARG002 - a class may go by it
        return None

    def _start_up_seconds(self, case: Case) -> int | None:
        return start_up_seconds(case.demand)

    def _model_architecture(self) -> ModelArchitecture | str | None:
        return None


def settled(accelerators: Accelerators, demand: Demand | None) -> int | None:
    """
    Return how many devices each copy has, now that the demand is known; ``None`` where
    only deployment knows.
    """
    devices = accelerators(demand) if callable(accelerators) else accelerators
    return None if is_unresolved(devices) else devices


def loading_seconds(weight_bytes: int) -> int:
    """
    Return how many seconds to wait for a model, in whole steps of five minutes, at most
    the 3600 that SageMaker waits.
    """
    seconds = _FIXED_SECONDS + weight_bytes / BYTES_PER_SECOND
    steps = -(-seconds // _STEP_SECONDS)
    return min(int(steps) * _STEP_SECONDS, LONGEST_SECONDS)


def download_seconds(weight_bytes: int | None) -> int:
    """
    Return how many seconds to wait for a download, in whole steps of five minutes, from
    600 to the 3600 that SageMaker waits.
    """
    if weight_bytes is None:
        return _UNKNOWN_DOWNLOAD_SECONDS
    steps = -(-weight_bytes // (BYTES_PER_SECOND * _STEP_SECONDS))
    seconds = max(steps * _STEP_SECONDS, _SHORTEST_DOWNLOAD_SECONDS)
    return min(seconds, LONGEST_SECONDS)


def start_up_seconds(demand: Demand | None) -> int | None:
    """
    Return how long to wait for a model that takes longer than the default.

    ``None`` where the default will do, or the size is not known.
    """
    if demand is None or demand.architecture is None:
        return None
    seconds = loading_seconds(demand.architecture.weight_bytes(demand.weight_bits))
    return seconds if seconds > LONG_SECONDS else None
