"""
An error of the arguments is found exactly where the engine would not start.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    all_argument_names,
)
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.models import NO_REPOSITORY
from cdk_sagemaker_llm.serving.engines.checks.configuration import (
    NO_CONFIGURATION,
    NOT_FOUND,
    OUT_OF_BOUNDS,
)
from cdk_sagemaker_llm.serving.engines.checks.devices import (
    TOO_FEW_DEVICES,
    UNEVEN_HEADS,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.serving.engines.checks.engine_values import NO_JSON
from cdk_sagemaker_llm.serving.engines.checks.names import OTHER_PORT
from cdk_sagemaker_llm.serving.engines.checks.refusals import REFUSED_TOGETHER
from cdk_sagemaker_llm.serving.engines.checks.sglang_start import REFUSED_AT_START
from cdk_sagemaker_llm.serving.engines.engine_environment import (
    OF_THE_PARSER,
    engine_findings,
    read_by,
    subject_findings,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    StartError,
    command_line,
)
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse
from cdk_sagemaker_llm.serving.parameters import NEVER_ANSWERS
from tests.drawing import examples

# What is wrong of the arguments although the parser takes them.
OF_OTHERS = {
    rule.code
    for rule in (
        NEVER_ANSWERS,
        NOT_FOUND,
        NO_CONFIGURATION,
        NO_JSON,
        NO_REPOSITORY,
        OTHER_PORT,
        OUT_OF_BOUNDS,
        REFUSED_AT_START,
        REFUSED_TOGETHER,
        TOO_FEW_DEVICES,
        UNEVEN_HEADS,
    )
}
IMAGES = {
    "vllm-A": ("vllm", "0.16.0"),
    "hf-vllm-A": ("huggingface-vllm", "0.21.0"),
    "vllm-B0": ("vllm", "0.19.0"),
    "vllm-B1": ("vllm", "0.20.2"),
    "vllm-B2": ("vllm-server", "2.2"),
    "hf-vllm-B": ("huggingface-vllm", "0.27.1"),
    "vllm-C": ("vllm-server", "2.6"),
    "vllm-C, Ubuntu": ("vllm", "0.28.0"),
    "sglang-A": ("sglang", "0.5.8"),
    "sglang-B": ("sglang-server", "1.4"),
    "sglang-B, Ubuntu": ("sglang", "0.5.20"),
}
VALUES = st.sampled_from(
    [
        "",
        "true",
        "false",
        "True",
        " true ",
        "0",
        "1",
        "2",
        "8K",
        "8k",
        "8Ki",
        "auto",
        "-1",
        "0.9",
        "-0.5",
        "None",
        "yes",
        "fp8",
        "float16",
        "hermes",
        "a b",
        "a=b",
        "image=2,video=0",
        "a=/b=",
        "abc=",
        '{"a":1}',
        '{"a": "b c"}',
        "{'a': 1}",
        '{"a":1} {"b":2}',
        '["a","b"]',
        '["a"]',
        "[]",
        "[1, 2]",
        "['a']",
        "50%",
        "50%%",
        "a #b",
        "a;b",
        "a ;b",
        "it's",
        'say "hi"',
        "a\nb",
        "a\nSM_VLLM_SEED=x",
        "-x",
        "--seed",
        "--seed 1",
        "/opt/ml/model/x.jinja",
        "dir/x.jinja",
        "{{ messages }}",
        "ä",
    ]
)
SETTINGS = st.sampled_from(
    [{}, {}, {}, {"PROCESS_AUTO_RECOVERY": "false"}, {"HF_MODEL_ID": "a/b"}]
)


def names_of(engine: Engine) -> st.SearchStrategy[str]:
    """
    Draw names of arguments: of any release, their beginnings, and near misses.
    """
    known = [name.replace("-", "_").upper() for name in all_argument_names(engine)]
    exact = st.sampled_from(known)
    begun = st.tuples(exact, st.integers(1, 24)).map(lambda it: it[0][: it[1]])
    return st.one_of(
        exact,
        exact,
        exact,
        begun,
        exact.map(lambda name: f"NO_{name}"),
        exact.map(lambda name: f"{name}S"),
        st.sampled_from(["HELP", "ENFORCE_EAGER", "TP", "ENABLE_AUTO_TOOL_CHOICE", ""]),
    )


@st.composite
def environments(draw: st.DrawFn, engine: Engine, *, most: int) -> dict[str, str]:
    """
    Draw the variables of an engine.
    """
    prefix = "SM_VLLM_" if engine == "vllm" else "SM_SGLANG_"
    # What a file of settings holds, which is not seen, may mend what is refused late.
    names = names_of(engine).filter(lambda name: not name.startswith("CONF"))
    drawn = draw(st.dictionaries(names, VALUES, min_size=1, max_size=most))
    return {**draw(SETTINGS), **{prefix + name: value for name, value in drawn.items()}}


def starts(environment: dict[str, str], family: str, version: str) -> bool:
    """
    Whether one of the image's entry points starts its engine.
    """
    image = find_engine_release(family, version)
    assert image is not None
    assert image.engine in {"vllm", "sglang"}
    assert image.engine_version is not None
    engine: Engine = "sglang" if image.engine == "sglang" else "vllm"
    for rule in image.rules:
        try:
            parse(
                engine,
                image.engine_version,
                command_line(environment, ENTRY_POINTS[rule]),
            )
        except (ParserError, StartError):
            continue
        return True
    return False


def check(environment: dict[str, str], family: str, version: str) -> None:
    """
    Hold what is found to what the parser says.
    """
    found = engine_findings(
        environment, family=family, version=version, accelerators=None
    )
    errors = [
        finding
        for finding in found
        if finding.severity is Severity.ERROR and finding.code not in OF_OTHERS
    ]
    assert bool(errors) is not starts(environment, family, version), found


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None
)
@given(data=st.data())
def test_an_error_is_found_where_the_engine_does_not_start(
    image: tuple[str, str], data: st.DataObject
) -> None:
    """
    And nowhere else: whatever the variables are.
    """
    family, version = image
    engine: Engine = "sglang" if "sglang" in family else "vllm"
    environment = data.draw(environments(engine, most=3))

    check(environment, family, version)


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None
)
@given(data=st.data())
def test_the_words_of_one_variable_are_right_by_themselves(
    image: tuple[str, str], data: st.DataObject
) -> None:
    """
    Each check of one variable says what the parser says, before that is asked.
    """
    family, version = image
    engine: Engine = "sglang" if "sglang" in family else "vllm"
    environment = data.draw(environments(engine, most=1))

    release = find_engine_release(family, version)
    assert release is not None
    assert release.rule is not None
    base = EngineSubject(environment=environment, image=release)
    found = subject_findings(read_by(base, ENTRY_POINTS[release.rule]))
    refused = {rule.code for rule in OF_THE_PARSER}
    said = [finding for finding in found if finding.code in refused]
    assert said == [] or not starts(environment, family, version)
