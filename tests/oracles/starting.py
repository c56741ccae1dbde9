"""
Starting a release of an engine as far as its configuration, on a GPU that is not there.

``python -m tests.oracles.starting vllm FOLDER MODEL...`` reads a JSON list of arguments
a line, and answers each with how far it came and what was said. It is tried with each
model, on a large and on a small GPU in turn, and in a process of its own, until it
starts. The engine's own parser and classes run, from a folder of its modules; PyTorch
and transformers are there, and whatever else they import need not be.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import importlib.metadata
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from tools.catalog import absent

GIB = 1 << 30
# More than any configuration asks for: how many there are is no rule of the engine.
GPUS = 1 << 40
# What an image finds on ml.p5 and on ml.g5.
KINDS = (((9, 0), 80), ((8, 6), 24))
STARTS, PARSER, START = "starts", "parser", "start"
MODEL = "{model}"
_gpu = {"kind": KINDS[0]}
_PARSERS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)
# Libraries that look at each other as they are imported.
_FIRST = (
    "torch._dynamo",
    "torch._inductor.codecache",
    "torch.distributed",
    "transformers.modeling_utils",
    "transformers.models.auto.image_processing_auto",
)
_SERVERS = ("vllm.entrypoints.launchers.launcher", "vllm.entrypoints.openai.api_server")
# What such a model is, where its module would say so.
_KNOWN_OF_MODEL = {
    "architecture": "LlamaForCausalLM",
    "is_text_generation_model": True,
    "supports_pp": True,
    "attn_type": "decoder",
    "default_pooling_type": "LAST",
    "default_seq_pooling_type": "LAST",
    "default_tok_pooling_type": "ALL",
    "score_type": "bi-encoder",
    "supported_video_pruning_methods": (),
}
Outcome = tuple[str, str]


class Finder(absent.Finder):
    """
    Finds what an engine imports and is not installed; libraries that are there find out
    by themselves what is not.
    """

    def find_spec(self, fullname: str, *rest: object) -> ModuleSpec | None:
        """
        Return a module's description, or ``None`` if it has to be there.
        """
        above = sys.modules.get(fullname.rpartition(".")[0])
        is_asked = _caller() in {self._package, "tests"}
        if is_asked or isinstance(above, absent.AbsentModule):
            return super().find_spec(fullname, *rest)
        return None


def _caller() -> str:
    frame = sys._getframe(2)  # noqa: SLF001 - the documented way
    while "importlib" in frame.f_code.co_filename and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _imported(*names: str) -> ModuleType:
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
    raise ModuleNotFoundError(f"this release has none of {', '.join(names)}")


def prepare(engine: str) -> None:
    """
    Let everything be absent that is not installed, and a GPU be there.
    """
    torch: Any = importlib.import_module("torch")
    for name in _FIRST:
        importlib.import_module(name)
    transformers: Any = importlib.import_module("transformers")
    mapping = transformers.models.auto.configuration_auto._LazyConfigMapping  # noqa: SLF001 - not public
    register = mapping.register
    # Older releases bring configurations that transformers has by now.
    mapping.register = lambda self, key, value, **_: register(
        self, key, value, exist_ok=True
    )
    real = importlib.metadata.version
    vars(absent)["Finder"] = Finder
    absent.install(engine, "sglang.kernels", "sglang.jit_kernel")
    made = importlib.metadata.version

    def version(distribution_name: str) -> str:
        asked = made if _caller() == engine else real
        return asked(distribution_name)

    importlib.metadata.version = version
    torch.version.cuda = "13.0"
    torch.library.Library.impl = _forgiving(torch.library.Library.impl)
    torch.library.register_fake = lambda *_, **__: _same
    torch.ops._C = absent.Absent("torch.ops._C")  # noqa: SLF001 - kernels have it
    for name, value in _cuda().items():
        setattr(torch.cuda, name, value)
    (_prepare_vllm if engine == "vllm" else _prepare_sglang)()


def _nothing(*_: object, **__: object) -> None:
    pass


def _forgiving(impl: Callable[..., object]) -> Callable[..., object]:
    def tried(*args: object, **words: object) -> object:
        # What it stands for is compiled, and not there.
        with contextlib.suppress(RuntimeError):
            return impl(*args, **words)
        return None

    return tried


def _same(of: object) -> object:
    return of


def _cuda() -> dict[str, Callable[..., object]]:
    def properties(*_: object) -> SimpleNamespace:
        (major, minor), memory = _gpu["kind"]
        return SimpleNamespace(
            total_memory=memory * GIB,
            major=major,
            minor=minor,
            multi_processor_count=132,
            name="NVIDIA",
        )

    return {
        "device_count": lambda: GPUS,
        "is_available": lambda: True,
        "get_device_capability": lambda *_: _gpu["kind"][0],
        "get_device_name": lambda *_, **__: "NVIDIA",
        "get_device_properties": properties,
        "mem_get_info": lambda *_: (_gpu["kind"][1] * GIB, _gpu["kind"][1] * GIB),
    }


def _prepare_vllm() -> None:
    platforms = importlib.import_module("vllm.platforms")
    interface = importlib.import_module("vllm.platforms.interface")
    cuda = importlib.import_module("vllm.platforms.cuda")

    def capable() -> Any:  # noqa: ANN401 - the engine's own
        return interface.DeviceCapability(*_gpu["kind"][0])

    def is_capable(asked: Any, *_: object, **__: object) -> bool:  # noqa: ANN401 - two forms
        pair = asked if isinstance(asked, tuple) else divmod(asked, 10)
        return bool(capable() >= interface.DeviceCapability(*pair))

    said: dict[str, Callable[..., object]] = {
        "get_device_capability": lambda *_, **__: capable(),
        "has_device_capability": is_capable,
        "get_device_name": lambda *_, **__: "NVIDIA",
        "get_device_uuid": lambda *_, **__: "GPU-0",
        "get_device_total_memory": lambda *_, **__: _gpu["kind"][1] * GIB,
        "get_cuda_runtime_major": lambda: 13,
        "num_compute_units": lambda *_, **__: 132,
        "device_count": lambda: GPUS,
        "is_fully_connected": lambda *_, **__: True,
        "is_integrated_gpu": lambda *_, **__: False,
        "is_pin_memory_available": lambda: True,
        "is_cumem_allocator_available": lambda *_, **__: True,
        "is_sleep_mode_available": lambda *_, **__: True,
        "import_kernels": _nothing,
        "log_warnings": _nothing,
    }
    own = {name: staticmethod(value) for name, value in said.items()}
    gpu = type("Gpu", (cuda.NonNvmlCudaPlatform,), own)()
    vars(platforms).update(current_platform=gpu, _current_platform=gpu)
    importlib.import_module("vllm.engine.arg_utils")
    registry: Any = importlib.import_module("vllm.model_executor.models.registry")
    info = registry._ModelInfo  # noqa: SLF001 - what is asked for
    names = [one.name for one in dataclasses.fields(info)]
    model = info(**{one: _KNOWN_OF_MODEL.get(one, False) for one in names})
    registry._LazyRegisteredModel.inspect_model_cls = lambda _: model  # noqa: SLF001 - as above


def _prepare_sglang() -> None:
    importlib.import_module("sglang.srt.server_args")
    importlib.import_module("sglang.srt.utils")
    for module in list(sys.modules.values()):
        if "get_device_memory_capacity" in vars(module):
            vars(module)["get_device_memory_capacity"] = lambda *_: (
                _gpu["kind"][1] << 10
            )


def start(engine: str, arguments: Sequence[str]) -> Outcome:
    """
    Start an engine as far as its configuration.
    """
    reached = [PARSER]
    try:
        (_start_vllm if engine == "vllm" else _start_sglang)(list(arguments), reached)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it ends with
        return reached[0], f"{type(error).__name__}: {error}"
    return STARTS, ""


def _start_vllm(arguments: list[str], reached: list[str]) -> None:
    engine = importlib.import_module("vllm.engine.arg_utils")
    entry = _imported(*_PARSERS)
    parsing = _imported("vllm.utils.argparse_utils", "vllm.utils")
    parsed = entry.make_arg_parser(parsing.FlexibleArgumentParser()).parse_args(
        arguments
    )
    entry.validate_parsed_serve_args(parsed)
    reached[0] = START
    context = importlib.import_module("vllm.usage.usage_lib").UsageContext
    config = engine.AsyncEngineArgs.from_cli_args(parsed).create_engine_config(
        usage_context=context.OPENAI_API_SERVER
    )
    _imported(*_SERVERS).validate_api_server_args(parsed)
    importlib.import_module("vllm.v1.executor.abstract").Executor.get_class(config)


def _start_sglang(arguments: list[str], reached: list[str]) -> None:
    module = importlib.import_module("sglang.srt.server_args")
    real = module.ServerArgs.from_cli_args

    def made(*parsed: object) -> object:
        reached[0] = START
        return real(*parsed)

    module.ServerArgs.from_cli_args = made
    found = module.prepare_server_args(arguments)
    if hasattr(found, "resolve_once"):
        found.resolve_once()
    found.check_server_args()


def _apart(engine: str, arguments: Sequence[str]) -> Outcome:
    """
    Start an engine in a process of its own: a start leaves things behind.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        gc.disable()
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            how, words = start(engine, arguments)
        os.write(writer, json.dumps([how, (words or said.getvalue())[:2000]]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    how, words = json.loads(answer)
    return how, words


def answer(engine: str, arguments: Sequence[str], models: Sequence[str]) -> Outcome:
    """
    Return how far an engine comes with the model and the GPU that it likes best.
    """
    first: Outcome | None = None
    for model, kind in zip(models, KINDS, strict=True):
        _gpu["kind"] = kind
        words = [model if one == MODEL else one for one in arguments]
        outcome = _apart(engine, words)
        first = first or outcome
        if outcome[0] != START:
            return outcome if outcome[0] == STARTS else first
    return first or (START, "")


def main() -> None:
    """
    Answer each line.
    """
    engine, folder, *models = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.argv = [engine]
    logging.disable()
    prepare(engine)
    flag = "--model" if engine == "vllm" else "--model-path"
    with contextlib.redirect_stderr(io.StringIO()):
        # What is imported late is imported once.
        outcome = start(engine, [flag, models[0]])
    if outcome[0] != STARTS:
        raise SystemExit(f"{engine} does not start with a model alone: {outcome[1]}")
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(answer(engine, json.loads(line), models))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
