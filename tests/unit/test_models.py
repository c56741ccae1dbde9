"""
Where weights come from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from aws_cdk import SecretValue, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import HuggingFaceModel, ModelArchitecture, S3Model
from cdk_sagemaker_llm.models import (
    class_of,
    hub_name,
    id_findings,
    kind_of,
    looked_up,
    revision_findings,
    sized,
)


@pytest.mark.parametrize("model_id", ["", "/", "s3://bucket/prefix/", "a/b/c"])
def test_fails_if_the_model_id_is_no_hub_repository(model_id: str) -> None:
    """
    A path or S3 address is caught before a container looks for it on the Hub.
    """
    with pytest.raises(ValueError, match="model_id must be a Hugging Face repository"):
        HuggingFaceModel(model_id)


@pytest.mark.parametrize(
    ("model_id", "words"),
    [
        ("org/my model", "must be of letters"),
        (" org/name", "must be of letters"),
        ("org/name\n", "must be of letters"),
        ("org/name@main", "must be .*; name a commit, branch or tag as revision"),
        ("org/name:latest", "must be .*; name a commit, branch or tag as revision"),
        ("org\\name", "must be of letters"),
        ("org/", "must be of letters"),
        ("/name", "must be of letters"),
        (".", "must be of letters"),
        ("../..", "must be of letters"),
        ("a/" + "b" * 97, "must be of letters"),
        (".a/b", "must be .* and neither dot nor dash at an end"),
        ("a/b-", "must be .* and neither dot nor dash at an end"),
        ("a/模型", "must be of letters"),
        ("a--b/c", "must have neither '--'"),
        ("a/b.git", r"must have .* nor end in '\.git', got 'a/b\.git'"),
    ],
)
def test_fails_if_the_hub_can_have_no_such_id(model_id: str, words: str) -> None:
    """
    The container would look for it half an hour later.
    """
    with pytest.raises(ValueError, match=f"LLM791 model_id {words}"):
        HuggingFaceModel(model_id)


@pytest.mark.parametrize(
    "model_id",
    [
        "gpt2",
        "a/" + "b" * 96,
        "a_b/c.d-e",
        "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
        "a/b-GGUF:UD-IQ2_XXS",
        "${Token[TOKEN.12]}",
    ],
)
def test_ids_that_the_hub_can_have_are_taken(model_id: str) -> None:
    """
    With the type of a GGUF file, which llama.cpp reads.
    """
    assert HuggingFaceModel(model_id).model_id == model_id


@pytest.mark.parametrize(
    "revision",
    [
        *("", " ", "main ", "ma in", "v1\n", "@main", ":latest", "a\\b", "."),
        *("a..b", "/main", "main/", "a~1", "a^", "a@{1}", "x.lock", "-x"),
    ],
)
def test_fails_if_the_hub_can_have_no_such_revision(revision: str) -> None:
    """
    By git's own rules for the names of branches and tags.
    """
    with pytest.raises(ValueError, match="LLM791 revision must be a commit, branch or"):
        HuggingFaceModel("gpt2", revision=revision)


@pytest.mark.parametrize(
    "revision", ["main", "refs/pr/1", "v1.0", "a" * 40, "c", "4bit-32g", "a@b", None]
)
def test_revisions_that_the_hub_can_have_are_taken(revision: str | None) -> None:
    """
    Branches, tags, commits and pull requests.
    """
    assert HuggingFaceModel("gpt2", revision=revision).revision == revision


def test_a_parameter_that_was_not_looked_up_is_no_model() -> None:
    """
    Its stand-in says what it is.
    """
    with pytest.raises(ValueError, match="default_value="):
        HuggingFaceModel("dummy-value-for-/llm/model")


def test_a_token_is_not_shown() -> None:
    """
    A model in a log line does not show the token's reference.
    """
    model = HuggingFaceModel("a/b", token=SecretValue.secrets_manager("my-secret"))

    assert "token" not in repr(model)


@pytest.mark.parametrize("uri", ["bucket/prefix/", "s3://bucket/prefix", "https://x/"])
def test_fails_if_the_uri_is_no_prefix(uri: str) -> None:
    """
    The service takes prefixes with a slash at the end only.
    """
    with pytest.raises(ValueError, match="uri must be a prefix"):
        S3Model(uri)


def test_a_bucket_brings_its_key(stack: Stack) -> None:
    """
    An encrypted bucket's key is known without being named twice.
    """
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Bucket", encryption_key=key)

    model = S3Model.from_bucket(bucket, "/weights/")

    assert model.kms_key is not None
    assert model.prefix == "weights/"
    assert model.uri.endswith("/weights/")


PARAMETERS = {
    HuggingFaceModel: ["model_id", "revision", "token", "architecture"],
    S3Model: [
        *("uri", "kms_key", "architecture"),
        # What these two do is held by the tests of staging.
        *("depends_on", "compiled"),
        "accept_eula",
        # Where it is, the tests of what is elsewhere hold.
        "bucket",
    ],
    S3Model.from_bucket: [
        *("bucket", "prefix", "architecture"),
        *("depends_on", "compiled"),
        "accept_eula",
    ],
}
LLAMA = ModelArchitecture.of("meta-llama/Llama-2-13b-hf")
SIZED = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=2)
# What is given, what is kept of it, its sizes and its class.
ARCHITECTURES: list[
    tuple[
        ModelArchitecture | str | None,
        ModelArchitecture | str | None,
        ModelArchitecture | None,
        str | None,
    ]
] = [
    (None, None, None, None),
    ("LlamaForCausalLM", "LlamaForCausalLM", None, "LlamaForCausalLM"),
    ("meta-llama/Llama-2-13b-hf", LLAMA, LLAMA, "LlamaForCausalLM"),
    (LLAMA, LLAMA, LLAMA, "LlamaForCausalLM"),
    (SIZED, SIZED, SIZED, None),
]


@pytest.mark.parametrize("call", PARAMETERS, ids=lambda call: call.__name__)
def test_every_parameter_is_held_by_these_tests(call: Callable[..., object]) -> None:
    """
    A new one comes with a test of its own.
    """
    assert list(inspect.signature(call).parameters) == PARAMETERS[call]


@pytest.mark.parametrize("source", [HuggingFaceModel, S3Model])
def test_all_but_the_address_goes_by_keyword(source: Callable[..., object]) -> None:
    """
    So that a call says what is what.
    """
    first, *others = inspect.signature(source).parameters.values()

    assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {other.kind for other in others} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    "model_id", ["gpt2", "a/b", "mistralai/Mistral-7B-v0.1", "${Token[TOKEN.1]}"]
)
def test_a_repository_is_named_with_or_without_its_organisation(model_id: str) -> None:
    """
    And one known only at deployment is taken as it is.
    """
    model = HuggingFaceModel(model_id)

    assert (model.model_id, model.revision, model.token) == (model_id, None, None)


def test_the_wrong_model_id_is_told_word_for_word() -> None:
    """
    With the way to name weights on S3.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        HuggingFaceModel("s3://b/p/")

    assert str(caught.value) == (
        "model_id must be a Hugging Face repository such as "
        "'mistralai/Mistral-7B-v0.1', got 's3://b/p/'; weights on S3 are an S3Model"
    )


@pytest.mark.parametrize("form", ["{}", "s3://{}", "{}/prefix/"])
def test_an_address_that_hides_its_bucket_is_shown_the_way_out(form: str) -> None:
    """
    A bucket's own name may be known only at deployment.
    """
    uri = form.format("${Token[TOKEN.1239]}")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        S3Model(uri)

    assert str(caught.value) == (
        "uri is known only at deployment, and must be a prefix such as "
        "'s3://bucket/prefix/' at synth; write "
        "S3Model.from_bucket(Bucket.from_bucket_name(...), prefix)"
    )


def test_an_open_address_without_its_last_slash_is_told_of_that() -> None:
    """
    Its bucket may stay open.
    """
    name = "${Token[TOKEN.1239]}"

    assert S3Model(f"s3://{name}/prefix/").bucket_name == name
    with pytest.raises(ValueError, match="^uri must be a prefix such as "):
        S3Model(f"s3://{name}/prefix")


def test_the_wrong_uri_is_told_word_for_word() -> None:
    """
    With the form of one that is right.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        S3Model("s3://b/p")

    assert str(caught.value) == (
        "uri must be a prefix such as 's3://bucket/prefix/', got 's3://b/p'; write "
        "'s3://b/p/'"
    )


@pytest.mark.parametrize(
    ("given", "kept", "sizes", "name"),
    ARCHITECTURES,
    ids=["nothing", "a class", "a catalogued model", "an architecture", "a size"],
)
def test_an_architecture_is_a_size_a_name_or_a_class(
    given: ModelArchitecture | str | None,
    kept: ModelArchitecture | str | None,
    sizes: ModelArchitecture | None,
    name: str | None,
    stack: Stack,
) -> None:
    """
    The name of a catalogued model is replaced by what it is.
    """
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    models: list[HuggingFaceModel | S3Model] = [
        HuggingFaceModel("a/b", architecture=given),
        S3Model("s3://b/p/", architecture=given),
        S3Model.from_bucket(bucket, "p", architecture=given),
    ]

    assert [model.architecture for model in models] == [kept] * 3
    assert [model.known_architecture for model in models] == [sizes] * 3
    assert looked_up(given) == kept
    assert sized(kept) == sizes
    assert class_of(kept) == name


def test_the_catalogue_is_asked_for_the_model_id_where_nothing_is_said() -> None:
    """
    A class alone says something: the model may be of another size.
    """
    name = "meta-llama/Llama-2-13b-hf"

    assert HuggingFaceModel(name).known_architecture == LLAMA
    assert HuggingFaceModel(name).architecture is None
    assert (
        HuggingFaceModel(name, architecture="LlamaForCausalLM").known_architecture
        is None
    )


@pytest.mark.parametrize(
    "define",
    [
        lambda name: HuggingFaceModel("a/b", architecture=name),
        lambda name: S3Model("s3://b/p/", architecture=name),
    ],
    ids=["on the Hub", "on S3"],
)
def test_fails_if_the_catalogue_lacks_the_model(
    define: Callable[[str], object],
) -> None:
    """
    The nearest one is named.
    """
    with pytest.raises(ValueError, match="no model 'meta-llama/Llama-2-13b-fh' in"):
        define("meta-llama/Llama-2-13b-fh")


def test_a_revision_and_a_token_are_kept() -> None:
    """
    For the container.
    """
    token = SecretValue.secrets_manager("my-secret")
    model = HuggingFaceModel("a/b", revision="main", token=token)

    assert model.revision == "main"
    assert model.token is token


def test_a_prefix_is_told_apart_from_its_bucket(stack: Stack) -> None:
    """
    However the prefix is written; a bucket without a key brings none.
    """
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="my-bucket", encryption_key=key
    )
    plain = s3.Bucket.from_bucket_name(stack, "Plain", "plain")

    assert S3Model.from_bucket(bucket, "a/b") == S3Model(
        "s3://my-bucket/a/b/", kms_key=bucket.encryption_key
    )
    assert S3Model.from_bucket(plain, "//a/").uri == "s3://plain/a/"
    assert S3Model.from_bucket(plain, "a").kms_key is None
    assert S3Model("s3://my-bucket/a/b/").bucket_name == "my-bucket"
    assert S3Model("s3://my-bucket/a/b/").prefix == "a/b/"


@pytest.mark.parametrize("architecture", [5, b"a/b", {"hidden_size": 1}, True])
def test_fails_if_an_architecture_is_of_another_type(architecture: object) -> None:
    """
    The message names the parameter and what it takes.
    """
    with pytest.raises(TypeError, match="^architecture must be a ModelArchitecture"):
        S3Model(
            "s3://bucket/model/",
            architecture=architecture,  # type: ignore[arg-type] # what is refused
        )


@pytest.mark.parametrize("name", ["", "config.json", "Mistral-7B-v0.1"])
def test_fails_if_an_architecture_is_no_class(name: str) -> None:
    """
    A mistyped one would leave the model's size unknown without a word.
    """
    with pytest.raises(ValueError, match=f"^architecture must be .*, got {name!r}$"):
        HuggingFaceModel("org/name", architecture=name)


def test_a_revision_goes_by_keyword() -> None:
    """
    So does what else may be said of a model.
    """
    with pytest.raises(TypeError, match="positional argument"):
        HuggingFaceModel("org/name", "main")  # type: ignore[call-arg] # what is refused


def test_a_model_id_that_the_deployment_decides_is_not_read() -> None:
    """
    Its text is a placeholder's.
    """
    model_id = "a/${Token[TOKEN.7]}/b"

    assert HuggingFaceModel(model_id).model_id == model_id


@pytest.mark.parametrize(
    "bucket",
    [
        "My-bucket",
        "my_bucket",
        "-bucket",
        "bucket-",
        ".bucket",
        "bucket.",
        "a..b",
        "192.168.5.4",
        "my bucket",
        "b" * 64,
    ],
)
def test_fails_for_a_bucket_that_s3_does_not_have(bucket: str) -> None:
    """
    The rules of general purpose buckets.
    """
    with pytest.raises(ValueError, match="^uri must be a prefix") as caught:
        S3Model(f"s3://{bucket}/model/")

    assert "whose bucket has at most 63 lower-case letters" in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://my-bucket/",
        "s3://my.bucket.1/a/b/",
        "s3://192.168.5.4a/model/",
        f"s3://{'b' * 63}/model/",
        "s3://alias-abc123-s3alias/model/",
        "s3://${Token[Bucket.1]}/model/",
        "s3://${Token[Bucket.1]}_weights/model/",
    ],
)
def test_takes_what_may_be_a_bucket(uri: str) -> None:
    """
    Aliases of access points and placeholders as well.
    """
    assert S3Model(uri).uri == uri


@pytest.mark.parametrize("uri", ["s3://", "s3:///", "s3:///a/", "s3://b", "s3://b//"])
def test_fails_for_an_address_that_lacks_a_part(uri: str) -> None:
    """
    A bucket, and a prefix that is not left empty.
    """
    with pytest.raises(ValueError, match=f"^uri must be a prefix .*, got '{uri}'$"):
        S3Model(uri)


@pytest.mark.parametrize("prefix", ["", "/", "//"])
def test_fails_for_an_empty_prefix_of_a_bucket(stack: Stack, prefix: str) -> None:
    """
    It would be the folder without a name.
    """
    bucket = s3.Bucket(stack, "Bucket")
    with pytest.raises(ValueError, match="^prefix must name the folder of the weights"):
        S3Model.from_bucket(bucket, prefix)


def test_what_is_known_of_a_model_is_what_was_said_or_the_catalogues() -> None:
    """
    A class that was given counts before a size that is catalogued.
    """
    name = "mistralai/Mistral-7B-v0.1"

    assert kind_of(None) is None
    assert kind_of(HuggingFaceModel("someone/unheard-of")) is None
    assert kind_of(HuggingFaceModel(name)) == ModelArchitecture.of(name)
    assert kind_of(HuggingFaceModel(name, architecture="X")) == "X"
    assert kind_of(S3Model("s3://b/p/")) is None


@pytest.mark.parametrize(
    ("model_id", "message", "remedy"),
    [
        ("a/b", None, ""),
        ("${Token[TOKEN.1]}", None, ""),
        (
            "a/b@main",
            (
                "it must be of letters, digits and _.-, as organisation/name, with at "
                "most 96 characters each, and neither dot nor dash at an end, got "
                "'a/b@main'"
            ),
            "name a commit, branch or tag as revision",
        ),
        (
            "a/b--c",
            "it must have neither '--' nor '..' nor end in '.git', got 'a/b--c'",
            "write it as its page on the Hub has it",
        ),
        (
            "a/b.git",
            "it must have neither '--' nor '..' nor end in '.git', got 'a/b.git'",
            "write it as its page on the Hub has it",
        ),
    ],
)
def test_what_no_repository_is_called_is_found(
    model_id: str, message: str | None, remedy: str
) -> None:
    """
    What deployment decides is not read.
    """
    found = [(one.message, one.remedy) for one in id_findings("it", model_id)]

    assert found == ([] if message is None else [(message, remedy)])


@pytest.mark.parametrize(
    ("named", "is_there"),
    [
        ("organisation/name", True),
        ("gpt2", True),
        (None, False),
        ("", False),
        ("/opt/ml/model", False),
        ("./model", False),
        ("s3://bucket/model", False),
        ("a/b/c", False),
        ("$MODEL", False),
        ("{{model}}", False),
        ("${Token[TOKEN.1]}", False),
    ],
)
def test_what_names_a_model_on_the_hub_is_told_from_places(
    named: str | None, *, is_there: bool
) -> None:
    """
    And from what is not known before the container starts.
    """
    assert hub_name(named) == (named if is_there else None)


@pytest.mark.parametrize(
    ("revision", "end"),
    [
        ("main", None),
        ("${Token[TOKEN.1]}", None),
        ("", "got ''; leave it out for the newest commit of the main branch"),
        ("a..b", "got 'a..b'; "),
    ],
)
def test_what_no_revision_is_called_is_found(revision: str, end: str | None) -> None:
    """
    An empty one is the newest commit's.
    """
    found = [str(one) for one in revision_findings("it", revision)]

    assert len(found) == (end is not None)
    assert all(end in one for one in found if end)
