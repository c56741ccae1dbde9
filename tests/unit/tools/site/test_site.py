"""
The pages of the site: every public name, command and rule has its own, and the menu
names each page once.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_cdk import Stack

from cdk_sagemaker_llm.codes import rules
from tests.unit.account_rule_examples import ACCOUNT_RULES
from tests.unit.hosting.written import warnings_of
from tools.site import commands, definitions, examples, reference
from tools.site import rules as rule_pages
from tools.site.docstrings import parsed
from tools.site.links import on_site, with_rules
from tools.site.pages import DOCS, written
from tools.site.public_names import (
    PACKAGES,
    PublicName,
    members,
    parameters,
    parameters_of,
    public_names,
    said_of,
)

NAMES = public_names()


class _Loader(yaml.SafeLoader):
    """
    One that leaves alone what mkdocs makes of Python.
    """


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@functools.cache
def pages() -> dict[str, str]:
    """
    Return the pages of the Python API, made once.
    """
    return dict(reference.pages())


def ids(name: PublicName) -> str:
    """
    Call a name by where it is imported from.
    """
    return f"{name.package}.{name.name}"


def gaps(name: PublicName) -> list[str]:
    """
    Return what nothing is said of: the name, its members and what they take.
    """
    found = [] if name.said.text else [name.name]
    found += [
        one.name
        for one in parameters(name)
        if not one.text and not one.name.startswith("**")
    ]
    for key, member, _ in members(name):
        if not said_of(name, key, member).text:
            found.append(key)
        if not isinstance(member, property):
            found += [
                f"{key}({one.name})"
                for one in parameters_of(name, key, member)
                if not one.text and not one.name.startswith("**")
            ]
    return found


@pytest.mark.parametrize("name", NAMES, ids=ids)
def test_a_public_name_has_an_entry_with_all_that_it_takes(name: PublicName) -> None:
    """
    Parameters of its own and of its methods, from the signatures.
    """
    text = pages()[f"{reference.FOLDER}/{name.page[0]}.md"]
    (entry,) = (
        part
        for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)
        if part.startswith(f"## `{name.name}` {{ #{name.anchor} }}")
    )

    for one in parameters(name):
        assert f"- `{one.name}` (" in entry
    for key, member, _ in members(name):
        if isinstance(member, property):
            assert f"- `{key}` (" in entry
            continue
        method = entry.partition(f"### `{name.name}.{key}` ")[2].partition("\n### ")[0]
        for one in parameters_of(name, key, member):
            assert f"- `{one.name}` (" in method


@pytest.mark.parametrize("name", NAMES, ids=ids)
def test_all_of_a_public_name_is_said(name: PublicName) -> None:
    """
    What it is, and what each parameter means: signature and docstring agree.
    """
    assert gaps(name) == []


def test_names_of_every_public_package_are_listed() -> None:
    """
    None is on two pages, and the pages are few enough to be read.
    """
    packages = {name.package for name in NAMES}

    assert packages <= {f"cdk_sagemaker_llm.{each}".rstrip(".") for each in PACKAGES}
    assert {"LlmEndpoint", "LlmClient", "run_load", "EmbeddedAws"} <= {
        name.name for name in NAMES
    }
    assert 30 <= len(pages()) <= 60


def test_a_parameter_is_shown_with_type_default_and_words() -> None:
    """
    A reader sees what it takes, and what happens if it is omitted.
    """
    entry = pages()[f"{reference.FOLDER}/llm-endpoint.md"]

    assert "- `instance_count` (`int`, default `1`): Instances at the start.\n" in entry
    assert (
        "- `network` ([`Network`](networks-and-roles.md#network) `| None`, default "
        "`None`): The VPC to run in, and whether the container is cut off from it. If "
        "omitted, it is SageMaker's own network.\n"
    ) in entry


def test_every_rule_has_a_page_with_an_example_and_a_message() -> None:
    """
    And a way out, and where the rule is from.
    """
    found = dict(rule_pages.pages())

    assert {*found} == {f"reference/rules/{code.lower()}.md" for code in rules()}
    for code, rule in rules().items():
        page = found[f"reference/rules/{code.lower()}.md"]
        parts = page.split("\n## ")
        titles = [part.partition("\n")[0] for part in parts]
        assert f"# {code}: {rule.finds}\n" in parts[0]
        assert titles[1:4] == ["What trips it", "What it says", "The way out"]
        assert "Where the rule is from" in titles
        assert all(len(part.partition("\n")[2].strip()) > 5 for part in parts[1:])
        assert "```text" in parts[2]
        # What an account is asked is no matter of the synthesis.
        is_shown = rule.severity == "warning" and code not in ACCOUNT_RULES
        assert ("acknowledge_warning" in page) == is_shown


def test_an_example_is_what_a_reader_would_write() -> None:
    """
    No helper of the tests is left in it.
    """
    assert definitions.sources()["LLM404"] == (
        "from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint, "
        "ResourceRequirements\n\n"
        "host = InferenceComponentEndpoint(stack, 'Host', "
        "instance_type='ml.g5.12xlarge', min_instance_count=0)\n"
        "sleeping = host.add_model('Sleeping', model=HuggingFaceModel('gpt2'), "
        "resources=ResourceRequirements(accelerators=1))\n"
        "host.add_model('Awake', model=HuggingFaceModel('gpt2'), "
        "resources=ResourceRequirements(accelerators=1))\n"
        "sleeping.auto_scale_copy_count(min_capacity=0, max_capacity=2)\n"
    )


@pytest.mark.whole
@pytest.mark.parametrize("code", sorted(definitions.sources()))
def test_an_example_trips_its_rule(
    code: str, stack: Stack, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As it stands on the page, without the tests' helpers.
    """
    monkeypatch.chdir(root)
    try:
        exec(rule_pages.definitions()[code], {"stack": stack})  # noqa: S102 - the page's own
    except (ValueError, RuntimeError) as fault:
        found = str(fault)
    else:
        found = "".join(text for _, text in warnings_of(stack))

    assert re.search(rf"\b{code}\b", found)


@pytest.mark.parametrize("name", commands.names())
def test_every_command_has_a_page_with_all_its_options(name: str) -> None:
    """
    As the parser reads them.
    """
    page = commands.page(name)

    assert f"# `sagemaker-llm {name}`\n" in page
    for one in commands.parameters(name):
        if not getattr(one, "hidden", False):
            shown = one.metavar if one.param_type_name == "argument" else one.opts[0]
            words = (shown or one.human_readable_name).replace("|", "\\|")
            assert f"| `{words}`" in page


def test_every_example_has_a_page_with_all_its_code() -> None:
    """
    A new folder of ``examples/`` needs a title alone.
    """
    folders = {
        path.name for path in (examples.ROOT / "examples").iterdir() if path.is_dir()
    } - {"__pycache__"}

    assert {*examples.TASKS} == folders
    for name in examples.TASKS:
        page = examples.page(name)
        for file in (examples.ROOT / "examples" / name).glob("*.py"):
            assert file.read_text(encoding="utf-8").strip().splitlines()[-1] in page


def test_the_menu_names_every_page_of_docs_once() -> None:
    """
    By itself, or by its folder.
    """
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.load(text, _Loader)["nav"]  # noqa: S506 - a safe one, but for its name
    named = [*_named(nav)]
    folders = {path.removesuffix("*") for path in named if path.endswith("/*")}
    alone = [path for path in named if not path.endswith("/*")]

    assert len(set(named)) == len(named)
    assert {*alone} <= {*written()}
    assert [
        path
        for path in written()
        if path not in alone and f"{Path(path).parent}/" not in folders
    ] == []


def _named(nav: Any) -> list[str]:  # noqa: ANN401 - lists, dictionaries and texts
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [path for each in inner for path in _named(each)]


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[example](../examples/in_a_vpc/app.py)", "how-to/examples/in-a-vpc.md"),
        ("[LLM101](checks.md#errors)", "reference/rules/llm101.md"),
        ("[memory](memory.md#a)", "memory.md#a"),
        ("[there](https://aws.amazon.com/a)", "https://aws.amazon.com/a"),
    ],
)
def test_a_link_leads_to_a_page(link: str, on_the_site: str) -> None:
    """
    Also one that opens a file on GitHub.
    """
    words = link.partition("]")[0]

    assert on_site("local.md", link) == f"{words}]({on_the_site})"


def test_a_file_without_a_page_is_named() -> None:
    """
    No address is invented for it.
    """
    assert on_site("local.md", "[the app](../app.py)") == "the app (`app.py`)"
    assert on_site("local.md", "```\n[a](../app.py)\n```") == "```\n[a](../app.py)\n```"


def test_a_code_in_a_text_becomes_a_link() -> None:
    """
    Where there is such a rule, and it is no link yet.
    """
    text = "LLM101, `LLM102`, [LLM103](a.md), LLM999"

    assert with_rules("decisions/a.md", text, ["LLM101", "LLM102", "LLM103"]) == (
        "[LLM101](../reference/rules/llm101.md), "
        "[`LLM102`](../reference/rules/llm102.md), [LLM103](a.md), LLM999"
    )


def test_a_docstring_is_taken_apart() -> None:
    """
    Both forms of an entry, and what stands after the sections.
    """
    said = parsed(
        "Do it.\n\nArgs:\n    one: First\n        line.\n\n    two:\n        Second.\n"
        "        If omitted, ``None``.\n\nRaises:\n    ValueError: If not.\n\nAfter."
    )

    assert said.text == "Do it.\n\nAfter."
    assert said.arguments == {
        "one": "First\nline.",
        "two": "Second.\nIf omitted, `None`.",
    }
    assert said.errors == {"ValueError": "If not."}
