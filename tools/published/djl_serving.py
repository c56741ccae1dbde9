"""
What the CI of djl-serving writes into serving.properties, at each of its releases.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.images import image_versions
from tools.published.configuration import Configuration
from tools.published.repository import Repository

PREPARE = "tests/integration/llm/prepare.py"
_WORKFLOW = ".github/workflows/integration.yml"
_RELEASE = re.compile(r"(\d+\.\d+\.\d+(?:-lmi\d+)?)-dlc\Z")
_MODEL_KEYS = ("option.model_id", "option.s3url")
# What is read beside the file, by the script that writes it.
_NOT_WRITTEN = ("adapter_ids", "adapter_names", "add_output_formatter")
_MOST_CORES_OF_INF2, _MOST_GPUS_OF_G = 12, 4


def commits_of(repository: Repository) -> dict[str, str]:
    """
    Return the commits of the branches that are read.
    """
    return {
        branch: commit
        for branch, commit in repository.commits().items()
        if branch == "master" or _RELEASE.match(branch)
    }


def configurations_of(
    repository: Repository, commits: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Configuration]:
    """
    Yield the entries of every branch's tables.
    """
    for branch, commit in commits.items():
        text = repository.text(commit, PREPARE)
        if not text:
            continue
        release = _RELEASE.match(branch)
        version = release[1] if release else image_versions("djl-lmi")[-1]
        gpus = _gpus(repository.text(commit, _WORKFLOW))
        for table, entry, properties in entries_of(text):
            name = next(properties[key] for key in _MODEL_KEYS if key in properties)
            model = names.get(name.rstrip("/"), name)
            yield Configuration(
                place=f"{branch} {table} {entry}",
                name=name,
                model=None if model.startswith("s3:") else model,
                container=_container(table, properties, version),
                version=version,
                instance_type=_machine(table, properties, gpus),
                properties=properties,
            )


def entries_of(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """
    Yield each entry of the script's tables: the table, the entry's name, and the
    properties that come of it.

    Nothing of it is executed: what no literal says is left out.
    """
    module = ast.parse(text)
    builders = {
        table: added
        for function in reversed(module.body)
        if isinstance(function, ast.FunctionDef)
        for table, added in _written_by(function)
    }
    for statement in module.body:
        if not isinstance(statement, ast.Assign):
            continue
        (target,) = statement.targets
        if not isinstance(target, ast.Name) or target.id not in builders:
            continue
        added = builders[target.id]
        for entry, values in _literals(statement.value).items():
            options = {**values, **added} if isinstance(values, dict) else {}
            if any(key in options for key in _MODEL_KEYS):
                kept = {k: str(v) for k, v in options.items() if k not in _NOT_WRITTEN}
                yield target.id, str(entry), kept


def _written_by(function: ast.FunctionDef) -> Iterator[tuple[str, dict[str, object]]]:
    """
    Yield the table that a function reads, with what it adds to each entry.
    """
    added: dict[str, object] = {}
    table = None
    for node in function.body:
        if not isinstance(node, ast.Assign):
            continue
        (target,), value = node.targets, node.value
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            table = value.value.id
        elif isinstance(target, ast.Subscript) and isinstance(value, ast.Constant):
            added[ast.literal_eval(target.slice)] = value.value
    if table is not None:
        yield table, added


def _literals(node: ast.expr) -> dict[object, object]:
    found: dict[object, object] = {}
    if not isinstance(node, ast.Dict):
        return found
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(value, ast.Dict) and key is not None:
            found[ast.literal_eval(key)] = _literals(value)
            continue
        try:
            found[ast.literal_eval(key or value)] = ast.literal_eval(value)
        except ValueError:
            continue
    return found


def _gpus(workflow: str) -> str:
    return "ml.g6.12xlarge" if "action_g6" in workflow else "ml.g5.12xlarge"


def _container(table: str, properties: Mapping[str, str], version: str) -> str:
    batch = properties.get("option.rolling_batch")
    if table.startswith("trtllm") or batch == "trtllm":
        return "djl-tensorrtllm"
    if "neuronx" in table:
        return "djl-neuronx"
    if table.startswith("ft_"):
        return "djl-fastertransformer"
    old = version in image_versions("djl-deepspeed")
    return "djl-deepspeed" if old else "djl-lmi"


def _machine(table: str, properties: Mapping[str, str], gpus: str) -> str:
    degree = properties.get("option.tensor_parallel_degree", "1")
    count = int(degree) if degree.isdigit() else 1
    if "neuronx" in table:
        large = count > _MOST_CORES_OF_INF2
        return "ml.trn1.32xlarge" if large else "ml.inf2.24xlarge"
    return "ml.p4d.24xlarge" if count > _MOST_GPUS_OF_G else gpus
