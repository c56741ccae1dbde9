"""
Reading arguments that are declared as SGLang declares its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tools.catalog.arguments.reading import Release, read
from tools.catalog.reading.values import CannotRead

SERVER = """
from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Literal, Optional

from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
from sglang.srt.arg_groups.choices import BACKENDS, SAMPLERS
from sglang.srt.arg_groups.fields import collect_input_fields
from sglang.srt.arg_groups.fields.all import Model, Parallel
from sglang.srt.environ import envs
from sglang.srt.hashing import HashMode


class DeprecatedStoreTrueAction(argparse.Action):
    pass


class DeprecatedAliasStoreAction(argparse.Action):
    pass


def _parsers():
    module = sys.modules.get("sglang.srt.detectors")
    if module is not None:
        return list(module.Detector.Map)
    from sglang.srt.detectors import Detector

    return list(Detector.Map.keys())


class ServerArgs:
    own: A[int, "The own one."] = 1

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        samplers = set(SAMPLERS)
        if envs.WITH_ORACLE.get():
            samplers.add("oracle")
        parser.add_argument(
            "--sampler", type=str, choices=samplers, default=ServerArgs.own
        )
        parser.add_argument("--parser", choices=["auto"] + _parsers())
        parser.add_argument(
            "--hash", choices=[one.name.lower() for one in HashMode], default="all"
        )
        parser.add_argument(
            "--old",
            action=DeprecatedStoreTrueAction,
            new_flag="--new",
            help="Deprecated. Use --new instead.",
        )
        parser.add_argument(
            "--older",
            action=DeprecatedAliasStoreAction,
            dest="backend",
            new_flag="--backend",
            default=argparse.SUPPRESS,
            type=int,
        )


_SOURCES = [Model, Parallel]
_annotations = collect_input_fields(_SOURCES)
ServerArgs = dataclasses.make_dataclass("ServerArgs", _annotations)
"""
RULES = """
from __future__ import annotations

import dataclasses
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

A = Annotated


class Arg:
    help: str = ""
    choices: list | None = None
    aliases: list | None = None
    cli_name: str | None = None
    type_parser: object = None
    action: object = None
    no_cli: bool = False


def add_cli_args_from_dataclass(parser, cls):
    hints = get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated:
            continue
        inner, meta = get_args(hint)
        meta = Arg(help=meta) if isinstance(meta, str) else meta
        if meta.no_cli:
            continue
        names = [meta.cli_name or "--" + field.name.replace("_", "-")]
        names += meta.aliases or []
        words = dict(help=meta.help, dest=field.name)
        if field.default is dataclasses.MISSING:
            words["required"] = True
        else:
            words["default"] = field.default
        if get_origin(inner) is Union:
            inner = [one for one in get_args(inner) if one is not type(None)][0]
        if meta.action is not None:
            words["action"] = meta.action
        elif inner is bool:
            words["action"] = "store_true"
        elif get_origin(inner) is Literal:
            words.update(type=str, choices=meta.choices or list(get_args(inner)))
        elif get_origin(inner) is list:
            words.update(type=get_args(inner)[0], nargs="+")
        else:
            plain = inner if inner in (int, float) else str
            words["type"] = meta.type_parser or plain
            words["choices"] = meta.choices
        parser.add_argument(*names, **words)
"""
FIELDS = """
from __future__ import annotations

import argparse
import json
from typing import List, Literal, Optional

from sglang.srt.arg_groups.arg_utils import A, Arg
from sglang.srt.arg_groups.choices import BACKENDS
from sglang.srt.utils import json_list_type, parse_cuda_graph_config_arg


class Model:
    path: A[str, Arg(help="Where.", aliases=["--model"])]
    backend: A[str, Arg(help="Which.", choices=BACKENDS)] = "b"
    mode: A[Optional[Literal["slow", "fast"]], "How."] = None
    trust: A[bool, "Whether."] = False
    hooks: A[Optional[List[str]], Arg(help="", type_parser=json_list_type)] = None
    extra: A[Optional[str], Arg(help="", type_parser=json.loads)] = None
    graph: A[str, Arg(help="", type_parser=parse_cuda_graph_config_arg)] = "{}"


class Parallel:
    tp_size: A[int, Arg(help="", aliases=["--tensor-parallel-size"])] = 1
    buckets: A[Optional[List[float]], "Some."] = None
    join_mode: A[str, Arg(help="", cli_name="--elastic-join")] = ""
    both: A[bool, Arg(help="", action=argparse.BooleanOptionalAction)] = True
    hidden: A[bool, Arg(help="", no_cli=True)] = False
    plain: int = 0
"""
PACKAGE: Mapping[str, str] = {
    "sglang/srt/server_args.py": SERVER,
    "sglang/srt/arg_groups/arg_utils.py": RULES,
    "sglang/srt/arg_groups/fields/__init__.py": "def collect_input_fields(of): ...\n",
    "sglang/srt/arg_groups/fields/all.py": FIELDS,
    "sglang/srt/arg_groups/choices.py": (
        'BACKENDS = ["b", "a"]\nBACKENDS += ["c"]\nSAMPLERS = {"y", "x"}\n'
    ),
    "sglang/srt/environ.py": (
        "class EnvBool:\n    def get(self):\n        return read(self)\n\n\n"
        "class Envs:\n    WITH_ORACLE = EnvBool(False)\n\n\nenvs = Envs()\n"
    ),
    "sglang/srt/hashing.py": (
        "import enum\n\n\nclass HashMode(enum.IntEnum):\n    OFF = 0\n    ALL = 1\n"
    ),
    "sglang/srt/detectors.py": (
        "from sglang.srt.detecting import Q, R\n\n\n"
        "class Detector:\n"
        '    NAME = "r"\n'
        '    Map = {"q": Q, NAME: R}\n'
    ),
    "sglang/srt/utils.py": (
        "def json_list_type(value): ...\n\n\n"
        "def parse_cuda_graph_config_arg(value): ...\n"
    ),
}


def release(**changes: tuple[str, str]) -> Release:
    """
    Read the package, with some words of its files replaced.
    """
    names = {path.rpartition("/")[2].removesuffix(".py"): path for path in PACKAGE}
    texts = dict(PACKAGE)
    for name, (before, after) in changes.items():
        assert before in texts[names[name]]
        texts[names[name]] = texts[names[name]].replace(before, after)
    return read("sglang", texts.get, frozenset())


def test_rows() -> None:
    """
    Those made of fields, and those written out, with all that the tables say of them.
    """
    found = release()

    auto = {"src": "auto"}
    written = {"src": "server_args"}
    assert found.wanting == {}
    assert found.schemas == {}
    assert found.rows == {
        "path": {
            "alias": ["--model"],
            "default": None,
            "field": "path",
            "required": True,
            "type": "str",
            **auto,
        },
        "backend": {
            "choices": ["a", "b", "c"],
            "default": "b",
            "field": "backend",
            "type": "str",
            **auto,
        },
        "mode": {
            "choices": ["fast", "slow"],
            "default": None,
            "field": "mode",
            "type": "str",
            **auto,
        },
        "trust": {"default": False, "field": "trust", "type": "bool", **auto},
        "hooks": {
            "default": None,
            "field": "hooks",
            "nargs": "+",
            "type": "str",
            **auto,
        },
        "extra": {"default": None, "field": "extra", "type": "json", **auto},
        "graph": {
            "default": "{}",
            "field": "graph",
            "parse": "parse_cuda_graph_config_arg",
            "type": "str",
            **auto,
        },
        "tp-size": {
            "alias": ["--tensor-parallel-size"],
            "default": 1,
            "field": "tp_size",
            "type": "int",
            **auto,
        },
        "buckets": {
            "default": None,
            "field": "buckets",
            "nargs": "+",
            "type": "float",
            **auto,
        },
        "elastic-join": {
            "default": "",
            "field": "join_mode",
            "type": "str",
            **auto,
        },
        "both": {"default": True, "field": "both", "no": True, "type": "bool", **auto},
        "own": {"default": 1, "field": "own", "type": "int", **auto},
        "sampler": {
            "choices": ["x", "y"],
            "default": 1,
            "field": "sampler",
            "type": "str",
            **written,
        },
        "parser": {
            "choices": ["auto", "q", "r"],
            "default": None,
            "field": "parser",
            "type": "str",
            **written,
        },
        "hash": {
            "choices": ["all", "off"],
            "default": "all",
            "field": "hash",
            "type": "str",
            **written,
        },
        "old": {
            "action": "DeprecatedStoreTrueAction",
            "default": False,
            "deprecated": "Deprecated. Use --new instead.",
            "field": "old",
            "type": "bool",
            "use": "--new",
            **written,
        },
        "older": {
            "action": "DeprecatedAliasStoreAction",
            "default": None,
            "deprecated": True,
            "field": "backend",
            "type": "int",
            "use": "--backend",
            **written,
        },
    }


def test_what_is_made_when_it_runs_wants_a_hand() -> None:
    """
    Choices that depend on the machine are not guessed.
    """
    found = release(choices=('BACKENDS += ["c"]', "BACKENDS += more()"))

    assert list(found.wanting) == ["backend"]
    assert "more is not bound in sglang.srt.arg_groups.choices" in str(found.wanting)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"server_args": ("envs.WITH_ORACLE.get()", "has_oracle()")},
            "has_oracle is not bound",
        ),
        (
            {"server_args": ("envs.WITH_ORACLE.get()", "sys.has_oracle()")},
            r"whether sys\.has_oracle holds is not in the text",
        ),
        (
            {"server_args": ("envs.WITH_ORACLE.get()", 'sys.platform == "linux"')},
            "depends on what is not in the text",
        ),
        (
            {"all": ("tp_size: A[int,", "tp_size: A[Size,")},
            "tp_size: Size is not bound",
        ),
        (
            {"server_args": ("class ServerArgs", "class ServerArguments")},
            "keeps its server's arguments elsewhere",
        ),
    ],
)
def test_a_release_that_adds_in_other_ways_is_refused(
    changes: dict[str, tuple[str, str]], why: str
) -> None:
    """
    Half of its arguments would be worse than none.
    """
    with pytest.raises(CannotRead, match=why):
        release(**changes)
