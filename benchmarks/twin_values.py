"""
What a template's values are in the CDK's Python, as text of a program.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PSEUDO = {
    "AWS::AccountId": "Aws.ACCOUNT_ID",
    "AWS::NoValue": "Aws.NO_VALUE",
    "AWS::Partition": "Aws.PARTITION",
    "AWS::Region": "Aws.REGION",
    "AWS::StackId": "Aws.STACK_ID",
    "AWS::StackName": "Aws.STACK_NAME",
    "AWS::URLSuffix": "Aws.URL_SUFFIX",
}
_STRUCT = re.compile(r"'(\w+\.\w+Property)'")
_TAG = re.compile(r"CfnTag")
_FILE = re.compile(r"\b([0-9a-f]{64})\.\w+")
_ASSETS = "cdk-hnb659fds-assets-"

Json = Any  # What json.loads returns.


class Values:
    """
    Writes the values of one stack; what is asked of the CDK is asked once.

    Args:
        resources: The variable and the class of each logical id of the stack.

        files: The variable of each file asset of the stack, by its hash.
    """

    def __init__(
        self, resources: Mapping[str, tuple[str, Any]], files: Mapping[str, str]
    ) -> None:
        self.lines: list[str] = []
        self._resources = resources
        self._files = files
        self._known: dict[str, str] = {}

    def write(self, value: Json) -> str:
        """
        Write a value of any kind.
        """
        if isinstance(value, dict):
            found = self._intrinsic(value)
            if found is not None:
                return found
            items = (f"{key!r}: {self.write(each)}" for key, each in value.items())
            return f"{{{', '.join(items)}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self.write, value))}]"
        if isinstance(value, str):
            return self._text([value])
        return repr(value)

    def keywords(self, owner: Any, given: Mapping[str, Json]) -> Iterator[str]:  # noqa: ANN401 - a class of the CDK's
        """
        Write properties as the keywords of a class.
        """
        names = inspect.signature(owner.__init__).parameters
        plain = {name.replace("_", "").lower(): name for name in names}
        for key, value in given.items():
            name = plain[key.lower()]
            kind = repr(names[name].annotation)
            yield f"{name}={self._typed(owner, kind, value)}"

    def _typed(self, owner: Any, kind: str, value: Json) -> str:  # noqa: ANN401 - a class of the CDK's
        struct, is_tag = _STRUCT.search(kind), _TAG.search(kind)
        if not struct and not is_tag:
            return self.write(value)
        if isinstance(value, list):
            return f"[{', '.join(self._typed(owner, kind, one) for one in value)}]"
        if not isinstance(value, dict) or self._is_intrinsic(value):
            return self.write(value)
        if is_tag:
            key, text = (self.write(value[each]) for each in ("Key", "Value"))
            return f"CfnTag(key={key}, value={text})"
        outer, _, inner = str(struct and struct[1]).partition(".")
        # A struct names its neighbours by the resource that owns them all.
        resource = next(
            each for _, each in self._resources.values() if each.__name__ == outer
        )
        found = getattr(resource, inner)
        words = ", ".join(self.keywords(found, value))
        return f"{resource.__module__.rpartition('.')[2]}.{outer}.{inner}({words})"

    def once(self, expression: str) -> str:
        """
        Ask the CDK for something once; return the variable that has it.
        """
        if expression not in self._known:
            name = self._known[expression] = f"value_{len(self._known)}"
            self.lines.append(f"{name} = {expression}")
        return self._known[expression]

    @staticmethod
    def _is_intrinsic(value: Mapping[str, Json]) -> bool:
        (name, *others) = value or {"": None}
        return not others and (name == "Ref" or name.startswith("Fn::"))

    def _intrinsic(self, value: Mapping[str, Json]) -> str | None:
        if not self._is_intrinsic(value):
            return None
        ((name, given),) = value.items()
        if name == "Ref":
            return self.once(_PSEUDO.get(given) or self._reference(given))
        if name == "Fn::GetAtt":
            return self.once(self._attribute(*given))
        if name == "Fn::Join" and not given[0]:
            return self._text(given[1])
        if name == "Fn::Sub" and str(given).startswith(_ASSETS) and self._files:
            return self.once(f"{next(iter(self._files.values()))}.s3_bucket_name")
        arguments = given if isinstance(given, list) else [given]
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removeprefix("Fn::")).lower()
        return self.once(f"Fn.{words}({', '.join(map(self.write, arguments))})")

    def _reference(self, logical_id: str) -> str:
        variable, owner = self._resources[logical_id]
        # What is of no class is a parameter, which has no reference in Python.
        return f"{variable}.ref" if owner is not None else f"{variable}.value_as_string"

    def _attribute(self, logical_id: str, attribute: str) -> str:
        variable, owner = self._resources[logical_id]
        plain = f"attr{attribute.replace('.', '').lower()}"
        for name in dir(owner):
            if name.replace("_", "").lower() == plain:
                return f"{variable}.{name}"
        return f"{variable}.get_att({attribute!r}).to_string()"

    def _text(self, parts: list[Json]) -> str:
        """
        Write text with tokens in it, as anyone would: as an f-string.
        """
        written = []
        for part in parts:
            if not isinstance(part, str):
                written.append(f"{{{self.write(part)}}}")
                continue
            done = 0
            for match in _FILE.finditer(part):
                variable = self._files.get(match[1])
                if variable:
                    written.append(_plain(part[done : match.start()]))
                    written.append(f"{{{self.once(f'{variable}.s3_object_key')}}}")
                    done = match.end()
            written.append(_plain(part[done:]))
        text = "".join(written)
        if re.fullmatch(r"\{\w+\}", text):
            return text[1:-1]
        # repr escapes what has to be; the braces of tokens are not touched by it.
        return f"f{text!r}" if "{" in text else repr(text)


def _plain(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
