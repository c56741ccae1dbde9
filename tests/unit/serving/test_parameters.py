"""
What the parameters of every backend have in common: tokens of the Hub, credentials in
plain text, and doubts about the class of a model.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, S3Model
from cdk_sagemaker_llm.serving.parameters import (
    FORWARDED_TOKEN,
    HUB_TOKEN,
    ROUTER_TOKEN,
    TOKEN_VARIABLES,
    class_findings,
    credential_findings,
    file_findings,
    gated_findings,
    model_findings,
    with_class_named,
)

# Issuers' prefixes stand apart from what follows, so that no file holds a token.
HF, SK = "hf" + "_", "sk" + "-"
PAT = "github" + "_pat_"

ONE = Rule("LLM100", "one")
OTHER = Rule("LLM101", "another")


def test_the_variables_are_those_that_are_read() -> None:
    """
    By the Hub's client, TGI's router, and what that one hands on.
    """
    assert (HUB_TOKEN, ROUTER_TOKEN, FORWARDED_TOKEN) == (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_API_TOKEN",
    )
    assert TOKEN_VARIABLES == ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@pytest.mark.parametrize(
    "model_id",
    [
        "meta-llama/Llama-3.1-8B",
        "mistralai/Mistral-7B-v0.1",
        "google/gemma-2b",
        "google/codegemma-7b",
        "google/paligemma-3b",
        "CohereForAI/aya",
        "tiiuae/falcon-180B-chat",
    ],
)
def test_a_gated_model_needs_a_token(model_id: str) -> None:
    """
    The whole message; with a token there is none.
    """
    assert [str(f) for f in gated_findings(model_id, has_token=False)] == [
        (
            f"LLM214 {model_id} has been gated on the Hugging Face Hub, and no token "
            "is set; pass HuggingFaceModel(..., token=secret), or stage the weights on "
            "S3"
        )
    ]
    assert gated_findings(model_id, has_token=True) == []


@pytest.mark.parametrize(
    "model_id",
    [
        "meta-llama",
        "org/meta-llama/x",
        "google/flan-t5",
        "tiiuae/falcon-40b",
        "mistral",
    ],
)
def test_other_models_are_taken_to_be_public(model_id: str) -> None:
    """
    The Hub alone knows.
    """
    assert gated_findings(model_id, has_token=False) == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (HF + "a" * 20, "a Hugging Face token"),
        (HF + "aZ09" * 9, "a Hugging Face token"),
        (f"Bearer {HF}{'a' * 34}", "a Hugging Face token"),
        (f"x={HF}{'a' * 34}&y=1", "a Hugging Face token"),
        ("AKIA" + "A1Z9" * 4, "an AWS access key"),
        ("ASIA" + "A1Z9" * 4, "an AWS access key"),
        (f"key:{'ASIA' + 'B' * 16}", "an AWS access key"),
        ("gh" + "p_" + "a" * 20, "a GitHub token"),
        ("gh" + "o_" + "a" * 36, "a GitHub token"),
        ("gh" + "u_" + "a" * 36, "a GitHub token"),
        ("gh" + "s_" + "a" * 36, "a GitHub token"),
        ("gh" + "r_" + "a" * 36, "a GitHub token"),
        (PAT + "a" * 20, "a GitHub token"),
        (PAT + "11ABCDEFG0" * 2 + "_" + "aZ09" * 14, "a GitHub token"),
        (SK + "a" * 20, "an OpenAI key"),
        (SK + "proj-" + "aZ_9-" * 8, "an OpenAI key"),
        ("api" + "_org_" + "aB" * 10, "a Hugging Face token"),
        ("gl" + "pat-" + "aZ_9-" * 4, "a GitLab token"),
        ("AI" + "za" + "aZ_9-" * 7, "a Google API key"),
        ("nv" + "api-" + "aZ_9-" * 4, "an NVIDIA key"),
        ("xo" + "xb-" + "12345-abcd", "a Slack token"),
        ("py" + "pi-AgE" + "aZ_9-" * 4, "a PyPI token"),
        ("-----BEGIN " + "PRIVATE KEY-----\nMII", "a private key"),
        ("-----BEGIN " + "RSA PRIVATE KEY-----", "a private key"),
        ("-----BEGIN " + "PGP PRIVATE KEY BLOCK-----", "a private key"),
        ("-----BEGIN " + "OPENSSH PRIVATE KEY-----", "a private key"),
        ("https://" + "me:h4x0r@pypi.acme.io/simple", "a password in an address"),
        ("redis://" + ":h4x0r@cache", "a password in an address"),
        ("https://" + "me:h4$x0r{@pypi.acme.io", "a password in an address"),
        ("aws_secret_access" + "_key = '" + "aB/+" * 10, "an AWS secret key"),
        ("AWS_SECRET_ACCESS" + "_KEY=" + "aB/+" * 10, "an AWS secret key"),
        ('"awsSecretAccess' + 'Key": "' + "aB/+" * 10, "an AWS secret key"),
        ("AwsSecretAccess" + "Key," + "aB/+" * 10, "an AWS secret key"),
        ("AWSSecretAccess" + "Key=" + "aB/+" * 10, "an AWS secret key"),
        ("aws_session" + "_token: " + "aB/+" * 10, "an AWS secret key"),
    ],
    ids=lambda value: value[:12],
)
def test_each_issuers_form_is_known(value: str, kind: str) -> None:
    """
    The shortest of each, and what stands around it; the whole message.
    """
    (found,) = credential_findings("environment", {"MY_KEY": value})

    assert str(found) == (
        f"LLM107 MY_KEY in environment looks like {kind}; keep it in Secrets Manager "
        "and pass HuggingFaceModel(..., token=secret)"
    )


@pytest.mark.parametrize(
    "value",
    [
        HF + "a" * 19,
        HF.upper() + "a" * 34,
        f"x{HF}{'a' * 34}",
        HF + "a-" * 17,
        "AKIA" + "A" * 15,
        "AKIA" + "A" * 17,
        "AKIA" + "a" * 16,
        "ASIA" + "A" * 15,
        "AXIA" + "A" * 16,
        "xASIA" + "A" * 16,
        "gh" + "p_" + "a" * 19,
        "gh" + "x_" + "a" * 36,
        "x" + "gh" + "p_" + "a" * 36,
        PAT + "a" * 19,
        "x" + PAT + "a" * 36,
        HF + "x" * 34,
        HF + "yourTokenGoesRightHere",
        "AKIA" + "IOSFODNN7EXAMPLE",
        SK + "learn-contrib-some-long-name",
        SK + "your-api-key-00000000000",
        "AI" + "za" + "a" * 34,
        "gl" + "pat-" + "a" * 19,
        "xo" + "xb-" + "a" * 9,
        "-----BEGIN " + "PUBLIC KEY-----",
        "-----BEGIN " + "CERTIFICATE-----",
        "https://pypi.acme.io:8080/simple@1",
        "https://user:password@pypi.acme.io",
        "https://user:PASSWORD@pypi.acme.io",
        "https://user:pass@pypi.acme.io",
        "https://user:passwd@pypi.acme.io",
        "https://user:pwd@pypi.acme.io",
        "https://user:token@pypi.acme.io",
        "https://user:secret@pypi.acme.io",
        "https://user:key@pypi.acme.io",
        "https://${USER}:${PASS}@pypi.acme.io",
        "https://{user}:{pw}@pypi.acme.io",
        "https://<user>:<pw>@pypi.acme.io",
        "https://%s:%s@pypi.acme.io",
        "https://me:***@pypi.acme.io",
        "git+ssh://git@github.com/a/b",
        "https://localhost:8080?mail=a@b",
        "https://localhost:8080,me@acme.io",
        r"re.match('https?://[^:]+:[^@]+@')",
        r"re.match('://\w*:\w*@')",
        "text.startswith('-----BEGIN " + "PRIVATE KEY-----')",
        "s3://bucket/a:b@c",
        "aws_secret_access" + "_key = '" + "aB/+" * 9,
        SK + "a" * 19,
        "a" + SK + "a" * 36,
        "",
    ],
    ids=lambda value: value[:12],
)
def test_what_is_nearly_of_a_form_passes(value: str) -> None:
    """
    Too short, too long, of other letters, or inside a word.
    """
    assert credential_findings("environment", {"MY_KEY": value}) == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("HF_TOKEN", "x", True),
        ("HUGGING_FACE_HUB_TOKEN", "x", True),
        ("HF_API_TOKEN", "x", True),
        ("hf_token", "x", True),
        ("HF_TOKEN", "", False),
        ("HF_TOKENS", "x", False),
        ("HF_TOKEN", "{{resolve:secretsmanager:hub}}", False),
        ("HF_TOKEN", "x{{resolve:secretsmanager:hub}}", True),
        ("X", "{{resolve:secretsmanager:" + HF + "a" * 34 + "}}", False),
        ("X", "${Token[TOKEN.1]}" + HF + "a" * 34, False),
    ],
)
def test_what_names_a_token_holds_a_reference(
    name: str, value: str, *, found: bool
) -> None:
    """
    By its variable's name, whatever it looks like.
    """
    told = [str(f) for f in credential_findings("options", {name: value})]

    assert told == [
        (
            f"LLM107 {name} in options looks like a Hugging Face token; keep it in "
            f"Secrets "
            "Manager and pass HuggingFaceModel(..., token=secret)"
        )
    ] * int(found)


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"b": [1, None, {"c": HF + "a1" * 17}]}},
        [["x"], (HF + "a1" * 17,)],
        f'{{"a": ["{HF}{"a1" * 17}"]}}',
        f'  ["{HF}{"a1" * 17}"]',
        f'{{"broken": {HF}{"a1" * 17}',
        {HF + "a1" * 17: 1},
        {"HF_TOKEN": "whatever"},
        '{"HF_TOKEN": "whatever"}',
        '{"a": "{{resolve:secretsmanager:x}}", "b": "' + HF + "a1" * 17 + '"}',
    ],
)
def test_what_is_nested_is_looked_into(value: object) -> None:
    """
    Mappings, sequences, and JSON text, with the names in them.
    """
    (found,) = credential_findings("options", {"option.env": value})

    assert found.message == "option.env in options looks like a Hugging Face token"


@pytest.mark.parametrize(
    "value",
    [
        {"HF_TOKEN": "{{resolve:secretsmanager:x}}", "a": [1, 2.5, None, True]},
        '{"HF_TOKEN": "{{resolve:secretsmanager:x}}"}',
        "[" * 100_000,
        7,
        None,
    ],
    ids=["nested", "JSON", "deep", "number", "nothing"],
)
def test_what_is_nested_and_none_passes(value: object) -> None:
    """
    References, and what is no text.
    """
    assert credential_findings("options", {"option.env": value}) == []


def test_a_name_that_is_a_credential_is_not_repeated() -> None:
    """
    Somebody may mix up the two.
    """
    (found,) = credential_findings("environment", {HF + "a1" * 17: "x"})

    assert found.message == "*** in environment looks like a Hugging Face token"


def test_a_variable_by_its_name_is_an_aws_secret_key() -> None:
    """
    By itself the key looks like anything.
    """
    values = {"AWS_SECRET_ACCESS_KEY": "aB/+" * 10, "OTHER": "aB/+" * 10}
    (found,) = credential_findings("environment", values)

    assert found.message == (
        "AWS_SECRET_ACCESS_KEY in environment looks like an AWS secret key"
    )


def test_files_are_searched_by_lines() -> None:
    """
    In each text file; one finding a line, and what is no text is left.
    """
    token = (HF + "a1" * 17).encode()
    files = {
        "requirements.txt": b"torch\n--index-url https://" + b"me:h4x0r@pypi.acme.io\n",
        "model.py": b"# \xff\nA = '" + token + b"', '" + token + b"'\r\nB = '" + token,
        "fine.py": b"import os\nos.environ['HF_TOKEN']\n",
        "weights.bin": b"\0" + token,
    }

    assert [str(found) for found in file_findings(files)] == [
        f"LLM107 line {line} of {name} looks like it holds {kind}; keep it in Secrets "
        "Manager"
        for line, name, kind in [
            (2, "model.py", "a Hugging Face token"),
            (3, "model.py", "a Hugging Face token"),
            (2, "requirements.txt", "a password in an address"),
        ]
    ]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HuggingFaceModel(HF + "a1" * 17), "model_id in HuggingFaceModel looks"),
        (
            HuggingFaceModel("a/b", revision=HF + "a1" * 17),
            "revision in HuggingFaceModel looks",
        ),
        (S3Model(f"s3://b/{HF}{'a1' * 17}/"), "uri in S3Model looks"),
        (HuggingFaceModel("a/b", revision="main"), None),
        (None, None),
    ],
)
def test_what_names_the_weights_is_no_credential(
    model: ModelSource | None, message: str | None
) -> None:
    """
    Its parameter is named.
    """
    found = [finding.message for finding in model_findings(model)]

    assert found == ([f"{message} like a Hugging Face token"] if message else [])


def test_each_value_is_told_of() -> None:
    """
    In the order given.
    """
    values = {"B": HF + "a" * 34, "C": "fine", "A": SK + "a" * 34}

    assert [f.message.split()[0] for f in credential_findings("options", values)] == [
        "B",
        "A",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "hf_" + "aB3" * 11),
        ("X", "Bearer hf_" + "aB3" * 11),
        ("X", "AKIA" + "ABCD" * 4),
        ("X", "ghp_" + "a" * 36),
        ("X", "sk-" + "a" * 30),
        ("HF_TOKEN", "anything"),
        ("hugging_face_hub_token", "anything"),
    ],
)
def test_a_credential_is_found_and_not_repeated(name: str, value: str) -> None:
    """
    The message may end up in a log.
    """
    (found,) = credential_findings("environment", {name: value})

    assert found.code == "LLM107"
    assert name in found.message
    assert value not in str(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "{{resolve:secretsmanager:hub:SecretString:::}}"),
        ("HF_TOKEN", "${Token[TOKEN.12]}"),
        ("HF_MODEL_ID", "hf_internal/tiny"),
        ("X", "skip-this-one"),
    ],
)
def test_references_and_ordinary_values_pass(name: str, value: str) -> None:
    """
    A reference is the right way; a name that begins alike is no token.
    """
    assert credential_findings("environment", {name: value}) == []


@pytest.mark.parametrize(
    "architecture",
    [
        None,
        "MistralForCausalLM",
        "MineForCausalLM",
        ModelArchitecture.of("mistralai/Mistral-7B-v0.1"),
    ],
    ids=repr,
)
def test_what_is_not_doubted_is_not_told(architecture: object) -> None:
    """
    Sizes that are known say more than a name.
    """
    given = [ONE.finding("a", "b")]

    assert class_findings(architecture) == []
    assert with_class_named(given, ONE, architecture) == given


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("LlamForCausalLM", "did you mean 'LlamaForCausalLM'?"),
        ("Foo", "write the class in the model's config.json, under architectures"),
    ],
)
def test_what_is_doubted_is_told_with_the_way_out(name: str, remedy: str) -> None:
    """
    As a warning, and where it breaks a rule, there.
    """
    message = f"architecture {name!r} is no class that is known"
    given = [ONE.finding("a", "b"), OTHER.finding("c", "d")]

    assert list(map(str, class_findings(name))) == [f"LLM232 {message}; {remedy}"]
    assert with_class_named(given, ONE, name) == [
        ONE.finding("a", f"{message}: {remedy}"),
        OTHER.finding("c", "d"),
    ]
