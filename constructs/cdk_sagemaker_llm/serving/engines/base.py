"""
What the classes of engines in images of their own have in common.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, Literal

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, S3Model, kind_of
from cdk_sagemaker_llm.serving.base import (
    Accelerators,
    Case,
    Serving,
    Settings,
)
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    argument_bound_findings,
    arguments_of,
    overlap_findings,
    plain_name,
    words_of,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import find_option
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    MODEL_DIR,
    EntryPoint,
    recovers,
)
from cdk_sagemaker_llm.serving.engines.telling import EngineVariables, Telling
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.parameters import (
    NO_WEIGHTS,
    REPEATED,
    credential_findings,
    file_findings,
    gated_findings,
)
from cdk_sagemaker_llm.tokens import is_unresolved

ImageDistribution = Literal["aws", "huggingface"]
"""
Whose image it is: AWS's own, or Hugging Face's.
"""
_VARIABLE = re.compile(r"SM_\w+")
# The newest of llama.cpp's images is of neither distribution.
_MAY_BE_EMPTY = ("version",)
_OPTIONS = ("options", "unchecked_options")
TEMPLATE_FILE = "chat_template.jinja"
# What SageMaker takes as a variable's value (CreateModel).
_LONGEST = 1024
# supervisord takes what follows these for a comment.
_HALF = re.compile(r"[\ud800-\udfff]")
_COMMENTS = (" #", " ;", "\t#", "\t;")

ROLLING_TAG = Rule(
    "LLM557",
    "a version whose tag is moved to newer engines",
    "aws/deep-learning-containers, whose releases move these tags",
)
EMPTY_TEXT = Rule(
    "LLM531",
    "a parameter, or the name of an option, is an empty text",
    "the library's own rule",
)


@dataclass(frozen=True, slots=True)
class EngineServing(Serving):
    """
    Serve with an engine in an image of its own; the base of those.

    Args:
        version: The image's version.

        image:
            Another image than the catalogue has of that version: its tag or digest in
            the same repository, or its full URI in Amazon ECR. It is checked as the
            catalogued version nearest to the one that its tag names, or else to
            ``version``. Or the ``image`` of a ``MirroredImage``.
            If omitted, it is the catalogue's.

        options:
            Further arguments of the engine by their names, such as
            ``{"max_logprobs": 20}``. They are checked against the release.

        unchecked_options:
            Arguments that are written without being checked: text as it is.

        environment:
            Variables of the process that are no arguments, such as
            ``{"HF_HUB_OFFLINE": "1"}``, without secrets.

        files: What goes into the model tarball, by path. If omitted, there is none.
    """

    engine: ClassVar[Engine] = "vllm"
    engine_name: ClassVar[str] = ""
    # The arguments that name a model and its revision.
    model_words: ClassVar[tuple[str, str]] = ("model", "revision")

    version: str
    _: KW_ONLY
    image: str | ImageRelease | None = None
    options: Mapping[str, ArgumentValue] = field(default_factory=dict)
    unchecked_options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def container_family(self) -> str:
        """
        The image family of this version.
        """
        raise NotImplementedError

    @property
    def _is_of_ubuntu(self) -> bool:
        # AWS's track on Ubuntu counts as the engine does.
        return self.version.lstrip("vV").startswith("0.")

    def _usable(self) -> tuple[Serving, list[Finding]]:
        empty = [
            one.name
            for one in fields(self)
            if one.name not in _MAY_BE_EMPTY and _says_nothing(getattr(self, one.name))
        ]
        found = [
            EMPTY_TEXT.finding(f"{name} is an empty text", "leave it out, or say which")
            for name in empty
        ]
        rest: dict[str, Any] = dict.fromkeys(empty)
        for where in _OPTIONS:
            options = getattr(self, where)
            rest[where] = {k: v for k, v in options.items() if plain_name(k)}
            found += [
                EMPTY_TEXT.finding(
                    f"{where} has a name that is empty: {name!r}", "name an argument"
                )
                for name in options
                if not plain_name(name)
            ]
        # The rest is looked at as if empty texts had been left out.
        return replace(self, **rest) if found else self, found

    def _image(
        self,
        model: ModelSource | None,  # noqa: ARG002 - a class may go by it
        accelerators: Accelerators,
    ) -> tuple[ChosenImage, Accelerators]:
        chosen = choose_image(self.container_family, self.version, self.image)
        return chosen, accelerators

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:
        """
        Check each argument for its release, and write all of it into environment
        variables.
        """
        release = release_in(case.image)
        written = self._engine_variables(
            release, self._arguments(case.model, case.devices)
        )
        found = [*written.findings]
        found += overlap_findings(
            self._parameter_words(),
            self.options,
            self.unchecked_options,
            partial(self._long_name, release),
        )
        process = {**self._defaults(case.model, case.demand), **self.environment}
        environment = {**process, **written.variables, **self._unchecked(release)}
        found += [
            REPEATED.finding(f"environment repeats {name}, which is an argument")
            for name in sorted(set(self.environment) & set(written.variables))
        ]
        if is_sound and not errors_of(found):
            found += self._environment_findings(environment, case, release)
        return Settings(
            files=self._files(),
            environment=environment,
            findings=tuple(dict.fromkeys(found)),
        )

    def _arguments(
        self, model: ModelSource | None, devices: int | None
    ) -> dict[str, ArgumentValue]:
        named = self._model_arguments(model)
        own = arguments_of(self)
        return {**named, **self._degrees(own, devices), **own}

    def _model_arguments(self, model: ModelSource | None) -> dict[str, ArgumentValue]:
        """
        Name the model in any case: what lies in its folder outranks HF_MODEL_ID, and
        not every entry point reads that.
        """
        if model is None:
            return {}
        address, revision = self.model_words
        named: dict[str, ArgumentValue] = {address: MODEL_DIR}
        if isinstance(model, HuggingFaceModel):
            named[address] = model.model_id
        if model.revision is not None:
            named[revision] = model.revision
        return named

    def _degrees(
        self,
        arguments: Mapping[str, ArgumentValue],  # noqa: ARG002 - a class may go by it
        devices: int | None,  # noqa: ARG002 - as above
    ) -> dict[str, ArgumentValue]:
        """
        Split the model over the devices for which the user says nothing else.
        """
        return {}

    def _defaults(
        self,
        model: ModelSource | None,  # noqa: ARG002 - a class may go by it
        demand: Demand | None,  # noqa: ARG002 - as above
    ) -> dict[str, str]:
        """
        Return variables of the process that are set unless the user does.
        """
        return {}

    def _files(self) -> Mapping[str, bytes]:
        return self.files

    def _engine_variables(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> EngineVariables:
        number = release.engine_version or ""
        label = f"{self.engine_name} {number}".strip()
        rule = rule_of(release)
        if not recovers(self.environment):
            # What is doubled for the supervisor stays doubled without it.
            rule = rule._replace(supervisor=None)
        telling = Telling(self.engine, number, rule, label)
        return telling.tell(arguments, self.options, self._words(release))

    def _words(self, release: EngineRelease) -> dict[str, str]:
        options = {self._long_name(release, one): one for one in self.options}
        return {**words_of(self), **options}

    def _parameter_words(self) -> dict[str, str]:
        """
        Return what the user calls each parameter that is given, by its long name.
        """
        own = arguments_of(self)
        return {name: word for name, word in words_of(self).items() if name in own}

    def _long_name(self, release: EngineRelease, spelling: str) -> str:
        """
        Return the long name of the argument that a spelling stands for, if it is known.
        """
        plain = plain_name(spelling)
        number = release.engine_version or ""
        # Parsers take beginnings of names as well.
        argument = find_option(self.engine, number, f"--{plain}").argument
        return plain if argument is None else argument.name

    def _variable(self, release: EngineRelease, argument: str) -> str:
        return rule_of(release).variable(argument)

    def _unchecked(self, release: EngineRelease) -> dict[str, str]:
        return {
            self._variable(release, name.lstrip("-")): value
            for name, value in self.unchecked_options.items()
        }

    def _general_findings(self, case: Case) -> list[Finding]:
        found, release = self._model_findings(case.model), case.image.release
        if release is not None and release.is_rolling:
            pinned = pinned_version(release.family, case.image.version)
            what = f"version {self.version} of {release.family}"
            found.append(
                ROLLING_TAG.finding(
                    f"{f'image {self.image}' if self.image else what} is a tag that "
                    "AWS moves: the next instance may start another engine",
                    f"name {pinned}, or the image's digest in image=",
                )
            )
        return [*found, *argument_bound_findings(self)]

    def _model_findings(self, model: ModelSource | None) -> list[Finding]:
        found: list[Finding] = []
        if model is None:
            found.append(
                NO_WEIGHTS.finding("model is missing: nothing names the weights")
            )
        if isinstance(model, S3Model) and self._files():
            found.append(
                REPEATED.finding(
                    "files cannot stand beside weights on S3, which fill "
                    f"{MODEL_DIR} alone",
                    "put them among the weights",
                )
            )
        for where in ("options", "unchecked_options", "environment"):
            found += credential_findings(where, getattr(self, where))
        found += file_findings(self._files())
        if isinstance(model, HuggingFaceModel) and not errors_of(found):
            found += gated_findings(model.model_id, has_token=model.token is not None)
        return found

    def _environment_findings(
        self,
        environment: Mapping[str, str],
        case: Case,
        release: EngineRelease,
    ) -> list[Finding]:
        words = {
            self._variable(release, f"{form}{name}"): word
            for name, word in self._words(release).items()
            for form in ("no-", "")
        }
        # A token is set by reference, after all that is known here.
        has_token = case.model is not None and case.model.token is not None
        tokens = self._token_variables(case.image) if has_token else ()
        found = engine_findings(
            {**environment, **dict.fromkeys(tokens, "{{resolve:token}}")},
            family=release.family,
            version=release.version,
            accelerators=case.devices,
            architecture=kind_of(case.model),
            model_data=None
            if isinstance(case.model, S3Model)
            else tuple(self._files()),
            words=words,
            unchecked=self._unchecked(release),
        )
        prefix = "" if release.rule is None else rule_of(release).prefix
        names = {**{name: name for name in self.environment}, **words}
        return [_renamed(self._judged(one), names, prefix) for one in found]

    def _judged(self, finding: Finding) -> Finding:
        """
        Return a finding, as an error where the class leaves no doubt of it.
        """
        return finding


def release_in(image: ChosenImage) -> EngineRelease:
    """
    Return what is inside an image of the catalogue.
    """
    release = find_engine_release(image.family, image.version)
    if release is None:
        raise ValueError(f"{image.family} {image.version} has no engine of its own")
    return release


def engine_version_in(image: ChosenImage | None) -> str | None:
    """
    Return the engine's release in an image; ``None`` where that is not known.
    """
    release = image and find_engine_release(image.family, image.version)
    return release.engine_version if release else None


def tensor_degree(
    name: str, arguments: Mapping[str, ArgumentValue], devices: int | None, others: int
) -> dict[str, ArgumentValue]:
    """
    Split the model over the devices that pipeline and copies leave; empty where the
    user did, or those ``others`` do not divide the devices.
    """
    if devices is None or devices < 1 or name in arguments:
        return {}
    size, rest = divmod(devices, others)
    return {} if rest else {name: size}


def rule_of(release: EngineRelease) -> EntryPoint:
    """
    Return the rule that is written for.
    """
    if release.rule is None:
        raise ValueError(f"{release.family} has no entry point that takes arguments")
    return ENTRY_POINTS[release.rule]


def _renamed(finding: Finding, words: Mapping[str, str], prefix: str) -> Finding:
    """
    Return a finding that calls variables what the user does, and arguments that nobody
    has written by their names.
    """

    def rename(match: re.Match[str]) -> str:
        name = match[0]
        is_other = prefix and name.startswith(prefix) and name != prefix
        usual = plain_name(name.removeprefix(prefix)) if is_other else name
        return words.get(name, usual)

    return replace(
        finding,
        message=_VARIABLE.sub(rename, finding.message),
        remedy=_VARIABLE.sub(rename, finding.remedy),
    )


def _says_nothing(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple) and any(map(_says_nothing, value))


def fits_a_variable(template: str) -> bool:
    """
    Whether a template can stand in a variable: a path, or one short line.
    """
    # Half a pair of surrogates is in no file either: what checks variables refuses it.
    if is_unresolved(template) or _HALF.search(template):
        return True
    if "\n" in template or any(mark in template for mark in _COMMENTS):
        return False
    return len(template.encode()) <= _LONGEST


def with_template(
    files: Mapping[str, bytes], template: str | None
) -> Mapping[str, bytes]:
    """
    Return what goes into the model tarball, with the template if that travels there.
    """
    if template is None or fits_a_variable(template):
        return files
    return {**files, TEMPLATE_FILE: template.encode()}
