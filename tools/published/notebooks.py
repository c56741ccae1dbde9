"""
What notebooks deploy: variables of a container, and files that they write for LMI.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.catalog.images import find_image, image_at, image_near
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from tools.published.configuration import Configuration
from tools.published.repository import Repository

_NAMES = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL", "SM_SGLANG_MODEL_PATH")
_STARTS = {"SM_VLLM_": "vllm", "SM_SGLANG_": "sglang"}
_FILE_KEY = "option.model_id"
_WRITTEN = re.compile(r"%%writefile\s+\S*serving\.properties[^\n]*\n")
_TYPE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+\Z")
_REQUIREMENTS = re.compile(r"%%writefile\s+\S*requirements\.txt[^\n]*\n")
_BROUGHT = re.compile(r"^vllm==([\w.]+)", re.MULTILINE)
_HOLE = {"region": "us-east-1"}
_FAMILIES = {
    "huggingface": "huggingface-llm",
    "huggingface-neuronx": "huggingface-llm-neuronx",
    "huggingface-tei": "tei",
    "huggingface-tei-cpu": "tei-cpu",
    "lmi": "djl-lmi",
}
_ENDS = (".ipynb", ".py", "serving.properties")


def configurations_of(
    repository: Repository, commits: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Configuration]:
    """
    Yield what each notebook, script and file of the newest commit deploys.
    """
    for path, text in repository.texts(commits["HEAD"], *_ENDS):
        if not any(name in text for name in (*_NAMES, _FILE_KEY)):
            continue
        for at, one in enumerate(deployments_in(cells_of(path, text))):
            name = one.model
            hub = names.get(name, name)
            is_elsewhere = hub.startswith(("/", ".", "s3:", "{")) or not hub
            family, version = (one.fits and one.image) or (None, "")
            yield Configuration(
                place=f"{path} {at}",
                name=name,
                model=None if is_elsewhere else hub,
                container=None if one.brought else family,
                version=version,
                engine="vllm" if one.brought else None,
                releases=(one.brought,) if one.brought else (),
                instance_type=one.instance_type,
                properties=one.properties,
                environment=one.environment,
            )


@dataclass
class Deployment:
    """
    What is known of one deployment, as the cells are read one after the other.
    """

    properties: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    image: tuple[str, str] | None = None
    instance_type: str | None = None
    brought: str = ""

    @property
    def fits(self) -> bool:
        """
        Whether the image that was found is of the engine whose variables are set.
        """
        family = self.image[0] if self.image else ""
        return all(
            engine in family
            for start, engine in _STARTS.items()
            if any(name.startswith(start) for name in self.environment)
        )

    @property
    def model(self) -> str:
        """
        The model as the notebook names it; empty where that is not a plain word.
        """
        values = {**self.properties, **self.environment}
        return next((values[k] for k in (_FILE_KEY, *_NAMES) if k in values), "")


def cells_of(path: str, text: str) -> list[str]:
    """
    Return the cells of a notebook that are code, and of a file its text.
    """
    if path.endswith(".properties"):
        return [f"%%writefile serving.properties\n{text}"]
    if not path.endswith(".ipynb"):
        return [text]
    try:
        cells = json.loads(text).get("cells", [])
    except ValueError:
        return []
    return [
        "".join(one.get("source", ())) for one in cells if one["cell_type"] == "code"
    ]


def deployments_in(cells: list[str]) -> list[Deployment]:
    """
    Read deployments: each with the image that was named last before it, or first
    behind, and the instance type that was named first behind it, or last before.
    """
    notebook = _Notebook()
    for cell in cells:
        notebook.read(cell)
    for one in notebook.found:
        one.instance_type = one.instance_type or notebook.machine
    return notebook.found


@dataclass
class _Notebook:
    """
    What the cells so far have said.
    """

    found: list[Deployment] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    image: tuple[str, str] | None = None
    machine: str | None = None

    def read(self, cell: str) -> None:
        written = _WRITTEN.match(cell)
        if written:
            self._take_file(cell[written.end() :])
            return
        engine = _BROUGHT.search(cell) if _REQUIREMENTS.match(cell) else None
        if engine and self.found:
            self.found[-1].brought = engine[1]
        reading = _Reading(self.values)
        reading.read(cell)
        for image in reading.images:
            self.image = image
            for one in self.found:
                one.image = one.image or image
        for environment in reading.environments:
            self._take_environment(environment)
        for machine in reading.types:
            self.machine = machine
            for one in self.found:
                one.instance_type = one.instance_type or machine

    def _take_file(self, text: str) -> None:
        try:
            properties = parse(text)
        except PropertiesError:
            return
        if _FILE_KEY in properties:
            self.found.append(Deployment(properties=dict(properties), image=self.image))

    def _take_environment(self, environment: dict[str, str]) -> None:
        self.found = [
            one
            for one in self.found
            if one.properties or not _is_within(one.environment, environment)
        ]
        self.found.append(Deployment(environment=environment, image=self.image))


def _is_within(less: Mapping[str, str], more: Mapping[str, str]) -> bool:
    return less.items() <= more.items()


class _Reading(ast.NodeVisitor):
    """
    What a cell says, in which names stand for what earlier cells gave them.
    """

    def __init__(self, values: dict[str, object]) -> None:
        self.values = values
        self.images: list[tuple[str, str]] = []
        self.environments: list[dict[str, str]] = []
        self.types: list[str] = []

    def read(self, cell: str) -> None:
        lines = [
            "" if line.lstrip().startswith(("!", "%")) else line
            for line in cell.splitlines()
        ]
        try:
            self.visit(ast.parse("\n".join(lines)))
        except SyntaxError:
            return

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        value = self.value_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.values[target.id] = value
                if "instance" in target.id:
                    self._take_type(value)
            elif isinstance(target, ast.Subscript) and self.environments:
                key = self.value_of(target.slice)
                if isinstance(key, str) and key.isupper() and value is not None:
                    self.environments[-1][key] = str(value)

    def visit_Dict(self, node: ast.Dict) -> None:
        self.generic_visit(node)
        self._take_environment(self.value_of(node))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        self._take_environment(self.value_of(node))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = ast.unparse(node.func).rpartition(".")[2]
        given = {one.arg: self.value_of(one.value) for one in node.keywords}
        self._take_type(given.get("instance_type"))
        first = self.value_of(node.args[0]) if node.args else None
        if name == "update" and isinstance(first, dict) and self.environments:
            self._take_environment({**self.environments[-1], **first})
        if name == "get_huggingface_llm_image_uri":
            family = _FAMILIES.get(str(given.get("backend", first)))
            self._take_image(family, given.get("version"))
        elif name == "retrieve":
            family = str(given.get("framework", first))
            self._take_image(_FAMILIES.get(family, family), given.get("version"))

    def visit_Constant(self, node: ast.Constant) -> None:
        self._take_type(node.value)
        self._take_address(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._take_address(self.value_of(node))

    def value_of(self, node: ast.expr) -> object:
        """
        Return what an expression comes to as far as it is plain, else ``None``.
        """
        match node:
            case ast.Constant():
                found: object = node.value
            case ast.Name():
                found = self.values.get(node.id)
            case ast.Dict():
                found = self._mapping_of(node)
            case ast.BinOp(op=ast.BitOr()):
                found = self._union_of(node)
            case ast.JoinedStr():
                found = "".join(str(self._part_of(one)) for one in node.values)
            case ast.Call(args=[argument]):
                found = self._text_of(ast.unparse(node.func), self.value_of(argument))
            case _:
                found = None
        return found

    def _text_of(self, function: str, value: object) -> str | None:
        if value is None or function not in ("str", "json.dumps"):
            return None
        return str(value) if function == "str" else json.dumps(value)

    def _union_of(self, node: ast.BinOp) -> dict[str, object] | None:
        left, right = self.value_of(node.left), self.value_of(node.right)
        if isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        return None

    def _mapping_of(self, node: ast.Dict) -> dict[str, object]:
        """
        Return what is known of a mapping: what is not plain is left out.
        """
        found: dict[str, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            given = self.value_of(value)
            if key is None:
                found |= given if isinstance(given, dict) else {}
            elif given is not None:
                found[str(self.value_of(key))] = given
        return found

    def _part_of(self, node: ast.expr) -> object:
        if not isinstance(node, ast.FormattedValue):
            return self.value_of(node)
        value, name = self.value_of(node.value), ast.unparse(node.value).lower()
        named = next((text for part, text in _HOLE.items() if part in name), "{}")
        return named if value is None else value

    def _take_environment(self, value: object) -> None:
        """
        Take variables that name a model, instead of those that they add to.
        """
        if not isinstance(value, dict) or not any(name in value for name in _NAMES):
            return
        environment = {str(key): str(one) for key, one in value.items()}
        others = [one for one in self.environments if not _is_within(one, environment)]
        self.environments = [*others, environment]

    def _take_type(self, value: object) -> None:
        if isinstance(value, str) and _TYPE.match(value):
            self.types.append(value)

    def _take_image(self, family: str | None, version: object) -> None:
        if family is None or not isinstance(version, str):
            return
        try:
            image = find_image(family, version)
        except ValueError:
            return
        self.images.append((image.family, image.version))

    def _take_address(self, value: object) -> None:
        if isinstance(value, str) and ".dkr.ecr." in value:
            image = image_at(value) or image_near(value)
            if image is not None:
                self.images.append((image.family, image.version))
