"""
What notebooks deploy, by the shapes that public ones have.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.adoption.deployment import Hidden, Open
from cdk_sagemaker_llm.adoption.scripts import read_script
from tests import notebooks
from tests.notebooks import read, read_cells, remarks

AMBIENT = Open(
    "role_arn", "sagemaker.get_execution_role() is known when the script runs"
)
MADE = "the name is made when this runs: here "


def test_text_generation_inference(tmp_path: Path) -> None:
    """
    SDK v2: the model, its configuration and the endpoint, as ``deploy`` asks for them.
    """
    found = read_cells(tmp_path, *notebooks.TGI)

    assert [(one.operation, one.where) for one in found.requests] == [
        ("CreateModel", "cell 4, line 1"),
        ("CreateEndpointConfig", "cell 4, line 1"),
        ("CreateEndpoint", "cell 4, line 1"),
    ]
    model, config, endpoint = (one.parameters for one in found.requests)
    assert model == {
        "ModelName": "Mistral-7B-Instruct-v0-1",
        "ExecutionRoleArn": AMBIENT,
        "PrimaryContainer": {
            "Image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
            "huggingface-pytorch-tgi-inference:"
            "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04",
            "Environment": {
                "HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.1",
                "SM_NUM_GPUS": "4",
                "MAX_INPUT_LENGTH": "2048",
                "MAX_TOTAL_TOKENS": "4096",
            },
        },
    }
    assert config == {
        "EndpointConfigName": "mistral-tgi",
        "ProductionVariants": [
            {
                "VariantName": "AllTraffic",
                "ModelName": "Mistral-7B-Instruct-v0-1",
                "InitialVariantWeight": 1,
                "InitialInstanceCount": 1,
                "InstanceType": "ml.g5.12xlarge",
                "ContainerStartupHealthCheckTimeoutInSeconds": 600,
            }
        ],
    }
    assert endpoint == {
        "EndpointName": "mistral-tgi",
        "EndpointConfigName": "mistral-tgi",
    }
    assert remarks(found) == []


def test_files_that_a_notebook_writes(tmp_path: Path) -> None:
    """
    A serving.properties that is written, moved, packed and uploaded is the model's.
    """
    found = read_cells(tmp_path, *notebooks.LMI)

    (model,) = found.of("CreateModel")
    assert model.files == {
        "serving.properties": b"engine=MPI\n"
        b"option.model_id=TheBloke/Llama-2-7B-fp16\n"
        b"option.tensor_parallel_degree=4\n"
        b"option.rolling_batch=vllm\n"
    }
    assert "ModelDataUrl" not in model.parameters["PrimaryContainer"]
    assert remarks(found) == [("cell 5, line 3", f"{MADE}'lmi-model'")]


def test_what_jumpstart_has_only_aws_knows(tmp_path: Path) -> None:
    """
    It is told, with the way out, and nothing is made up.
    """
    found = read_cells(tmp_path, *notebooks.JUMPSTART)

    assert list(found.requests) == []
    assert remarks(found) == [
        (
            "cell 2, line 1",
            (
                "image, weights and variables of "
                "meta-textgeneration-llama-3-8b-instruct in JumpStart only AWS knows: "
                "`sagemaker-llm adopt` reads them from the endpoint when it runs"
            ),
        )
    ]


def test_a_builder(tmp_path: Path) -> None:
    """
    SDK v3: a builder with an image and variables is a model; the region is the image's.
    """
    found = read_cells(tmp_path, *notebooks.BUILDER, region="")

    model, config, _ = (one.parameters for one in found.requests)
    assert found.region == "eu-west-1"
    assert model["ModelName"] == "qwen3"
    assert model["PrimaryContainer"]["Environment"] == {
        "SM_VLLM_MODEL": "Qwen/Qwen3-8B",
        "SM_VLLM_MAX_MODEL_LEN": "16384",
    }
    (variant,) = config["ProductionVariants"]
    assert (variant["InstanceType"], variant["InitialInstanceCount"]) == (
        "ml.g6e.2xlarge",
        2,
    )
    assert remarks(found) == []


def test_components_made_in_a_loop(tmp_path: Path) -> None:
    """
    boto3 in a function, called for each model of a list, with what wakes the last.
    """
    found = read_cells(tmp_path, *notebooks.COMPONENTS, region="")

    assert found.region == "us-west-2"
    models = [one.parameters for one in found.of("CreateModel")]
    assert [one["PrimaryContainer"]["Environment"] for one in models] == [
        {
            "HF_MODEL_ID": f"Qwen/Qwen3-{size}B",
            "OPTION_ROLLING_BATCH": "disable",
            "OPTION_ASYNC_MODE": "true",
        }
        for size in (4, 8)
    ]
    components = [one.parameters for one in found.of("CreateInferenceComponent")]
    assert [
        (
            one["InferenceComponentName"],
            one["Specification"]["ModelName"],
            one["Specification"]["ComputeResourceRequirements"],
        )
        for one in components
    ] == [
        (
            f"ic-qwen3-{size}b",
            f"qwen3-{size}b",
            {
                "NumberOfAcceleratorDevicesRequired": accelerators,
                "MinMemoryRequiredInMb": 16384,
            },
        )
        for size, accelerators in ((4, 1), (8, 2))
    ]
    assert {one["EndpointName"] for one in components} == {"demo-endpoint"}
    (alarm,) = found.of("PutMetricAlarm")
    assert alarm.parameters["AlarmActions"] == [
        "policy/inference-component/ic-qwen3-8b/wake"
    ]
    assert alarm.parameters["Dimensions"] == [
        {"Name": "InferenceComponentName", "Value": "ic-qwen3-8b"}
    ]
    assert remarks(found) == [("cell 3, line 21", f"{MADE}'demo-endpoint'")]


def test_asynchronous_with_scaling(tmp_path: Path) -> None:
    """
    A predictor's name leads to the endpoint that is scaled.
    """
    found = read_cells(tmp_path, *notebooks.ASYNC)

    (config,) = found.of("CreateEndpointConfig")
    assert config.parameters["AsyncInferenceConfig"] == {
        "OutputConfig": {
            "S3OutputPath": "s3://answers/out",
            "S3FailurePath": "s3://answers/failed",
        },
        "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4},
    }
    (target,) = found.of("RegisterScalableTarget")
    (policy,) = found.of("PutScalingPolicy")
    assert target.parameters["ResourceId"] == "endpoint/later/variant/AllTraffic"
    assert target.parameters["MinCapacity"] == 0
    assert policy.parameters["ResourceId"] == target.parameters["ResourceId"]
    assert remarks(found) == []


def test_models_that_share_an_endpoint(tmp_path: Path) -> None:
    """
    SDK v2 makes the endpoint once, and a component of each model on it.
    """
    found = read_cells(tmp_path, *notebooks.SHARED)

    (config,) = found.of("CreateEndpointConfig")
    (variant,) = config.parameters["ProductionVariants"]
    assert config.parameters["ExecutionRoleArn"] == AMBIENT
    assert variant == {
        "VariantName": "AllTraffic",
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
        "ContainerStartupHealthCheckTimeoutInSeconds": 900,
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "ManagedInstanceScaling": {
            "Status": "ENABLED",
            "MinInstanceCount": 1,
            "MaxInstanceCount": 3,
        },
    }
    first, second = found.of("CreateInferenceComponent")
    assert first.parameters == {
        "InferenceComponentName": "one-component",
        "EndpointName": "shared",
        "VariantName": "AllTraffic",
        "Specification": {
            "ModelName": "one",
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": 1,
                "NumberOfCpuCoresRequired": 4,
                "MinMemoryRequiredInMb": 16384,
                "MaxMemoryRequiredInMb": 32768,
            },
            "StartupParameters": {"ContainerStartupHealthCheckTimeoutInSeconds": 900},
        },
        "RuntimeConfig": {"CopyCount": 2},
    }
    assert second.parameters["Specification"]["ModelName"] == "two"
    models = [one.parameters["PrimaryContainer"] for one in found.of("CreateModel")]
    assert models[0]["Environment"] == {
        "HF_MODEL_ID": "company/one",
        "TENSOR_PARALLEL_DEGREE": "1",
        "OPTION_ENGINE": "Python",
    }
    assert remarks(found) == []


def test_a_model_that_others_were_deployed_before(tmp_path: Path) -> None:
    """
    Names that only the time makes differ stay apart, and so do their references.
    """
    found = read(
        tmp_path,
        """
        from sagemaker.utils import name_from_base
        import boto3
        client = boto3.client("sagemaker")
        for instance_type in ("ml.g5.xlarge", "ml.g6.xlarge"):
            name = name_from_base("chat")
            client.create_model(
                ModelName=name,
                ExecutionRoleArn="arn:aws:iam::111111111111:role/hosting",
                PrimaryContainer={"Image": "image"},
            )
            client.create_endpoint_config(
                EndpointConfigName=name + "-config",
                ProductionVariants=[
                    {
                        "VariantName": "one",
                        "ModelName": name,
                        "InstanceType": instance_type,
                        "InitialInstanceCount": 1,
                    }
                ],
            )
            client.create_endpoint(
                EndpointName=name, EndpointConfigName=f"{name}-config"
            )
        """,
    )

    assert [one.parameters["EndpointName"] for one in found.of("CreateEndpoint")] == [
        "chat",
        "chat-2",
    ]
    configs = [one.parameters for one in found.of("CreateEndpointConfig")]
    assert [one["EndpointConfigName"] for one in configs] == [
        "chat-config",
        "chat-2-config",
    ]
    assert [one["ProductionVariants"][0]["ModelName"] for one in configs] == [
        "chat",
        "chat-2",
    ]
    ends = [one.parameters["EndpointConfigName"] for one in found.of("CreateEndpoint")]
    assert ends == ["chat-config", "chat-2-config"]


def test_names_that_are_nothing_but_the_time(tmp_path: Path) -> None:
    """
    They are called after what they name, each by one of its own.
    """
    found = read(
        tmp_path,
        """
        import uuid
        for size in ("ml.g5.xlarge", "ml.g5.2xlarge"):
            Model(image_uri="image", role="arn:aws:iam::1:role/a", name="a").deploy(
                1, size, endpoint_name=str(uuid.uuid4())
            )
        """,
    )

    names = [one.parameters["EndpointName"] for one in found.of("CreateEndpoint")]
    assert names == ["endpoint", "endpoint-2"]


def test_a_role_that_is_to_be_filled_in(tmp_path: Path) -> None:
    """
    It is an argument of the app.
    """
    found = read(
        tmp_path,
        """
        session.create_model(
            ModelName="a",
            ExecutionRoleArn="arn:aws:iam::<ACCOUNT>:role/hosting",
            PrimaryContainer={"Image": "image"},
        )
        """,
    )

    (model,) = found.of("CreateModel")
    assert model.parameters["ExecutionRoleArn"] == Open(
        "role_arn", "arn:aws:iam::<ACCOUNT>:role/hosting is no ARN of a role"
    )


def test_what_only_a_run_knows_is_an_argument(tmp_path: Path) -> None:
    """
    One argument for each expression, under a name that the script has for it.
    """
    found = read(
        tmp_path,
        """
        import os
        model_uri = input("where is it? ")
        session.create_model(
            ModelName="a",
            ExecutionRoleArn=os.environ["ROLE"],
            PrimaryContainer={
                "Image": os.environ["IMAGE"],
                "ModelDataUrl": model_uri,
                "Environment": {"FROM": model_uri, "SIZE": str(size())},
            },
        )
        """,
    )

    (model,) = found.of("CreateModel")
    asked = Open("model_uri", "input('where is it? ') is known when the script runs")
    assert model.parameters == {
        "ModelName": "a",
        "ExecutionRoleArn": Open(
            "role_arn", "os.environ['ROLE'] is known when the script runs"
        ),
        "PrimaryContainer": {
            "Image": Open("image", "os.environ['IMAGE'] is known when the script runs"),
            "ModelDataUrl": asked,
            "Environment": {
                "FROM": asked,
                "SIZE": Open("size", "size() is known when the script runs"),
            },
        },
    }


def test_no_credential_is_kept(tmp_path: Path) -> None:
    """
    Neither by its form nor by its name, nor in what is told of a line.
    """
    token = "hf_" + "x1Y2z3" * 6
    found = read(
        tmp_path,
        f"""
        login(token={token!r})
        password = "correct-horse"
        Model(
            image_uri=choose(key="pony-battery", token={token!r}),
            role="arn:aws:iam::111111111111:role/hosting",
            env={{
                "HF_TOKEN": {token!r},
                "HUGGING_FACE_HUB_TOKEN": getpass(),
                "OTHER_TOKEN": "<insert your token>",
                "DB_PASSWORD": password,
                "NOTE": "token {token}",
                "MAX_BATCH_PREFILL_TOKENS": "4096",
            }},
        ).deploy(1, "ml.g5.xlarge", endpoint_name="a")
        """,
    )

    (model,) = found.of("CreateModel")
    environment = model.parameters["PrimaryContainer"]["Environment"]
    assert {name for name, one in environment.items() if isinstance(one, Hidden)} == {
        *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OTHER_TOKEN", "DB_PASSWORD", "NOTE"),
    }
    assert environment["MAX_BATCH_PREFILL_TOKENS"] == "4096"
    for secret in (token, token[:12], "correct-horse", "pony-battery"):
        assert secret not in repr(found)


def test_options_that_only_a_run_knows(tmp_path: Path) -> None:
    """
    What serving.properties cannot hold is a variable, which the container reads where
    the file is silent.
    """
    found = read_cells(
        tmp_path,
        """
        where = f"s3://{bucket()}/weights/"
        text = f'''engine=Python
        option.model_id={where}
        option.s3url=s3://{bucket()}
        option.max_model_len={4 * 1024}
        batch_size={size()}
        '''
        with open("code/serving.properties", "w") as file:
            file.write(text.replace("    ", ""))
        """,
        """
        !tar -czf code.tar.gz -C code .
        client.upload_file("code.tar.gz", "weights", "lmi/code.tar.gz")
        session.create_model(
            ModelName="a",
            ExecutionRoleArn="arn:aws:iam::111111111111:role/hosting",
            PrimaryContainer={
                "Image": "image", "ModelDataUrl": "s3://weights/lmi/code.tar.gz"
            },
        )
        """,
    )

    (model,) = found.of("CreateModel")
    assert model.files == {
        "serving.properties": b"engine=Python\noption.max_model_len=4096\n"
    }
    assert {
        name: one.name
        for name, one in model.parameters["PrimaryContainer"]["Environment"].items()
    } == {"OPTION_MODEL_ID": "option_model_id", "OPTION_S3URL": "option_s3_url"}
    assert remarks(found) == [
        (
            "cell 2, line 3",
            (
                "an option of serving.properties is known when the script runs: size() "
                "is known when the script runs"
            ),
        )
    ]


def test_a_package_that_is_made_anew(tmp_path: Path) -> None:
    """
    Each model has what was packed and rendered when its package was uploaded.
    """
    make = """
        path = Path("a/serving.properties")
        template = jinja2.Environment().from_string(path.open().read())
        path.open("w").write(template.render(weights="s3://w/"))
        !rm model.tar.gz
        !tar czvf model.tar.gz a
        artifact = sess.upload_data("model.tar.gz", bucket, prefix)
        session.create_model(
            ModelName=engine,
            ExecutionRoleArn="arn:aws:iam::111111111111:role/hosting",
            PrimaryContainer={"Image": "image", "ModelDataUrl": artifact},
        )
        """
    found = read_cells(
        tmp_path,
        "!mkdir a\nengine = 'Python'",
        """
        %%writefile a/serving.properties
        engine=Python
        option.model_id={{ weights }}
        """,
        make,
        "!rm -rf a\nengine = 'MPI'",
        "%%writefile a/serving.properties\nengine=MPI\noption.model_id={{weights}}",
        make,
    )

    assert [(one.parameters["ModelName"], one.files) for one in found.requests] == [
        (
            engine,
            {
                "serving.properties": f"engine={engine}\n"
                "option.model_id=s3://w/\n".encode()
            },
        )
        for engine in ("Python", "MPI")
    ]


@pytest.mark.parametrize(
    ("region", "expected"), [("", "us-east-1"), ("eu-central-1", "eu-central-1")]
)
def test_the_region_of_whoever_runs_it(
    tmp_path: Path, region: str, expected: str
) -> None:
    """
    A script that names none is of the region that is given, or else it is told.
    """
    found = read(
        tmp_path,
        """
        image = sagemaker.image_uris.retrieve("djl-lmi", session.region_name, "0.30.0")
        Model(image_uri=image, role="arn:aws:iam::111111111111:role/hosting").deploy(
            1, "ml.g5.xlarge", endpoint_name="a"
        )
        """,
        region=region,
    )

    (model,) = found.of("CreateModel")
    assert found.region == expected
    assert f".ecr.{expected}." in model.parameters["PrimaryContainer"]["Image"]
    assert [what for _, what in remarks(found)] == (
        []
        if region
        else [
            (
                "the region is that of whoever runs this: the app has the images of "
                "us-east-1, unless --region names another"
            )
        ]
    )


def test_files_that_are_none(tmp_path: Path) -> None:
    """
    What cannot be read at all is refused, with the reason.
    """
    script = notebooks.script(tmp_path, "print 'hello'")
    with pytest.raises(ValueError, match=r"script.py is not Python of today: line 1: "):
        read_script(script)
    other = tmp_path / "a.ipynb"
    other.write_text("[]")
    with pytest.raises(ValueError, match="a.ipynb is no notebook"):
        read_script(other)
    with pytest.raises(ValueError, match="missing.py cannot be read"):
        read_script(tmp_path / "missing.py")


def test_models_come_first_whatever_a_script_begins_with(tmp_path: Path) -> None:
    """
    An app defines a model before what names it.
    """
    found = read(
        tmp_path,
        """
        import boto3
        client = boto3.client("sagemaker")
        client.create_endpoint(EndpointName="chat", EndpointConfigName="chat-config")
        client.create_endpoint_config(
            EndpointConfigName="chat-config",
            ProductionVariants=[
                {
                    "VariantName": "main",
                    "ModelName": "chat-model",
                    "InstanceType": "ml.g5.xlarge",
                    "InitialInstanceCount": 1,
                }
            ],
        )
        client.create_model(
            ModelName="chat-model",
            ExecutionRoleArn="arn:aws:iam::111122223333:role/sagemaker",
            PrimaryContainer={"Image": "image", "ModelDataUrl": "s3://bucket/key"},
        )
        """,
    )

    assert [one.operation for one in found.requests] == [
        "CreateModel",
        "CreateEndpointConfig",
        "CreateEndpoint",
    ]
