"""
What stands for packages that are not installed, and for compiled parts of an engine.

An engine's modules import PyTorch and dozens of packages more before they declare an
argument. None of that says how a command line is read, so anything may stand for it.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, Union

# What images are like, for code that asks as it is imported.
_ANSWERS: Mapping[str, object] = {
    "dill.dumps()": b"",
    "torch.iinfo().max": (1 << 63) - 1,
    "torch.iinfo().min": -(1 << 63),
    "triton.runtime.driver.active.get_current_target().backend": "cuda",
}
_VERSION = "99.0"
# What an engine asks at once where it finds it: other accelerators than those that
# images are for, and kernels.
_NOT_THERE = {
    "habana_frameworks",
    "intel_extension_for_pytorch",
    "libtpu",
    "neuronxcc",
    "torch.hpu",
    "torch.mlu",
    "torch.musa",
    "torch.npu",
    "torch_musa",
    "torch_npu",
    "torchada",
    "transformers_neuronx",
    "nixl_ep",
    "triton_kernels",
}
# Python and its libraries ask for other names of two underscores to find out what
# something is.
_DUNDERS = {"__class_validators__"}


class Base:
    """
    What a class inherits from whose bases are absent.
    """

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __init_subclass__(cls, **_: object) -> None:
        pass

    def __class_getitem__(cls, _: object) -> type[Base]:
        return cls


class Absent:
    """
    Something of a module that is not installed: whatever is done with it comes to more
    of the same.
    """

    def __init__(self, path: str) -> None:
        self.__module__, _, self.__name__ = path.rpartition(".")
        self.__qualname__ = self.__name__
        self.path = path

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything
        if _is_dunder(name):
            raise AttributeError(name)
        found = _answer(f"{self.path}.{name}")
        setattr(self, name, found)
        return found

    def __call__(self, *args: object, **words: object) -> object:
        """
        Return more of the same, and as a decorator what is decorated.
        """
        answer = _answer(f"{self.path}()")
        is_decorating = len(args) == 1 and isinstance(args[0], type | FunctionType)
        if isinstance(answer, Absent) and is_decorating and not words:
            return args[0]
        return answer

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        first = next(one for one in bases if isinstance(one, Absent))
        has_base = any(isinstance(one, type) and issubclass(one, Base) for one in bases)
        return (Base,) if self is first and not has_base else ()

    def __get_pydantic_core_schema__(self, *_: object) -> object:
        return {"type": "any"}

    def __instancecheck__(self, _: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__
    __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __instancecheck__

    def __or__(self, other: object) -> object:
        return Union[self, other]  # noqa: UP007 - what stands on neither side is a type

    def __ror__(self, other: object) -> object:
        return Union[other, self]  # noqa: UP007 - as above

    def _itself(self, *_: object) -> Absent:
        return self

    __getitem__ = __enter__ = __neg__ = _itself
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = _itself
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = _itself
    __pow__ = __rpow__ = __and__ = __rand__ = __lshift__ = __rshift__ = _itself
    __deepcopy__ = __copy__ = _itself

    def __exit__(self, *_: object) -> None:
        pass

    def __setitem__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Absent) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return self.path


class AbsentModule(ModuleType):
    """
    A module that is not installed.
    """

    def __getattr__(self, name: str) -> object:
        if name == "__version__":
            return _VERSION
        if _is_dunder(name):
            raise AttributeError(name)
        found = _answer(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


class Finder(MetaPathFinder, Loader):
    """
    Finds what nobody else does: packages that are not installed, and their modules. Of
    the one that is asked only what is compiled may be missing.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """
        Return a module's description, or ``None`` if it has to be there.
        """
        parent, last = fullname.rpartition(".")[::2]
        top = fullname.partition(".")[0]
        is_compiled = top == self._package and last.startswith("_")
        is_absent = not parent or isinstance(sys.modules.get(parent), AbsentModule)
        if top in sys.stdlib_module_names | _NOT_THERE or not (
            is_compiled or is_absent
        ):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """
        Make the module.
        """
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """
        Leave it as it is.
        """
        module.__path__ = []


def install(package: str, *left_out: str) -> None:
    """
    Let everything be absent that is not installed.

    Args:
        package: The one that is asked, which is there.

        left_out: Modules of it that are absent all the same.
    """
    sys.meta_path.append(Finder(package))
    for name in left_out:
        sys.modules[name] = AbsentModule(name)
        vars(sys.modules[name])["__path__"] = []
    real = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return real(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            return _VERSION

    importlib.metadata.version = version


def _answer(path: str) -> object:
    if path in _NOT_THERE:
        raise AttributeError(path)
    return _ANSWERS[path] if path in _ANSWERS else Absent(path)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _DUNDERS
