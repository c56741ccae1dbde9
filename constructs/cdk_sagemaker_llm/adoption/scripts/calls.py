"""
Calls: what each comes to, what it does to files, and what it asks SageMaker for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.adoption.scripts import sdk
from cdk_sagemaker_llm.adoption.scripts.cells import SETTING, WRITE, Script
from cdk_sagemaker_llm.adoption.scripts.expressions import Expressions
from cdk_sagemaker_llm.adoption.scripts.functions import (
    kind_of_name,
    library_call,
    method_call,
    path_of,
    plain_call,
)
from cdk_sagemaker_llm.adoption.scripts.values import (
    Called,
    Thing,
    Unknown,
    joined,
    last_name,
    short,
    snapshot,
)

_DEPTH = 12
_SERVICES = ("sagemaker", "application-autoscaling", "cloudwatch", None)
_PATHS = ("Path", "PurePath", "PosixPath", "PurePosixPath")

OPERATIONS = {
    "create_model": "CreateModel",
    "create_endpoint_config": "CreateEndpointConfig",
    "create_endpoint": "CreateEndpoint",
    "create_inference_component": "CreateInferenceComponent",
    "register_scalable_target": "RegisterScalableTarget",
    "put_scaling_policy": "PutScalingPolicy",
    "put_scheduled_action": "PutScheduledAction",
    "put_metric_alarm": "PutMetricAlarm",
}
# Calls that bear on a deployment, and that this library has no resource for.
_ASIDE = {
    "update_endpoint": "what it changes later is not followed",
    "update_endpoint_weights_and_capacities": "what it changes later is not followed",
    "update_inference_component": "what it changes later is not followed",
    "update_inference_component_runtime_config": (
        "what it changes later is not followed"
    ),
    "create_schedule": "a schedule of EventBridge is none of the endpoint's; "
    "ScalableCopyCount.scale_on_schedule() does the same",
    "create_monitoring_schedule": "monitoring is not converted",
    "create_inference_experiment": "an experiment is not converted; give the "
    "configuration a shadow variant",
    "create_stack": "the template that it deploys is code already",
    "create_optimization_job": "which artifact it makes only AWS knows",
}
DEPLOYING = {*OPERATIONS, *_ASIDE, "deploy", "endpoint_from_production_variants"}


@dataclass(frozen=True, eq=False)
class Function:
    """
    A function that the script defines, and the object that it is a method of.
    """

    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Thing | None = None

    def __deepcopy__(self, memo: object) -> Function:
        return self


@dataclass(frozen=True, eq=False)
class Class:
    """
    A class that the script defines.
    """

    node: ast.ClassDef

    def __deepcopy__(self, memo: object) -> Class:
        return self

    def method(self, name: str) -> ast.FunctionDef | None:
        """
        Return a method of its own.
        """
        return next(
            (
                one
                for one in self.node.body
                if isinstance(one, ast.FunctionDef) and one.name == name
            ),
            None,
        )


@dataclass
class Made:
    """
    A request that the script makes.
    """

    operation: str
    parameters: dict[str, Any]
    line: int
    files: Mapping[str, object] = field(default_factory=dict)


class Left(Exception):  # noqa: N818 - no error
    """
    The end of a function, or of one round of a loop.
    """

    def __init__(self, value: object = None, *, loop: bool = False) -> None:
        self.value = value
        self.loop = loop


class Calls(Expressions):
    """
    Calls that are followed, or noted, or known not to matter.
    """

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.made: list[Made] = []
        self.remarks: list[tuple[int, str]] = []
        self.regions: list[str] = []
        self.called: set[ast.AST] = set()
        # What the function that is followed returns in some runs.
        self.returned: list[object] = []

    def run(self, body: Sequence[ast.stmt]) -> None:
        """
        Read statements.
        """
        raise NotImplementedError

    def tell(self, line: int, what: str) -> None:
        """
        Note what could not be converted, once for each line.
        """
        if (line, what) not in self.remarks:
            self.remarks.append((line, what))

    def call(self, node: ast.Call) -> object:
        """
        Return what a call comes to, and note what it asks SageMaker for.
        """
        called = self._called(node)
        for attempt in (self._own, self._request, self._plain, self._other):
            found = attempt(called)
            if found is not NotImplemented:
                return found
        return called.unknown(kind=self._kind(called))

    def _called(self, node: ast.Call) -> Called:
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords |= {str(key): one for key, one in value.items()}
            else:
                keywords["**"] = value
        is_method = isinstance(node.func, ast.Attribute)
        owner = self.value(node.func.value) if is_method else None  # type: ignore[attr-defined]
        return Called(node, owner, self.items(node.args), keywords)

    def _own(self, called: Called) -> object:
        """
        Return what a function or a class of the script comes to.
        """
        target: object = None
        if isinstance(called.node.func, ast.Name):
            target = self.variable(called.node.func.id)
        elif isinstance(called.owner, Thing):
            defined = self.frames[0].get(called.owner.kind)
            method = defined.method(called.name) if isinstance(defined, Class) else None
            target = Function(method, called.owner) if method else None
        if isinstance(target, Function):
            return self.follow(target, called.arguments, called.keywords)
        if not isinstance(target, Class):
            return NotImplemented
        made = Thing(target.node.name)
        start = target.method("__init__")
        if start is not None:
            self.follow(Function(start, made), called.arguments, called.keywords)
        else:
            made.arguments |= called.keywords
        return made

    def follow(
        self, function: Function, arguments: list[Any], keywords: dict[str, Any]
    ) -> object:
        """
        Return what a function of the script comes to, with what it does.
        """
        node = function.node
        self.called.add(node)
        if len(self.frames) > _DEPTH:
            return Unknown(f"{node.name}()")
        static = any(last_name(one) == "staticmethod" for one in node.decorator_list)
        owners = [] if function.owner is None or static else [function.owner]
        self.frames.append(self._bound(node, [*owners, *arguments], keywords))
        outer, self.returned = self.returned, []
        value: object = None
        try:
            self.run(node.body)
        except Left as left:
            value = left.value
        finally:
            self.frames.pop()
            earlier, self.returned = self.returned, outer
        if isinstance(value, bool) and any(one is not value for one in earlier):
            return Unknown(f"{node.name}()")
        return value

    def _bound(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> dict[str, Any]:
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        every = [*names, *(one.arg for one in node.args.kwonlyargs)]
        frame: dict[str, Any] = {
            name: Unknown(name, name=name, why=f"{node.name}() takes {name}")
            for name in every
        }
        first = len(names) - len(node.args.defaults)
        defaults = [*zip(names[first:], node.args.defaults, strict=True)]
        defaults += [
            (one.arg, default)
            for one, default in zip(
                node.args.kwonlyargs, node.args.kw_defaults, strict=True
            )
            if default is not None
        ]
        frame |= {name: self.value(default) for name, default in defaults}
        frame |= dict(zip(names, arguments, strict=False))
        frame |= {name: one for name, one in keywords.items() if name in every}
        if node.args.vararg:
            frame[node.args.vararg.arg] = arguments[len(names) :]
        if node.args.kwarg:
            rest = {name: one for name, one in keywords.items() if name not in every}
            frame[node.args.kwarg.arg] = rest
        return frame

    def _request(self, called: Called) -> object:
        """
        Note what a call asks SageMaker for, in the API's words or the SDK's.
        """
        name, owner, keywords = called.name, called.owner, called.keywords
        if name in OPERATIONS and any(k[:1].isupper() or k == "**" for k in keywords):
            return self._by_api(called)
        if name in _ASIDE and owner is not None:
            self.tell(called.line, f"{name}() is not converted: {_ASIDE[name]}")
            return called.unknown()
        result = sdk.outcome(called)
        if result is None and name == "deploy" and owner is not None:
            function = short(called.node.func)
            self.tell(called.line, f"{function}() is not converted: {_reason(owner)}")
            return called.unknown()
        if result is None:
            return NotImplemented
        if "**" in keywords and result.requests:
            why = _reason(keywords["**"])
            self.tell(called.line, f"a part is not converted: {why}")
        for what in result.remarks:
            self.tell(called.line, what)
        requests = result.requests
        if any(operation == "CreateInferenceComponent" for operation, _ in requests):
            # The SDK makes the endpoint of the first component alone.
            requests = [one for one in requests if not self._is_there(*one)]
        for operation, parameters in requests:
            self._note(operation, parameters, called.line)
        return result.value

    def _by_api(self, called: Called) -> object:
        owner, keywords = called.owner, called.keywords
        operation = OPERATIONS[called.name]
        if isinstance(owner, Thing) and owner.get("service") not in _SERVICES:
            return called.unknown()
        self._note(operation, keywords, called.line)
        if operation == "PutScalingPolicy":
            target, policy = keywords.get("ResourceId"), keywords.get("PolicyName")
            parts = ["policy/", target, "/", policy]
            return {"PolicyARN": joined(parts, called.text)}
        return called.unknown()

    def _is_there(self, operation: str, parameters: Mapping[str, Any]) -> bool:
        name = parameters.get("EndpointName", parameters.get("EndpointConfigName"))
        return operation in ("CreateEndpoint", "CreateEndpointConfig") and any(
            one.operation == "CreateEndpoint"
            and one.parameters.get("EndpointName") == name
            for one in self.made
        )

    def _note(self, operation: str, parameters: dict[str, Any], line: int) -> None:
        # What changes in its variables later is not in it.
        (copied,) = snapshot([parameters])
        files = self._artifact(copied) if operation == "CreateModel" else {}
        self.made.append(Made(operation, copied, line, files))

    def _artifact(self, parameters: dict[str, Any]) -> Mapping[str, object]:
        """
        Return the files of a model's tarball that the script writes and uploads.
        """
        containers = parameters.get("Containers") or [
            parameters.get("PrimaryContainer")
        ]
        first = containers[0] if isinstance(containers, list) else None
        if not isinstance(first, dict):
            return {}
        address = first.get("ModelDataUrl")
        source = first.get("ModelDataSource")
        if isinstance(source, dict) and isinstance(source.get("S3DataSource"), dict):
            address = source["S3DataSource"].get("S3Uri")
        members = {} if address is None else self.files.uploaded(address)
        if members:
            first.pop("ModelDataUrl", None)
            first.pop("ModelDataSource", None)
        return members

    def _plain(self, called: Called) -> object:
        """
        Return what Python's own functions come to, with files and the environment.
        """
        name, owner = called.name, called.owner
        found: object = NotImplemented
        if name == "getenv" or (name == "get" and owner is self.environment):
            found = self._setting(called)
        elif name == SETTING:
            found = self.environment[str(called.first)] = called.arguments[1]
        elif name in _PATHS:
            found = path_of(called.arguments, called.text)
        elif owner is None:
            found = plain_call(name, called.arguments)
            if name == "dict" and isinstance(found, dict):
                found |= called.keywords
        else:
            found = method_call(owner, name, called.arguments, called.keywords)
        if name == WRITE:
            self._tell_of_script(called)
        if found is NotImplemented:
            found = self.files.call(called)
        return library_call(called) if found is NotImplemented else found

    def _tell_of_script(self, called: Called) -> None:
        path, content = called.arguments
        deploys = any(f"{name}(" in content for name in DEPLOYING)
        if isinstance(path, str) and path.endswith(".py") and deploys:
            what = f"{path} is written here, and deploys: adopt that file"
            self.tell(called.line, what)

    def _setting(self, called: Called) -> object:
        key, default = (*called.arguments, None, None)[:2]
        found = self.environment.get(str(key), default)
        return called.unknown(name=str(key)) if found is None else found

    def _other(self, called: Called) -> object:
        """
        Return the object that a call makes, of a class that matters by its arguments
        alone.
        """
        name, owner = called.name, called.owner
        if name in ("client", "resource", "Session", "session"):
            region = called.keywords.get("region_name")
            self.regions += [region] if isinstance(region, str) else []
            service = called.by_name("service_name").get("service_name")
            return Thing("client", {"service": service}) if service else NotImplemented
        if name == "add_argument" and isinstance(owner, Thing):
            option = called.arguments[-1] if called.arguments else ""
            key = str(called.keywords.get("dest", option)).lstrip("-").replace("-", "_")
            value = called.keywords.get("default", called.unknown(name=key))
            owner.arguments[key] = value
            return None
        if name == "parse_args" and isinstance(owner, Thing):
            return owner
        if name[:1].isupper():
            return Thing(name, called.keywords)
        return NotImplemented

    def _kind(self, called: Called) -> Any:  # noqa: ANN401 - Kind
        owner = called.owner
        is_time = isinstance(owner, Unknown) and owner.kind == "time"
        return "time" if is_time else kind_of_name(called.name)


def _reason(value: object) -> str:
    if isinstance(value, Thing):
        return f"which model {value.kind}() has only AWS knows"
    return value.reason if isinstance(value, Unknown) else "only a run has it"
