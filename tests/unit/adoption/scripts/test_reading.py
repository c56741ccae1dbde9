"""
What is read of a script without running it, and what of it is told, line by line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import read, read_cells, remarks

# A model whose variables say what was read of a script before it.
MODEL = """
    session.create_model(
        ModelName="a",
        ExecutionRoleArn="arn:aws:iam::111111111111:role/hosting",
        PrimaryContainer={"Image": "image", "Environment": env},
    )
    """


def environment(folder: Path, *cells: str) -> Any:  # noqa: ANN401 - JSON
    """
    Return the variables of the model that a notebook makes at its end.
    """
    (model,) = read_cells(folder, *cells, MODEL).of("CreateModel")
    return model.parameters["PrimaryContainer"].get("Environment", {})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('env = {"A": "1"}', {"A": "1"}),
        ('env = {"A": 1, "B": True}', {"A": "1", "B": "True"}),
        ('env = {}\nenv["A"] = f"{2 * 3:03d}"', {"A": "006"}),
        (
            'env = {"A": "1"}\nenv.update({"B": "2"}, C="3")',
            {"A": "1", "B": "2", "C": "3"},
        ),
        ('one = {"A": "1"}\nenv = {**one, "A": "2"}', {"A": "2"}),
        ('env = {"A": "1"} | {"B": "2"}', {"A": "1", "B": "2"}),
        ('env = dict(A="1", **{"B": "2"})', {"A": "1", "B": "2"}),
        ('env = {"A": "1", "B": "2"}\ndel env["A"]', {"B": "2"}),
        ('env = {"A": "1"}\nenv.pop("A")\nenv["B"] = "2"', {"B": "2"}),
        ('env = {k.upper(): str(v) for k, v in {"a": 1}.items()}', {"A": "1"}),
        ('env = {"A": json.dumps({"x": [1, 2]})}', {"A": '{"x": [1, 2]}'}),
        ('env = {"A": "{}-{b}".format("x", b=2)}', {"A": "x-2"}),
        ('env = {"A": "%s of %d" % ("x", 2)}', {"A": "x of 2"}),
        ('env = {"A": "a/b".split("/")[-1]}', {"A": "b"}),
        ('env = {"A": ", ".join(["x", "y"])}', {"A": "x, y"}),
        ('env = {"A": os.path.join("/opt", "ml")}', {"A": "/opt/ml"}),
        ('env = {"A": str(Path("/opt") / "ml")}', {"A": "/opt/ml"}),
        ('env = {"A": "1" if 4 > 3 else "2"}', {"A": "1"}),
        ('if 4 > 3:\n    env = {"A": "1"}\nelse:\n    env = {"A": "2"}', {"A": "1"}),
        ('a, *b = "1", "2"\nenv = {"A": a}', {"A": "1"}),
        ('env = {"A": os.environ.get("A", "1")}', {"A": "1"}),
        ('os.environ["A"] = "1"\nenv = {"A": os.environ["A"]}', {"A": "1"}),
        ("%env A=1\nenv = {'A': os.getenv('A')}", {"A": "1"}),
        ('env = {"A": str(min(2, 1, 3))}', {"A": "1"}),
        ('env = {"A": ""}\nfor n in range(3):\n    env["A"] += str(n)', {"A": "012"}),
        ('class Of:\n    a = "1"\nenv = {"A": "2"}', {"A": "2"}),
        (
            "def f(a, b='2', *, c='3'):\n    return a + b + c\nenv = {'A': f('1')}",
            {"A": "123"},
        ),
        ("from dataclasses import dataclass\nenv = {}", {}),
    ],
)
def test_what_is_followed(lines: str, expected: dict[str, str], tmp_path: Path) -> None:
    """
    Python's own words come to what they come to.
    """
    assert environment(tmp_path, lines) == expected


def test_objects_of_the_script(tmp_path: Path) -> None:
    """
    What an initialiser keeps is there in its methods.
    """
    found = environment(
        tmp_path,
        """
        class Deployer:
            def __init__(self, model_id, **more):
                self.env = {"HF_MODEL_ID": model_id, **more}

            def variables(self):
                return self.env

            @staticmethod
            def gpus(count):
                return {"SM_NUM_GPUS": str(count)}

        one = Deployer("a/b", A="1")
        env = one.variables() | one.gpus(4)
        """,
    )
    assert found == {"HF_MODEL_ID": "a/b", "A": "1", "SM_NUM_GPUS": "4"}


def test_options_of_a_command(tmp_path: Path) -> None:
    """
    An option's default is the value; one without is an argument of the app.
    """
    found = environment(
        tmp_path,
        """
        parser = argparse.ArgumentParser()
        parser.add_argument("-m", "--model-id", default="a/b")
        parser.add_argument("--revision", required=True)
        args = parser.parse_args()
        env = {"HF_MODEL_ID": args.model_id, "REVISION": args.revision}
        """,
    )
    assert found["HF_MODEL_ID"] == "a/b"
    assert found["REVISION"].name == "revision"


def test_what_changes_later_is_not_in_a_request(tmp_path: Path) -> None:
    """
    A request holds what its variables held when it was made.
    """
    found = read_cells(tmp_path, 'env = {"A": "1"}', MODEL, 'env["A"] = "2"')
    (model,) = found.of("CreateModel")
    assert model.parameters["PrimaryContainer"]["Environment"] == {"A": "1"}


def test_a_condition_that_only_a_run_decides(tmp_path: Path) -> None:
    """
    What both ways come to is known; what differs is an argument, and says where.
    """
    found = environment(
        tmp_path,
        """
        env = {"A": "1", "B": "1"}
        if is_large():
            env["B"] = "2"
        else:
            env["A"] = "1"
        """,
    )
    assert found["A"] == "1"
    assert found["B"].name == "b"
    assert found["B"].why == "is_large() decides it in cell 1, line 2"


@pytest.mark.parametrize(
    ("lines", "count", "expected"),
    [
        (
            "if exists(): pass\nelse:\n    session.create_model(**REQUEST)",
            1,
            [(2, "not exists() decides whether what follows is made: the app has it")],
        ),
        (
            (
                "if big():\n    session.create_model(**REQUEST)\nelse:\n    "
                'session.create_model(**{**REQUEST, "ModelName": "b"})'
            ),
            1,
            [(5, "this is made unless big(): the app has the other way")],
        ),
        (
            "for one in names():\n    session.create_model(**REQUEST)",
            1,
            [
                (
                    2,
                    (
                        "how often this runs over names() is known when the script "
                        "runs: the app has one"
                    ),
                )
            ],
        ),
        (
            (
                "try:\n    session.create_model(**REQUEST)\nexcept Exception:\n    "
                "session.create_model(**other)"
            ),
            1,
            [(5, "create_model() is not converted: this is made when something fails")],
        ),
        (
            "def make(name):\n    session.create_model(**REQUEST)",
            1,
            [(2, "nothing calls make() here: its arguments are those of the app")],
        ),
        (
            "def variables(it):\n    return {'HF_MODEL_ID': it.model}",
            0,
            [
                (
                    2,
                    (
                        "nothing calls variables() here: its arguments are those of "
                        "the app"
                    ),
                ),
                (
                    3,
                    "these variables of a container are of no model that is made here",
                ),
            ],
        ),
        (
            (
                "def is_ready():\n    if ask():\n        return True\n"
                "    return False\ndef make():\n    if not is_ready():\n"
                "        return\n    session.create_model(**REQUEST)\nmake()"
            ),
            1,
            [],
        ),
        (
            "session.create_model(**REQUEST)\nsession.create_model(**REQUEST)",
            1,
            [(3, "CreateModel makes the same once more")],
        ),
        (
            "session.create_model(**request())",
            0,
            [
                (
                    2,
                    "a part is not converted: request() is known when the script runs",
                ),
                (2, "CreateModel is not converted: ModelName is not to be seen here"),
            ],
        ),
        (
            (
                "estimator = HuggingFace(entry_point='train.py')\n"
                "estimator.deploy(1, 'ml.g5.xlarge')"
            ),
            0,
            [
                (
                    3,
                    (
                        "estimator.deploy() is not converted: which model "
                        "HuggingFace() has only AWS knows"
                    ),
                )
            ],
        ),
        (
            "client.update_endpoint(EndpointName='a', EndpointConfigName='b')",
            0,
            [
                (
                    2,
                    (
                        "update_endpoint() is not converted: what it changes later is "
                        "not followed"
                    ),
                )
            ],
        ),
        (
            "Model(image_uri='image', role='a').deploy(1, 'local_gpu')",
            0,
            [(2, "local_gpu deploys nothing to AWS")],
        ),
        (
            "MultiDataModel(name='a').deploy(1, 'ml.g5.xlarge')",
            0,
            [
                (
                    2,
                    (
                        "MultiDataModel is not converted: a multi-model endpoint "
                        "chooses its models when it is asked"
                    ),
                )
            ],
        ),
        (
            "HAS_GPU = False\nif HAS_GPU:\n    session.create_model(**REQUEST)",
            0,
            [(4, "create_model() is not converted: HAS_GPU is False")],
        ),
        ("while waiting():\n    session.create_model(**REQUEST)\n    break", 1, []),
        ("boto3.client('apigateway').create_model(ModelName='a')", 0, []),
        ("if __name__ == '__main__':\n    session.create_model(**REQUEST)", 1, []),
        ("session.delete_model(ModelName='a')", 0, []),
    ],
)
def test_what_is_told(
    lines: str, count: int, expected: list[tuple[int, str]], tmp_path: Path
) -> None:
    """
    Each line that is not converted as it stands says so, with the reason.
    """
    request = (
        'REQUEST = dict(ModelName="a", ExecutionRoleArn="arn:aws:iam::1:role/a", '
        'PrimaryContainer={"Image": "image"})'
    )

    found = read(tmp_path, f"{request}\n{lines}")

    assert remarks(found) == [(f"line {line}", what) for line, what in expected]
    assert len(list(found.of("CreateModel"))) == count


def test_magic_lines(tmp_path: Path) -> None:
    """
    Lines of IPython are no obstacle, wherever they stand, and nor are other languages.
    """
    found = environment(
        tmp_path,
        "%%time\n\nenv = {'A': '1'}",
        "!pip install a \\\n  b \\\n  c\nenv['B'] = '2'",
        "if True:\n    %pip install x\n    env['C'] = '3'",
        "files = !ls\nenv?\n?env",
        "%%html\n<b>nothing</b>",
        "%%bash\necho nothing && env",
    )
    assert found == {"A": "1", "B": "2", "C": "3"}


def test_a_script_that_a_cell_writes(tmp_path: Path) -> None:
    """
    It is another file, and is named as one to adopt.
    """
    found = read_cells(
        tmp_path,
        "%%writefile deploy.py\nmodel.deploy(1, 'ml.g5.xlarge')",
        "%%writefile model.py\nprint('deployed')",
    )
    assert remarks(found) == [
        ("cell 1, line 1", "deploy.py is written here, and deploys: adopt that file")
    ]


def test_a_cell_that_is_no_python(tmp_path: Path) -> None:
    """
    It is told, with its line, and the others are read.
    """
    found = read_cells(tmp_path, "env = {}", "a = 1\nprint 'x'", MODEL)

    ((where, what),) = remarks(found)
    assert where == "cell 2, line 2"
    assert what.startswith("this cell is no Python: ")
    assert len(list(found.of("CreateModel"))) == 1


def test_a_script_that_never_ends(tmp_path: Path) -> None:
    """
    Loops in loops and functions that call themselves come to an end.
    """
    found = read(
        tmp_path,
        """
        def again(n):
            return again(n + 1)
        again(0)
        for a in range(100):
            for b in range(100):
                for c in range(100):
                    a + b + c
        """,
    )
    assert remarks(found) == [("line 7", "what follows takes too long to be read")]
