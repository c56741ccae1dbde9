"""
The requests that a script makes, as the API takes them: names that fit one another, one
region, and an argument of the app for what only a run has.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.adoption.deployment import (
    Deployment,
    Hidden,
    Open,
    Remark,
    Request,
    is_secret_name,
)
from cdk_sagemaker_llm.adoption.scripts.calls import Made
from cdk_sagemaker_llm.adoption.scripts.cells import Script, script_of
from cdk_sagemaker_llm.adoption.scripts.reader import Reader
from cdk_sagemaker_llm.adoption.scripts.values import (
    Image,
    Text,
    Thing,
    Unknown,
    joined,
)
from cdk_sagemaker_llm.catalog.images import registry_accounts
from cdk_sagemaker_llm.text import redacted

_NAMES = {
    "CreateModel": "ModelName",
    "CreateEndpointConfig": "EndpointConfigName",
    "CreateEndpoint": "EndpointName",
    "CreateInferenceComponent": "InferenceComponentName",
    "RegisterScalableTarget": "ResourceId",
    "PutScalingPolicy": "PolicyName",
    "PutScheduledAction": "ScheduledActionName",
    "PutMetricAlarm": "AlarmName",
}
_REFERENCES = {
    *_NAMES.values(),
    *("AlarmActions", "BaseInferenceComponentName", "VariantName", "TargetVariantName"),
}
# What a request says nothing without.
_REQUIRED = {
    "CreateModel": ("ModelName", "PrimaryContainer|Containers"),
    "CreateEndpointConfig": ("EndpointConfigName", "ProductionVariants"),
    "CreateEndpoint": ("EndpointName", "EndpointConfigName"),
    "CreateInferenceComponent": (
        *("InferenceComponentName", "EndpointName", "Specification"),
    ),
    "RegisterScalableTarget": ("ResourceId", "ScalableDimension"),
    "PutScalingPolicy": ("PolicyName", "ResourceId", "ScalableDimension"),
    "PutScheduledAction": ("ScheduledActionName", "ResourceId", "Schedule"),
    "PutMetricAlarm": ("AlarmName", "ComparisonOperator", "EvaluationPeriods"),
}
# What has parts, and cannot be one argument of the app.
_STRUCTURES = re.compile(
    r"(?:Config|Configuration|Container|Containers|Data(?:Capture|Source)\w*|Dimensions|"
    r"Environment|Headers?|Instances?|Metrics|Options|Parameters|Requirements|Scaling|"
    r"Specifications?|Tags|Variants)\Z"
)
# What an app and its stack call their own.
_TAKEN = {
    *("app", "env", "id", "scope", "self", "settings", "stack", "synthesizer", "tags"),
    *("call", "cdk", "ec2", "iam", "kms", "sns", "cloudwatch", "description"),
}
_DEFAULT_REGION = "us-east-1"
_ECR = re.compile(r"\.dkr\.ecr\.([a-z0-9-]+)\.")
_OPTION = re.compile(r"\s*option\.(\w+)\s*[=:]\s*")
# What people are to put something of theirs in the place of.
_SECRET_BLANK = re.compile(r"(?i)<[^>]*(?:your|token|key|insert|replace)[^>]*>")
_BLANK = re.compile(r"<[\w .,'/-]*>")
_ARN = re.compile(r"arn:[^<>]*\Z")


def read_script(path: Path, *, region: str = "") -> Deployment:
    """
    Read what a script or a notebook deploys, without running it.

    Args:
        path: A file that ends in ``.py`` or ``.ipynb``.

        region: The region to deploy to. If omitted, it is the one that the file names,
            or else ``us-east-1``, which is told.

    Raises:
        ValueError: If the file cannot be read at all.
    """
    script = script_of(path)
    reader = Reader(script)
    reader.read()
    return _Writing(script, reader, region).deployment()


class _Writing:
    """
    What was read, on its way to the API's spelling.
    """

    def __init__(self, script: Script, reader: Reader, region: str) -> None:
        self.script = script
        self.reader = reader
        self.made = _without_repeats(reader)
        self.names = {
            value
            for one in self.made
            for value in [one.parameters.get(_NAMES[one.operation])]
            if isinstance(value, Text | Unknown)
        }
        self.endings = _endings(self.made)
        self.arguments: dict[str, str] = {}
        self.line = 0
        self.region = region or self._region()

    def deployment(self) -> Deployment:
        """
        Return the deployment, models first.
        """
        requests = [one for each in self.made for one in self._requests(each)]
        order = list(_NAMES)
        self._tell_of_unused()
        requests.sort(key=lambda one: order.index(one.operation))
        remarks = [
            Remark(self.script.place(line), redacted(what))
            for line, what in sorted(self.reader.remarks, key=lambda one: one[0])
        ]
        return Deployment(requests=requests, region=self.region, remarks=remarks)

    def _tell_of_unused(self) -> None:
        """
        Tell of a container's variables that no model here has.
        """
        used = [*_environments([one.parameters for one in self.made])]
        lines = {
            line: any(variables.items() <= one.items() for one in used)
            for line, variables in self.reader.variables
        }
        for line, is_used in lines.items():
            if not is_used:
                what = (
                    "these variables of a container are of no model that is made here"
                )
                self.reader.tell(line, what)

    def _region(self) -> str:
        regions = [one for one in self.reader.regions if one in registry_accounts()]
        texts = (str(one.parameters) for one in self.made)
        regions += [found for text in texts for found in _ECR.findall(text)]
        if regions:
            return regions[0]
        if self.made:
            first = min(one.line for one in self.made)
            self.reader.tell(
                first,
                "the region is that of whoever runs this: the app has the images of "
                f"{_DEFAULT_REGION}, unless --region names another",
            )
        return _DEFAULT_REGION

    def _requests(self, made: Made) -> Iterator[Request]:
        """
        Return a request; none where it says too little.
        """
        self.line = made.line
        parameters: dict[str, Any] = self._plain(made.parameters, "")
        containers = parameters.get("Containers")
        if isinstance(containers, list) and len(containers) == 1:
            parameters["PrimaryContainer"] = parameters.pop("Containers")[0]
        if made.operation == "CreateModel" and "ExecutionRoleArn" not in parameters:
            parameters["ExecutionRoleArn"] = self._role(None)
        missing = [
            names
            for names in _REQUIRED[made.operation]
            if not any(parameters.get(name) for name in names.split("|"))
        ]
        if missing:
            what = " or ".join(missing[0].split("|"))
            self.reader.tell(
                made.line,
                f"{made.operation} is not converted: {what} is not to be seen here",
            )
            return
        yield self._request(made, parameters)

    def _request(self, made: Made, parameters: dict[str, Any]) -> Request:
        name = _NAMES[made.operation]
        if isinstance(made.parameters.get(name), Text | Unknown) and name in (
            "EndpointName",
            "InferenceComponentName",
        ):
            self.reader.tell(
                made.line, f"the name is made when this runs: here {parameters[name]!r}"
            )
        files = self._files(made, parameters)
        return Request(
            operation=made.operation,
            parameters=parameters,
            where=self.script.place(made.line),
            files=files,
        )

    def _plain(self, value: Any, key: str) -> Any:  # noqa: ANN401, PLR0911 - JSON
        if isinstance(value, Mapping):
            found = {
                name: self._variable(name, one)
                if key == "Environment"
                else self._plain(one, name)
                for name, one in self._parts(value)
            }
            # CloudFormation has no empty ones.
            return {name: one for name, one in found.items() if one != {}}
        if isinstance(value, list | tuple | set):
            return [self._plain(one, key) for one in value]
        if isinstance(value, Image):
            return self._address(value)
        if isinstance(value, Text | Unknown) and self._is_reference(value, key):
            return self._name(value, key)
        if isinstance(value, Text):
            value = self._with_region(value)
        if key == "ExecutionRoleArn" and not _ARN.match(str(value)):
            return self._role(value)
        if isinstance(value, Unknown | Text):
            return self._open(value, key)
        if isinstance(value, Thing):
            return self._open(Unknown(value.kind), key)
        if isinstance(value, str) and _BLANK.fullmatch(value):
            why = f"{redacted(value)} stands there to be filled in"
            return self._open(Unknown(value, why=why), key)
        return value

    def _parts(self, value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
        for name, one in value.items():
            is_hole = isinstance(one, Unknown | Text | Thing)
            if name == "**" or (is_hole and _STRUCTURES.search(str(name))):
                why = one.reason if isinstance(one, Unknown) else "only a run has it"
                what = "a part" if name == "**" else name
                self.reader.tell(self.line, f"{what} is not converted: {why}")
            elif one is not None:
                yield str(name), one

    def _variable(self, name: str, value: object) -> object:
        """
        Return a variable of a container, which is a text, and none that is a secret.
        """
        if isinstance(value, Text):
            value = self._with_region(value)
        is_open = isinstance(value, Unknown | Text) or _SECRET_BLANK.search(str(value))
        if is_secret_name(name) and is_open:
            return Hidden(name, "a secret by its name")
        if isinstance(value, Unknown | Text):
            return self._open(value, name)
        return value if isinstance(value, str) else str(value)

    def _address(self, image: Image) -> object:
        release = image.release
        if image.is_newest:
            self.reader.tell(
                self.line,
                f"no version of {release.family} is named: the app has "
                f"{release.version}",
            )
        try:
            return release.uri(self.region)
        except ValueError as error:
            return self._open(Unknown("image_uri", why=str(error)), "Image")

    def _with_region(self, text: Text) -> Text | str:
        parts = [
            self.region if isinstance(one, Unknown) and one.kind == "region" else one
            for one in text.parts
        ]
        if all(isinstance(one, str) for one in parts):
            return "".join(map(str, parts))
        return Text(tuple(parts), text.name)

    def _role(self, value: object) -> Open:
        if isinstance(value, Unknown | Text):
            return self._open(value, "role_arn", name="role_arn")
        why = f"{value} is no ARN of a role" if value else "no role is named"
        return self._open(Unknown("role", why=why), "role_arn", name="role_arn")

    def _open(self, value: Unknown | Text, key: str, *, name: str = "") -> Open:
        """
        Return an argument of the app: one for each expression, under a name of its own.
        """
        holes = value.holes if isinstance(value, Text) else [value]
        why = redacted(", ".join(dict.fromkeys(one.reason for one in holes)))
        base = _snake(name or value.name or key)
        base = f"{base}_" if base in _TAKEN or keyword.iskeyword(base) else base
        number, free = 1, base
        while self.arguments.setdefault(free, why) != why:
            number += 1
            free = f"{base}_{number}"
        return Open(free, why)

    def _is_reference(self, value: Text | Unknown, key: str) -> bool:
        # A metric's dimension is called Value, whatever it names.
        if key == "AlarmActions":
            return isinstance(value, Text) and str(value.parts[0]).startswith("policy/")
        return key in _REFERENCES or (key == "Value" and value in self.names)

    def _name(self, value: Text | Unknown, key: str) -> str:
        name, word = _rendered(value, self.endings), _snake(key).removesuffix("_name")
        # Of one that is nothing but the time only what tells it from others is left.
        return word + name if name[:1] in ("", "-") else name

    def _files(self, made: Made, parameters: dict[str, Any]) -> dict[str, bytes]:
        """
        Return the files of a model, with unknown options of serving.properties as
        variables, which the container reads where the file is silent.
        """
        found: dict[str, bytes] = {}
        for path, content in made.files.items():
            text = self._with_region(content) if isinstance(content, Text) else content
            if isinstance(text, Text) and path.endswith("serving.properties"):
                text = self._without_holes(text, parameters)
            if isinstance(text, str):
                found[path] = text.encode()
            else:
                self.reader.tell(
                    made.line, f"what {path} holds is known when the script runs"
                )
        return found

    def _without_holes(self, text: Text, parameters: dict[str, Any]) -> str:
        container = parameters.get("PrimaryContainer") or parameters["Containers"][0]
        kept: list[str] = []
        for line in _lines(text):
            holes = [one for one in line if isinstance(one, Unknown)]
            if not holes:
                kept.append("".join(map(str, line)))
                continue
            option = _OPTION.match(line[0]) if isinstance(line[0], str) else None
            if option is None:
                self.reader.tell(
                    self.line,
                    "an option of serving.properties is known when the script runs: "
                    f"{holes[0].reason}",
                )
                continue
            rest = [str(line[0])[option.end() :], *line[1:]]
            value = joined([one for one in rest if one != ""], option[1])
            variables = container.setdefault("Environment", {})
            variable = f"OPTION_{option[1].upper()}"
            variables[variable] = self._variable(variable, value)
        return "\n".join(kept)


def _environments(values: Iterable[Any]) -> Iterator[Mapping[Any, Any]]:
    for value in values:
        if isinstance(value, Mapping):
            for key, one in value.items():
                if key == "Environment" and isinstance(one, Mapping):
                    yield one
                else:
                    yield from _environments([one])
        elif isinstance(value, list | tuple):
            yield from _environments(value)


def _without_repeats(reader: Reader) -> list[Made]:
    """
    Return the requests, each resource once: the first that creates it, or the last that
    puts it.
    """
    kept: list[Made] = []
    for one in reader.made:
        name = one.parameters.get(_NAMES[one.operation])
        same = [
            other
            for other in kept
            if other.operation == one.operation
            and other.parameters.get(_NAMES[one.operation]) == name
            and other.parameters.get("ResourceId") == one.parameters.get("ResourceId")
        ]
        if not same:
            kept.append(one)
        elif one.operation.startswith("Create"):
            if one.line != same[0].line and "Endpoint" not in one.operation:
                reader.tell(one.line, f"{one.operation} makes the same once more")
            elif one.line != same[0].line:
                _tell_of_endpoint(reader, one, same[0])
        else:
            kept[kept.index(same[0])] = one
    return kept


def _tell_of_endpoint(reader: Reader, one: Made, first: Made) -> None:
    if one.parameters != first.parameters:
        where = reader.script.place(first.line)
        reader.tell(
            one.line,
            f"the app has the endpoint as {where} makes it, and not as this does",
        )


def _endings(made: list[Made]) -> Mapping[object, str]:
    """
    Return the stand-ins of what only makes names unique: nothing, but for names that
    would be the same without it.
    """
    endings: dict[object, str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, object]] = set()
    for one in made:
        key = _NAMES[one.operation]
        value = one.parameters.get(key)
        if (one.operation, value) in seen:
            continue
        seen.add((one.operation, value))
        name = _rendered(value, endings) if isinstance(value, Text | Unknown) else value
        taken[one.operation, str(name)] += 1
        holes = value.holes if isinstance(value, Text) else [value]
        free = [hole for hole in holes if hole not in endings]
        count = taken[one.operation, str(name)]
        if count > 1 and free and isinstance(free[-1], Unknown):
            endings[free[-1]] = f"-{count}"
        for hole in free:
            endings.setdefault(hole, "")
    return endings


def _rendered(value: Text | Unknown, endings: Mapping[object, str]) -> str:
    if isinstance(value, Unknown):
        stem = _snake(value.name).replace("_", "-") if value.kind != "time" else ""
        return stem.removesuffix("-name") + endings.get(value, "")
    words = [
        one if isinstance(one, str) else endings.get(one, "") for one in value.parts
    ]
    name = re.sub(r"[-_.]{2,}", "-", "".join(words))
    return re.sub(r"[-_.]+(?=/|\Z)", "", name).strip("-_.")


def _lines(text: Text) -> Iterator[list[str | Unknown]]:
    line: list[str | Unknown] = []
    for part in text.parts:
        if isinstance(part, Unknown):
            line.append(part)
            continue
        first, *rest = part.split("\n")
        line.append(first)
        for one in rest:
            yield [piece for piece in line if piece]
            line = [one]
    yield [piece for piece in line if piece]


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"\W+", "_", spaced).strip("_").lower()
    return f"_{plain}" if plain[:1].isdigit() else plain or "value"
