"""
Write ``docs/support.md`` from the catalogue: ``python -m tools.support_page``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cdk_sagemaker_llm.catalog.model_classes import class_names, class_row
from cdk_sagemaker_llm.catalog.releases import known_releases

TARGET = Path(__file__).parents[1] / "docs" / "support.md"
_HEAD = """\
# Which releases load which model

A model's class stands in its config.json, under `architectures`.
The table has the releases of vLLM and SGLang whose registry has the class; an empty \
cell is a class that no release read has.
A class that is missing may run all the same: vLLM takes a class of the same stem from \
0.10.2 on, and the Transformers backend takes others, which a warning says.
`sagemaker-llm support MODEL` answers for one model, with the reason, by engine, \
release and instance type; synth, `sagemaker-llm check` and `check_support` hold each \
container against the same table.
What is found has a code in [checks.md](checks.md).
This page is generated from the catalogue by `make docs`, and a test holds it.
"""


def page() -> str:
    """
    Return the page's text.
    """
    return "\n".join([_HEAD, *_newest(), *_classes()]) + "\n"


def _newest() -> Iterator[str]:
    yield "## Releases in images\n"
    yield "| engine | oldest | newest |"
    yield "| --- | --- | --- |"
    for title, engine in (("vLLM", "vllm"), ("SGLang", "sglang")):
        releases = known_releases(engine)
        yield f"| {title} | {releases[0]} | {releases[-1]} |"
    yield ""


def _classes() -> Iterator[str]:
    yield "## Classes\n"
    yield "| class | vLLM | with LoRA | with pipeline stages | SGLang |"
    yield "| --- | --- | --- | --- | --- |"
    for name in sorted({*class_names("vllm"), *class_names("sglang")}):
        vllm, sglang = class_row("vllm", name) or {}, class_row("sglang", name) or {}
        spans = (vllm.get("in"), vllm.get("lora"), vllm.get("pp"), sglang.get("in"))
        cells = " | ".join(_words(each or "") for each in spans)
        yield f"| `{name}` | {cells} |"


def _words(spans: str) -> str:
    """
    Write spans such as ``0.2.7..0.4.2 0.6.2..`` as a table has them.
    """
    ends = (span.split("..") for span in spans.split())
    return ", ".join(
        f"{first} and later"
        if not last
        else first
        if first == last
        else f"{first} to {last}"
        for first, last in ends
    )


def main() -> None:
    """
    Write the page.
    """
    TARGET.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
