"""
What is checked of a model before it is made: its environment and its isolation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    Model,
    Network,
    S3Model,
    TensorRtLlm,
    Tgi,
    Vllm,
)
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
)
from cdk_sagemaker_llm.models import Compilation, ModelSource
from cdk_sagemaker_llm.serving.base import Accelerators, Prepared

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
TGI = Tgi("1.4.5")
OWN = CustomContainer.from_uri("222222222222.dkr.ecr.us-east-1.amazonaws.com/a:1")


def defined(**changes: Any) -> ModelDefinition:  # noqa: ANN401 - any argument
    """
    Define a model with TGI, in the reference region, with some arguments changed.
    """
    usual: dict[str, Any] = {
        "region": "us-east-1",
        "serving": TGI,
        "model": MISTRAL,
        "network": None,
        "role": None,
        "environment": None,
    }
    accelerators = changes.pop("accelerators", None)
    return define_model(ModelRequest(**{**usual, **changes}), accelerators)


def refused(**changes: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 - any argument
    """
    Return code, message and remedy of every error.
    """
    findings = defined(**changes).findings
    return [(f.code, f.message, f.remedy) for f in findings if f.severity == "error"]


def test_a_hundred_variables_pass_and_one_more_does_not() -> None:
    """
    CreateModel takes 100 (botocore, ContainerDefinition$Environment), of which the
    backend's own are some.
    """
    names = [f"V{number}" for number in range(101)]
    hundred = dict.fromkeys(names[:100], "1")

    assert refused(environment=dict.fromkeys(names[:99], "1")) == []
    assert refused(serving=OWN, model=None, environment=hundred) == []
    assert refused(environment=hundred) == [
        (
            "LLM120",
            (
                "environment must have at most 100 variables, got 101, 1 of them the "
                "backend's"
            ),
            "",
        )
    ]
    assert refused(environment=dict.fromkeys(names, "1")) == [
        ("LLM120", "environment must have at most 100 variables, got 101", "")
    ]


def test_32_kilobytes_pass_and_one_more_does_not() -> None:
    """
    Of names and values, in bytes, together with the backend's.
    """
    large = {f"V{number:02}": "x" * 1021 for number in range(32)}
    own = {"HF_MODEL_ID": MISTRAL.model_id}
    room = sum(len(name) + len(value) for name, value in own.items())
    large["V00"] = "x" * (1021 - room)

    assert refused(environment=large) == []
    assert refused(environment={**large, "V01": "é" + "x" * 1020}) == [
        (
            "LLM120",
            (
                "environment must have at most 32768 bytes of names and values "
                "together, the backend's included, got 32769"
            ),
            "",
        )
    ]


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_fails_if_no_variable_can_hold_a_value(character: str) -> None:
    """
    A process's variable ends at a NUL, and half a pair of surrogates is no text.
    """
    assert refused(environment={"V": f"a{character}b", "W": "😀\n"}) == [
        (
            "LLM114",
            f"V has the character {character!r}, which no variable can hold",
            "leave it out",
        )
    ]


def test_fails_if_no_file_can_hold_a_template() -> None:
    """
    What would travel in the tarball is refused in the same words.
    """
    (found,) = refused(serving=Vllm(chat_template="a\n\ud800"))

    assert found[:2] == (
        "LLM114",
        "SM_VLLM_CHAT_TEMPLATE has the character '\\ud800', which no variable can hold",
    )


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A.B", "Ä", "A\n"])
def test_fails_if_a_variable_has_no_name(name: str) -> None:
    """
    CreateModel's pattern (botocore, EnvironmentKey).
    """
    assert refused(environment={name: "1"}) == [
        (
            "LLM106",
            (
                "a name in environment must be letters, digits and underscores, with "
                f"no digit first, got {name!r}"
            ),
            "",
        )
    ]


def test_a_variable_may_begin_with_an_underscore() -> None:
    """
    Both cases and digits go on.
    """
    assert refused(environment={"_": "1", "a_B1": "2"}) == []


def test_a_name_has_1024_characters_at_most() -> None:
    """
    One that is longer is not repeated (botocore, EnvironmentKey).
    """
    assert refused(environment={"A" * 1024: "1"}) == []
    assert refused(environment={"A" * 1025: "1"}) == [
        (
            "LLM106",
            (
                "a name in environment must be at most 1024 characters long, got 1025, "
                f"beginning with {'A' * 30!r}"
            ),
            "",
        )
    ]


def test_fails_if_a_name_is_known_only_at_deployment(stack: Stack) -> None:
    """
    CloudFormation has functions for values alone: the synthesis ended in Node.
    """
    name = CfnParameter(stack, "P").value_as_string

    assert refused(environment={name: "1"}) == [
        (
            "LLM106",
            "a name in environment must be known at synth, got a placeholder",
            "write the name itself; its value may be known only at deployment",
        )
    ]


def test_1024_characters_pass_and_one_more_does_not() -> None:
    """
    Each value that is too long is named, and none is repeated.
    """
    assert refused(environment={"V": "x" * 1024}) == []
    assert refused(environment={"V": "x" * 1025, "W": "", "X": "x" * 2000}) == [
        ("LLM120", "V must be at most 1024 characters long", ""),
        ("LLM120", "X must be at most 1024 characters long", ""),
    ]


def test_a_value_known_only_at_deployment_has_no_length(stack: Stack) -> None:
    """
    A placeholder is as long as it happens to be written.
    """
    value = CfnParameter(stack, "Value").value_as_string

    assert refused(environment={"V": value + "x" * 1025}) == []


def test_variables_of_ones_own_join_the_backends() -> None:
    """
    They are kept where a fault stands in the way of the container, too.
    """
    assert defined(environment={"A": "1"}, accelerators=4).variables == {
        "HF_MODEL_ID": "HuggingFaceH4/zephyr-7b-beta",
        "SM_NUM_GPUS": "4",
        "A": "1",
    }
    assert defined(serving=Tgi("1.4.6"), environment={"A": "1"}).variables == {}


def test_each_repeated_variable_is_named() -> None:
    """
    In order, so that a message does not change from run to run.
    """
    own = {"SM_NUM_GPUS": "1", "A": "1", "HF_MODEL_ID": "x"}

    assert refused(environment=own, accelerators=4) == [
        (
            "LLM113",
            "environment repeats HF_MODEL_ID, which the backend sets itself",
            "",
        ),
        (
            "LLM113",
            "environment repeats SM_NUM_GPUS, which the backend sets itself",
            "",
        ),
    ]


def test_a_definition_holds_what_it_was_made_of() -> None:
    """
    Nothing of it is asked for again.
    """
    network = Network(isolated=True)
    weights = S3Model("s3://b/w/", architecture="meta-llama/Llama-2-70b-hf")
    definition = defined(model=weights, network=network, region="eu-west-1")

    assert definition.model is weights
    assert definition.network is network
    assert definition.role is None
    assert definition.region == "eu-west-1"
    assert definition.container is definition.prepared.container
    assert definition.demand is definition.prepared.demand
    assert defined().network == Network()


def test_the_time_to_start_follows_the_size() -> None:
    """
    Only where the default is too short, and where there is a container at all.
    """
    large = HuggingFaceModel("mistralai/Mixtral-8x22B-v0.1")
    patient = defined(model=large).start_up_timeout

    assert patient is not None
    assert patient.to_seconds() == 3600
    assert defined().start_up_timeout is None
    assert defined(serving=Tgi("1.4.6"), model=large).start_up_timeout is None


def test_fails_if_a_container_is_asked_for_that_cannot_be() -> None:
    """
    The findings say why there is none.
    """
    with pytest.raises(ValueError, match="^a model with errors has no container$"):
        _ = defined(serving=Tgi("1.4.6")).container


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"model": S3Model("s3://b/w/"), "network": Network(isolated=True)}, []),
        ({"network": Network(isolated=False)}, []),
        ({"serving": OWN, "model": None, "network": Network(isolated=True)}, []),
        ({"network": Network(isolated=True)}, ["LLM119"]),
        ({"serving": TRT, "network": Network(isolated=True)}, ["LLM119"]),
        ({"serving": TRT, "region": "us-iso-east-1"}, ["LLM103"]),
        ({"serving": TRT, "region": None}, []),
    ],
    ids=str,
)
def test_the_container_is_checked_where_it_is_to_run(
    changes: dict[str, Any], codes: list[str]
) -> None:
    """
    In its region, and with what an isolated network lets through.
    """
    assert [code for code, _, _ in refused(**changes)] == codes


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, ["LLM617"]),
        ({"environment": {"HF_HUB_OFFLINE": "1"}}, []),
        ({"network": Network(isolated=False)}, []),
        ({"serving": Tgi("3.3.6")}, []),
    ],
    ids=str,
)
def test_warns_that_an_isolated_engine_may_wait_for_the_hub(
    changes: dict[str, Any], codes: list[str]
) -> None:
    """
    As the command does, which sees the same container.
    """
    given = {
        "serving": Vllm("0.20.2"),
        "model": S3Model("s3://b/w/"),
        "network": Network(isolated=True),
        **changes,
    }
    found = defined(**given).findings

    assert [one.code for one in found if one.code == "LLM617"] == codes


def test_fails_if_a_variable_is_the_backends_own(stack: Stack) -> None:
    """
    Two values for one variable would hide one of them.
    """
    with pytest.raises(ValueError, match="LLM113 environment repeats HF_MODEL_ID"):
        Model(
            stack, "Model", model=MISTRAL, serving=TGI, environment={"HF_MODEL_ID": "x"}
        )


def test_fails_if_the_environment_is_too_large(stack: Stack) -> None:
    """
    The service takes 100 variables of 1024 characters.
    """
    environment = {f"V{i}": "x" * 1025 for i in range(101)}

    with pytest.raises(ValueError, match="at most 100 variables") as raised:
        Model(stack, "Model", model=MISTRAL, serving=TGI, environment=environment)

    assert "V7 must be at most 1024 characters" in str(raised.value)


@pytest.mark.parametrize("model", [MISTRAL, S3Model("s3://b/w/")], ids=["hub", "s3"])
def test_fails_if_an_isolated_container_would_download(
    stack: Stack, model: HuggingFaceModel | S3Model
) -> None:
    """
    LMI downloads weights itself, from the Hub or from S3.
    """
    with pytest.raises(ValueError, match="LLM119 an isolated network"):
        Model(stack, "M", model=model, serving=TRT, network=Network(isolated=True))


class Silent:
    """
    A configuration of somebody's own that says neither what runs nor why not.
    """

    def prepare(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the protocol's
        accelerators: Accelerators,  # noqa: ARG002 - the protocol's
        *,
        start_up_seconds: int | None = None,  # noqa: ARG002 - the protocol's
    ) -> Prepared:
        """
        Answer with nothing.
        """
        return Prepared(None, ())


def test_fails_if_a_configuration_returns_nothing() -> None:
    """
    The message names the class that has to say more.
    """
    with pytest.raises(
        ValueError,
        match=r"^Silent\.prepare\(\) must return a container, or an error that says",
    ):
        defined(serving=Silent())


@dataclass(frozen=True)
class Odd:
    """
    A configuration of somebody's own that answers with whatever it holds.
    """

    answer: Any

    def prepare(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - what is tried
        """
        Answer with it.
        """
        return self.answer


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (None, "None"),
        ({}, "a value of type dict"),
        (Prepared, "the class Prepared"),
    ],
    ids=["nothing", "mapping", "class"],
)
def test_fails_if_a_configuration_returns_something_else(
    answer: object, got: str
) -> None:
    """
    The message names the class, and what it must return.
    """
    with pytest.raises(ValueError, match="must return") as caught:
        defined(serving=Odd(answer))

    assert str(caught.value) == (
        f"Odd.prepare() must return a Prepared, got {got}; write Prepared(container, "
        "findings)"
    )


@pytest.mark.parametrize(
    ("field_name", "value", "words"),
    [
        ("container", {}, "container must be a Container, got a value of type dict"),
        ("findings", ["no"], "findings[0] must be a Finding, got 'no' (str)"),
        ("demand", 7, "demand must be a Demand, got 7 (int)"),
    ],
)
def test_what_is_prepared_is_of_its_kinds(
    field_name: str, value: object, words: str
) -> None:
    """
    A configuration of somebody's own hears where it goes wrong.
    """
    parts: dict[str, Any] = {"container": None, "findings": (), field_name: value}
    with pytest.raises(ValueError, match="must be") as caught:
        Prepared(**parts)

    assert str(caught.value) == words


@dataclass(frozen=True)
class Own:
    """
    A configuration of somebody's own: TGI, with what is said beside its container.
    """

    architecture: str | None = None
    loads_engines: bool = False
    asked: list[int | None] = field(default_factory=list)

    def prepare(
        self,
        model: ModelSource | None,
        accelerators: Accelerators,
        *,
        start_up_seconds: int | None = None,
    ) -> Prepared:
        """
        Answer as TGI does, and remember how long SageMaker waits.
        """
        self.asked.append(start_up_seconds)
        return replace(
            TGI.prepare(model or MISTRAL, accelerators),
            architecture=self.architecture,
            loads_engines=self.loads_engines,
        )


@pytest.mark.parametrize(
    ("start_up", "seconds"), [(None, None), (Duration.minutes(40), 2400)]
)
def test_a_configuration_hears_how_long_sagemaker_waits(
    start_up: Duration | None, seconds: int | None
) -> None:
    """
    Where the user chose it, and never otherwise.
    """
    own = Own()

    defined(serving=own, start_up=start_up)

    assert own.asked == [seconds]


def test_a_configuration_may_name_the_class_of_its_model() -> None:
    """
    It is doubted as that of a model is, and only where there is no model.
    """
    own = Own(architecture="MistralForCausaLM")

    assert "LLM232" in [f.code for f in defined(serving=own, model=None).findings]
    assert "LLM232" not in [f.code for f in defined(serving=own).findings]


@pytest.mark.parametrize(("loads_engines", "codes"), [(False, ["LLM775"]), (True, [])])
def test_engines_are_given_to_what_loads_them(
    codes: list[str], *, loads_engines: bool
) -> None:
    """
    A configuration of one's own says that of itself.
    """
    made = Compilation(
        image="0.27.0",
        accelerator_model="A10G",
        tensor_parallel_degree=4,
        options={},
    )
    engines = S3Model("s3://bucket/engines/", compiled=made)

    found = refused(serving=Own(loads_engines=loads_engines), model=engines)

    assert [code for code, *_ in found] == codes
