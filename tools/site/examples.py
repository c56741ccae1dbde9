"""
A how-to page for each folder of ``examples/``: what it does, its code, how to run it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from tools.site.docstrings import markdown
from tools.site.public_names import public_names
from tools.site.reference import FOLDER as REFERENCE
from tools.site.reference import link

ROOT = Path(__file__).parents[2]
FOLDER = "how-to/examples"
# The task of each, as a reader would look for it, in the order of the navigation.
TASKS: Mapping[str, str] = MappingProxyType(
    {
        "one_model": "Fill an instance with one model",
        "many_models": "Share instances among models",
        "two_models_one_instance": "Put eight copies of two models on one instance",
        "concurrency_scaling": "Scale copies with the requests under way",
        "scale_to_zero": "Scale a model to zero",
        "scheduled_scaling": "Scale by the clock",
        "step_scaling": "Scale in steps on an alarm",
        "instance_pools": "Fall back to another instance type",
        "lora_adapters": "Serve a LoRA adapter to each tenant",
        "rolling_update": "Update copies two at a time",
        "canary_with_rollback": "Update by canary, and roll back on alarms",
        "async_endpoint": "Answer from a queue",
        "shadow_variant": "Try a setting on copies of real requests",
        "embeddings": "Embed and rank texts",
        "dashboard": "Watch a model: alarms and a dashboard",
        "vllm": "Serve with vLLM, and let the model call tools",
        "sglang": "Serve with SGLang",
        "openai_compatible": "Ask as OpenAI's clients do",
        "gguf_on_cpu": "Serve a GGUF file without a GPU",
        "backends": "Choose a backend",
        "building_blocks": "Split traffic between two variants",
        "lambda_client": "Ask a model from a Lambda function",
        "use_from_another_app": "Use a model from another app",
        "mirrored_image": "Run an image from your own registry",
        "staged_weights": "Keep weights in your own bucket",
        "compiled_engine": "Compile TensorRT-LLM engines ahead of time",
        "in_a_vpc": "Put an endpoint into your own VPC",
        "private_vpc": "Serve in a VPC without internet",
        "bring_your_own_role": "Bring your own role",
        "customer_managed_key": "Encrypt everything with your own key",
    }
)
_FOUND_FIRST = "---\nsearch:\n  boost: 3\n---"
_RUN = """\
## Run it

Without an account: synthesise it, with all checks, or deploy it to the embedded AWS.

```sh
python examples/{name}/app.py
sagemaker-llm local --port 0 -- sh -c '
  cdk bootstrap aws://123456789012/us-east-1 &&
  cdk deploy --app "python examples/{name}/app.py" --all --require-approval never'
```

To the account of your credentials, at its price:

```sh
cdk deploy --app "python examples/{name}/app.py" --all
```
"""


def pages() -> Iterator[tuple[str, str]]:
    """
    Yield each page: its path below the site's source, and its text.
    """
    yield f"{FOLDER}/index.md", _index()
    for name in TASKS:
        yield path_of(name), page(name)


def path_of(name: str) -> str:
    """
    Return the path of an example's page.
    """
    return f"{FOLDER}/{name.replace('_', '-')}.md"


def page(name: str) -> str:
    """
    Return the page of an example.
    """
    files = sorted((ROOT / "examples" / name).glob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    says = inspect.cleandoc(ast.get_docstring(trees[files[0]]) or "")
    parts = [_FOUND_FIRST, f"# {TASKS[name]}", markdown(says), "## The code"]
    for file, tree in trees.items():
        if file is not files[0] and (words := ast.get_docstring(tree)):
            parts.append(markdown(words))
        where = file.relative_to(ROOT)
        parts.append(f'```python title="{where}"\n{_code(file, tree)}\n```')
    if any(file.name == "app.py" for file in files):
        parts.append(_RUN.format(name=name))
    if used := _used(trees.values()):
        parts.append(f"## What it uses\n\n{used}")
    return "\n\n".join(parts) + "\n"


def _index() -> str:
    lines = [f"- [{task}]({Path(path_of(name)).name})" for name, task in TASKS.items()]
    return (
        "# Examples\n\nEach is an app of a page, which the tests synthesise and deploy "
        "to the embedded AWS.\n\n" + "\n".join(lines) + "\n"
    )


def _code(file: Path, tree: ast.Module) -> str:
    # What the docstring says stands above the code already.
    lines = file.read_text(encoding="utf-8").splitlines()
    first = tree.body[0]
    begin = first.end_lineno if ast.get_docstring(tree) else 0
    return "\n".join(lines[begin or 0 :]).strip()


def _used(trees: Iterable[ast.Module]) -> str:
    imported = {
        alias.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("cdk_sagemaker_llm")
        for alias in node.names
    }
    found = {name.name: name for name in public_names() if name.name in imported}
    links = [
        link(found[name]).replace("](", f"](../../{REFERENCE}/")
        for name in sorted(found)
    ]
    return ", ".join(links) + ("." if links else "")
