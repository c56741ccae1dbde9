"""
Reading arguments that are declared as vLLM declares its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tools.catalog.arguments import reading
from tools.catalog.arguments.reading import Release, read
from tools.catalog.reading.values import CannotRead

FRONT = """
import json
from typing import Literal
from dataclasses import field

from vllm.config import config
from vllm.engine.arg_utils import AsyncEngineArgs, optional_type
from vllm.limits import HEADERS
import vllm.envs as envs


class LoRAParserAction:
    pass


@config
class Front:
    adapters: list[str] | None = None
    origins: list[str] = field(default_factory=lambda: ["*"])
    plugins: list[str] = field(default_factory=list)
    level: Literal["warn", "info"] = "info"
    headers: int = HEADERS
    stack: bool = envs.DEVELOPING

    @classmethod
    def customize(cls, words):
        words["origins"]["type"] = json.loads
        del words["origins"]["nargs"]
        words["plugins"]["action"] = "append"
        if "nargs" in words["plugins"]:
            del words["plugins"]["nargs"]
        words["adapters"]["type"] = optional_type(str)
        words["adapters"]["action"] = LoRAParserAction
        return words

    @classmethod
    def add_cli_args(cls, parser):
        from vllm.engine.arg_utils import get_kwargs

        words = cls.customize(get_kwargs(cls))
        group = parser.add_argument_group(title=cls.__name__)
        for key, value in words.items():
            group.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser


def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--headless", action="store_true")
    parser = Front.add_cli_args(parser)
    return AsyncEngineArgs.add_cli_args(parser)
"""
ENGINE = """
import argparse
import dataclasses
import json
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from vllm.config import CacheConfig, ModelConfig, TuningConfig
from vllm.platforms import current_platform
from vllm.plugins import load_plugins


def optional_type(return_type):
    def _optional_type(value):
        return None if value == "None" else return_type(value)

    return _optional_type


def human_readable_int(value):
    return int(value)


def get_kwargs(cls):
    found = {}
    for one in dataclasses.fields(cls):
        hints = set()
        for hint in [one.type]:
            hints.update(get_args(hint) if type(None) in get_args(hint) else [hint])
        default = one.default
        if default is dataclasses.MISSING:
            default = one.default_factory()
        elif isinstance(default, FieldInfo):
            default = default.default
        words = {"default": default, "help": ""}
        record = next((h for h in hints if dataclasses.is_dataclass(h)), None)
        if record is not None:

            def parse_dataclass(value, cls=record):
                return cls(**json.loads(value))

            words["type"] = parse_dataclass
        elif bool in hints:
            words["action"] = argparse.BooleanOptionalAction
        elif any(get_origin(h) is Literal for h in hints):
            literal = next(h for h in hints if get_origin(h) is Literal)
            name = "metavar" if str in hints else "choices"
            words.update({"type": str, name: sorted(get_args(literal))})
        elif any(get_origin(h) is list for h in hints):
            words.update({"type": get_args(hints.pop())[0], "nargs": "+"})
            hints = {None}
        elif int in hints:
            words["type"] = human_readable_int if one.name == "length" else int
        elif float in hints:
            words["type"] = float
        else:
            words["type"] = str
        if type(None) in hints and bool not in hints:
            words["type"] = optional_type(words["type"])
        found[one.name] = words
    return found


class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        model = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="Model")
        group.add_argument("--model", **model["model"])
        group.add_argument("--dtype", **model["dtype"])
        group.add_argument("--length", "-l", **{**model["length"], "default": None})
        group.add_argument("--format", **model["format"])
        group.add_argument("--method", "-q", **model["method"])
        cache = get_kwargs(CacheConfig)
        cache["kind"]["type"] = lambda s: s.lower().replace("-", "_")
        group.add_argument("--share", "--device-share", dest="share", **cache["share"])
        group.add_argument("--kind", **cache["kind"])
        group.add_argument("--old-way", **cache["old_way"])
        group.add_argument("--backend", **cache["backend"])
        group.add_argument("--tuning", "-t", **cache["tuning"])
        group.add_argument(
            "--device",
            choices=["auto"] + [current_platform.device_type],
            default="auto",
        )
        return parser


class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        load_plugins()
        parser = EngineArgs.add_cli_args(parser)
        action = argparse.BooleanOptionalAction
        parser.add_argument("--log", action=action, default=False)
        current_platform.update(parser)
        return parser
"""
CONFIG = """
from vllm.config.utils import config
from vllm.config.all import CacheConfig, ModelConfig, TuningConfig
"""
ALL = '''
import enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from dataclasses import field, InitVar
from pydantic import Field

from vllm.config.utils import config

if TYPE_CHECKING:
    from vllm.methods import Methods
else:
    Methods = Any

Small = Literal["half", "float"]
Kind = Literal["c", Literal["b"], "a"]


class Backend(enum.Enum):
    FIRST = "first"
    SECOND = "second"


@config
class TuningConfig:
    steps: int = 1
    """How many."""
    kinds: list[Small] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    mode: Small | str = "half"
    known: ClassVar[int] = 1
    begun: InitVar[int] = 0
    built: bool = field(default=False, init=False)


@config
class ModelConfig:
    model: str = "a/b"
    dtype: Small = "half"
    length: int | None = Field(default=8, gt=0)
    format: Literal["auto", "other"] | str = "auto"
    method: Methods | None = None


@config
class CacheConfig:
    share: float = Field(default=0.9, gt=0, le=1)
    kind: Kind = "a"
    old_way: bool = False
    """This flag is deprecated and will be removed in 9.0."""
    backend: Backend | None = None
    tuning: TuningConfig = field(default_factory=TuningConfig)
'''
PACKAGE: Mapping[str, str] = {
    "vllm/entrypoints/openai/cli_args.py": FRONT,
    "vllm/engine/arg_utils.py": ENGINE,
    "vllm/config/__init__.py": CONFIG,
    "vllm/config/all.py": ALL,
    "vllm/config/utils.py": "def config(cls):\n    return made(cls, extra='forbid')\n",
    "vllm/limits.py": "HEADERS = 4 * 1024**2\n",
    "vllm/methods.py": "from typing import Literal\nMethods = Literal['y', 'x']\n",
    "vllm/envs.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    DEVELOPING: bool = False\n"
    ),
    "vllm/platforms.py": "current_platform: object\n",
    "vllm/plugins.py": "def load_plugins():\n    global loaded\n",
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
    return read("vllm", texts.get, frozenset())


def test_rows() -> None:
    """
    Every form that declares an argument, with all that the tables say of it.
    """
    found = release()

    front = {"src": "frontend"}
    engine = {"src": "engine"}
    assert found.wanting == {}
    assert found.rows == {
        "headless": {"default": False, "field": "headless", "type": "bool", **front},
        "adapters": {
            "action": "LoRAParserAction",
            "default": None,
            "field": "adapters",
            "nargs": "+",
            "null": True,
            "type": "str",
            **front,
        },
        "origins": {"default": ["*"], "field": "origins", "type": "json", **front},
        "plugins": {
            "action": "append",
            "default": [],
            "field": "plugins",
            "type": "str",
            **front,
        },
        "level": {
            "choices": ["info", "warn"],
            "default": "info",
            "field": "level",
            "type": "str",
            **front,
        },
        "headers": {"default": 4194304, "field": "headers", "type": "int", **front},
        "stack": {
            "default": False,
            "field": "stack",
            "no": True,
            "type": "bool",
            **front,
        },
        "model": {"default": "a/b", "field": "model", "type": "str", **engine},
        "dtype": {
            "choices": ["float", "half"],
            "default": "half",
            "field": "dtype",
            "type": "str",
            **engine,
        },
        "length": {
            "alias": ["-l"],
            "bounds": {"gt": 0},
            "default": None,
            "field": "length",
            "null": True,
            "type": "human_int",
            **engine,
        },
        "format": {
            "default": "auto",
            "field": "format",
            "known": ["auto", "other"],
            "type": "str",
            **engine,
        },
        "method": {
            "alias": ["-q"],
            "default": None,
            "field": "method",
            "known": ["x", "y"],
            "null": True,
            "type": "str",
            **engine,
        },
        "share": {
            "alias": ["--device-share"],
            "bounds": {"gt": 0, "le": 1},
            "default": 0.9,
            "field": "share",
            "type": "float",
            **engine,
        },
        "kind": {
            "choices": ["a", "b", "c"],
            "default": "a",
            "field": "kind",
            "fold": "lower, - to _",
            "type": "str",
            **engine,
        },
        "old-way": {
            "default": False,
            "deprecated": "This flag is deprecated and will be removed in 9.0.",
            "field": "old_way",
            "no": True,
            "type": "bool",
            **engine,
        },
        "backend": {
            "default": None,
            "field": "backend",
            "known": ["FIRST", "SECOND"],
            "null": True,
            "type": "str",
            **engine,
        },
        "tuning": {
            "alias": ["-t"],
            "default": "TuningConfig()",
            "field": "tuning",
            "schema": "TuningConfig",
            "type": "json",
            **engine,
        },
        "device": {
            "choices": ["auto", "cuda"],
            "default": "auto",
            "field": "device",
            "type": "str",
            **engine,
        },
        "log": {
            "default": False,
            "field": "log",
            "no": True,
            "type": "bool",
            "src": "async",
        },
    }


def test_schemas() -> None:
    """
    The keys that can be given, with the kinds of their values.
    """
    assert release().schemas == {
        "TuningConfig": {
            "keys": {
                "steps": ["int"],
                "kinds": ["list of str", ["float", "half"]],
                "extra": ["object"],
                "mode": ["str"],
            },
            "rejects": True,
        }
    }
    lenient = release(utils=("forbid", "ignore"))
    assert not lenient.schemas["TuningConfig"]["rejects"]


@pytest.mark.parametrize(
    ("name", "changes", "why"),
    [
        (
            "model",
            {"all": ('model: str = "a/b"', "model: str = found_out()")},
            "found_out is not bound in vllm.config.all",
        ),
        (
            "kind",
            {"arg_utils": ('replace("-", "_")', 'replace("_", "-")')},
            "known.json has no parser s.lower().replace('_', '-')",
        ),
        (
            "adapters",
            {"cli_args": ("LoRAParserAction", "OtherAction")},
            "known.json has no action OtherAction",
        ),
        (
            "headers",
            {"limits": ("HEADERS =", "if on_linux():\n    HEADERS =")},
            "vllm.limits.HEADERS depends on a condition",
        ),
        (
            "method",
            {"all": ("vllm.methods", "vllm.elsewhere")},
            "vllm.elsewhere is not in the package",
        ),
        (
            "device",
            {"arg_utils": ("current_platform.device_type", "current_platform.name")},
            "vllm.platforms.current_platform.name",
        ),
    ],
)
def test_what_cannot_be_read_wants_a_hand(
    name: str, changes: dict[str, tuple[str, str]], why: str
) -> None:
    """
    It is named with the reason, nothing is guessed, and nothing else is lost.
    """
    found = release(**changes)

    assert list(found.wanting) == [name]
    assert why in found.wanting[name]
    assert set(found.rows) == set(release().rows) - {name}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"cli_args": ("def make_arg_parser", "def make_parser")},
            "has no make_arg_parser",
        ),
        (
            {"arg_utils": ("model = get_kwargs(ModelConfig)", "model = given()")},
            "given is not bound",
        ),
        (
            {
                "arg_utils": (
                    "if record is not None:",
                    "if current_platform.is_new():",
                )
            },
            "current_platform",
        ),
        (
            {"arg_utils": ('add_argument("--model"', "add_argument(unheard")},
            "unheard is not bound",
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


def test_a_parser_that_is_made_elsewhere_is_refused() -> None:
    """
    Where is for a person to find.
    """
    with pytest.raises(CannotRead, match="makes its server's parser elsewhere"):
        read("vllm", {"vllm/__init__.py": ""}.get, frozenset())


def test_a_row_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It stands where the text does not say, and only there.
    """
    row = {"default": None, "field": "model", "src": "engine", "type": "str"}
    content = {**reading.declared(), "rows": {"vllm": {"model": row, "dtype": row}}}
    monkeypatch.setattr(reading, "declared", lambda: content)
    found = release(all=('model: str = "a/b"', "model: str = found_out()"))

    assert found.wanting == {}
    assert found.rows["model"] == row
    assert found.rows["dtype"]["default"] == "half"
