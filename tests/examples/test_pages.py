"""
README and documentation: what a reader pastes works, what a page shows is printed, and
every link leads somewhere.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint, LlmEndpoint
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer
from tests.pages import ROOT, Block, Shell, anchors, blocks, links, shows

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
BLOCKS = {name: blocks(text) for name, text in TEXTS.items()}
GUIDES = "tests/examples/test_examples.py"
RAN = {"python", "sh"}
SHOWN = {"json", "mermaid", "text"}
# Blocks that tests beside this one run or compare, by page and language.
HELD = {
    ("README.md", "python"): GUIDES,
    ("docs/client.md", "py"): "tests/local/client/test_docs.py",
    ("docs/client.md", "python"): "tests/local/client/test_docs.py",
    ("docs/load.md", "python"): "tests/local/test_load.py",
    ("docs/security.md", "json"): "tests/examples/test_security_page.py",
    ("docs/service-times.md", "json"): (
        "tests/unit/simulation/service/test_measurement.py"
    ),
    ("docs/simulate.md", "sh"): "tests/examples/test_simulate_docs.py",
    ("docs/simulate.md", "text"): "tests/examples/test_simulate_docs.py",
    ("docs/troubleshooting.md", "text"): (
        "tests/unit/tools/test_troubleshooting_page.py"
    ),
    **{
        (name, language): GUIDES
        for name in PAGES
        if name.startswith("docs/how-to/")
        for language in ("python", "text")
        if {"python", language} <= {block.language for block in BLOCKS[name]}
    },
}
# How many blocks are not run. Each says why, to the reader of its page's source.
NOT_RUN = 13
# Pages that are made from the code for the site alone.
ON_SITE = "reference/"
# Pages that ask an endpoint which the reader has.
ASKING = {"docs/client.md", "docs/how-to/talk-to-it.md", "docs/load.md"}
# What lasts minutes for a reader lasts seconds here.
SHORTER = {
    "--duration 60s": "--duration 1s",
    "endpoint --latency-objective": (
        "endpoint --users 2,4 --duration 1s --latency-objective"
    ),
    "--users 100,150,200,250": "--users 2,4 --duration 1s",
    "--users 20,50,100,200,400": "--users 1,2,4 --duration 1s",
}


def held(name: str, block: Block) -> bool:
    """
    Say whether another test has this block.
    """
    return bool(block.holder) or (name, block.language) in HELD


def runs(name: str, block: Block) -> bool:
    """
    Say whether a reader's terminal runs this block, or writes it to a file.
    """
    usable = not held(name, block) and not block.reason
    return usable and (block.language in RAN or bool(block.title))


@pytest.mark.parametrize("name", PAGES)
def test_each_block_is_run_or_says_why_not(name: str) -> None:
    """
    Other languages are shown: outputs, which are compared, data and drawings.
    """
    unknown = [
        f"{name}:{block.line}: {block.language or 'no language'}"
        for block in BLOCKS[name]
        if not held(name, block)
        and not block.reason
        and block.language not in RAN | SHOWN
    ]

    assert unknown == []


def test_no_more_blocks_are_left_out() -> None:
    """
    Nor fewer, so that the number stays true.
    """
    left_out = Counter(
        name for name, found in BLOCKS.items() for block in found if block.reason
    )

    assert left_out.total() == NOT_RUN, left_out


@pytest.mark.parametrize(("name", "language"), HELD)
def test_what_others_hold_is_there(name: str, language: str) -> None:
    """
    A test that is gone, or a page without such blocks, is no entry.
    """
    assert any(block.language == language for block in BLOCKS[name])
    assert (ROOT / HELD[name, language]).is_file()


def test_what_pages_say_is_held_elsewhere_is_there() -> None:
    """
    A comment names the test that has the block below it.
    """
    named = {block.holder for found in BLOCKS.values() for block in found}

    assert [one for one in named if not (ROOT / one).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_code_and_data_can_be_read(name: str) -> None:
    """
    Also where they are not run.
    """
    for block in BLOCKS[name]:
        if block.language in {"py", "python"}:
            # An excerpt is indented as where it was taken from, but for its dots.
            excerpt = textwrap.dedent(block.body.replace("\n...\n", "\n"))
            compile("\n" * block.line + excerpt, name, "exec")
        if block.language == "json":
            json.loads(block.body)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    """
    Those that stay in the repository; the build of the site holds the links to pages
    that it makes.
    """
    broken = []
    for link in links(TEXTS[name]):
        if "://" in link or link.startswith(("mailto:", ON_SITE)):
            continue
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        is_page = path.suffix == ".md" and path.is_file()
        if not path.exists() or (
            anchor and not (is_page and anchor in anchors(path.read_text("utf-8")))
        ):
            broken.append(link)

    assert broken == []


@pytest.fixture(name="shell")
def _shell(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    """
    Give a reader a terminal, and what the page says that the reader has.
    """
    plain = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    if request.param not in ASKING:
        yield Shell(tmp_path / "reader", plain)
        return
    with EmbeddedAws(region="us-east-1") as aws:
        app = App(outdir=str(tmp_path / "cdk.out"))
        here = Environment(account="123456789012", region=aws.region)
        stack = Stack(app, "Asked", env=here)
        model = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
        LlmEndpoint(
            stack,
            "Alone",
            model=model,
            instance_type="ml.g5.2xlarge",
            endpoint_name="my-endpoint",
        )
        host = InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.g5.2xlarge", endpoint_name="my-host"
        )
        host.add_model("Llama", model=model, inference_component_name="llama")
        Deployer(aws).deploy(app).checked()
        for key, value in aws.environment.items():
            monkeypatch.setenv(key, value)
        yield Shell(tmp_path / "reader", aws.process_environment)


@pytest.mark.whole
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("shell", "name"),
    [
        (name, name)
        for name, found in BLOCKS.items()
        if any(runs(name, block) for block in found)
    ],
    indirect=["shell"],
    ids=lambda name: name,
)
def test_a_reader_who_follows_a_page_sees_what_it_shows(
    shell: Shell, name: str
) -> None:
    """
    From the first block to the last, in one terminal.
    """
    printed: dict[int, tuple[str, str]] = {}
    for block in BLOCKS[name]:
        place = f"{name}:{block.line}, block {block.number}"
        if runs(name, block):
            printed[block.number] = run(shell, name, block, place)
        elif block.answers in printed and not block.reason and not held(name, block):
            output, errors = printed[block.answers]
            assert shows(block.body, output, errors), (
                f"{place} shows\n{block.body}\nand this was printed:\n{output}{errors}"
            )


def run(shell: Shell, name: str, block: Block, place: str) -> tuple[str, str]:
    """
    Do what a reader does with a block; return what it printed, and its errors.
    """
    if block.before and block.language == "sh":
        done = shell.run(block.before)
        assert done.returncode == 0, f"{place}, before it:\n{done.stderr}"
    if block.title:
        assert block.body in shell.write(block.title, block.body), place
        return "", ""
    if block.language == "python":
        try:
            shell.python(block.before, f"{name}, prelude")
            return shell.python(block.body, name, block.line + 1), ""
        except Exception as error:
            error.add_note(place)
            raise
    script = block.body
    for usual, short in SHORTER.items():
        script = script.replace(usual, short)
    done = shell.run(script)
    assert (done.returncode != 0) == block.fails, (
        f"{place} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    )
    return done.stdout, done.stderr
