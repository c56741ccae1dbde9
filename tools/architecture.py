"""
Write ``docs/architecture.md`` from the imports: ``python -m tools.architecture``.

The rooms, their order and their first lines are the code's own; an import that runs
up, or a circle, is an error here, in the tools as well.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "cdk_sagemaker_llm"
SOURCE = ROOT / "constructs" / PACKAGE
TARGET = ROOT / "docs" / "architecture.md"
# Ground floor first: an import may only lead to a room that stands before its own.
FLOORS = (
    "_lazily",
    "tokens",
    "text",
    "arguments",
    "findings",
    "catalog",
    "permissions",
    "architectures",
    "models",
    "demand",
    "serving",
    "fit",
    "simulation",
    "choosing",
    "pages",
    "client",
    "load",
    "account",
    "adoption",
    "codes",
    "staging",
    "hosting",
    "local",
    "cli",
    "validation",
    "testing",
)
# Likewise inside the rooms that have rooms of their own, and files that compose them.
INNER_FLOORS = {
    "serving": (
        "parameters",
        "adapters",
        "drafts",
        "images",
        "base",
        "checks",
        "support",
        "engines",
        "lmi",
        "tgi",
        "support_check",
        "families",
        "custom",
    ),
    "hosting": (
        "common",
        "roles",
        "monitoring",
        "models",
        "variants",
        "updates",
        "scaling",
        "weights",
        "mirroring",
        "endpoints",
        "vpc",
        "components",
        "patterns",
    ),
    "local": (
        "aws",
        "engines",
        "hosting",
        "runtime",
        "builds",
        "scaling",
        "cloudformation",
        "embedded",
        "regions",
        "server",
        "__main__",
    ),
    "cli": ("app", "starter", "output", "commands"),
}
# From here on rooms may load the CDK, boto3 or moto.
FIRST_HEAVY = "staging"
_HEAD = """\
# Architecture

An arrow is an import, and may only lead down; what is reached through another room is
not drawn.
What is pure Python loads in a tenth of a second, without the CDK and without Node.
A definition flows once through the house.
A pattern has the serving configuration prepare the container for this model and these
accelerators, makes the plan, tries the placement, and reports all findings together;
then it hands a frozen definition to constructs that only write resources.
This page is generated from the code by `make docs`, and a test holds it.

"""


def modules(source: Path = SOURCE) -> Iterator[tuple[str, Path]]:
    """
    List a package's modules by dotted name, without the package's own.
    """
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            yield name, path


@functools.cache
def imports(path: Path, source: Path = SOURCE) -> frozenset[str]:
    """
    Return a package's modules that a file imports, for types alone too.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = _known(source)
    found = set()
    for node in froms:
        module = (node.module or "").removeprefix(source.name).removeprefix(".")
        for alias in node.names:
            inner = f"{module}.{alias.name}" if module else alias.name
            found.add(inner if inner in known else module)
    return frozenset(found & known)


def arrows(inside: str = "") -> dict[str, set[str]]:
    """
    Return which rooms each room imports.

    Args:
        inside: The room whose own rooms are meant. If omitted, it is the whole house.
    """
    floors = INNER_FLOORS[inside] if inside else FLOORS
    found: dict[str, set[str]] = {room: set() for room in floors}
    for name, path in modules():
        room = _room(name, inside)
        if room:
            others = {_room(other, inside) for other in imports(path)}
            found[room] |= others - {room, ""}
    return found


def _room(name: str, inside: str) -> str:
    if not inside:
        return name.split(".", maxsplit=1)[0]
    room, _, rest = name.partition(".")
    return rest.split(".")[0] if room == inside else ""


def upward() -> list[str]:
    """
    Name the imports that lead up, in the house and inside its rooms.
    """
    return [
        f"{room} imports {other}, which stands above it"
        for inside, floors in {"": FLOORS, **INNER_FLOORS}.items()
        for room, others in arrows(inside).items()
        for other in sorted(others)
        if floors.index(other) > floors.index(room)
    ]


def circles(source: Path = SOURCE) -> list[str]:
    """
    Name the modules from which imports lead back to themselves.
    """
    graph = {name: imports(path, source) - {name} for name, path in modules(source)}
    return [name for name in graph if name in _reachable(graph, name)]


def page() -> str:
    """
    Return the page's text.
    """
    picture = "\n".join(["```mermaid", *_picture(), "```", ""])
    inner = "".join(
        f"\n## Inside `{room}`\n\nThe ground floor comes first here too.\n\n"
        f"{_table(room, floors)}"
        for room, floors in INNER_FLOORS.items()
    )
    return f"{_HEAD}{picture}\n{_table('', FLOORS)}{inner}"


def _table(inside: str, floors: Iterable[str]) -> str:
    paths = {room: f"{inside}/{room}" if inside else room for room in floors}
    rows = "\n".join(f"| `{room}` | {_says(path)} |" for room, path in paths.items())
    return f"| room | what belongs there |\n| --- | --- |\n{rows}\n"


def first_lines(room: str) -> str:
    """
    Return what a room says of itself: its docstring.
    """
    path = SOURCE / f"{room}.py"
    path = path if path.exists() else SOURCE / room / "__init__.py"
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _says(room: str) -> str:
    return " ".join(first_lines(room).replace("``", "`").split())


def _picture() -> Iterator[str]:
    yield "flowchart TD"
    heavy = FLOORS.index(FIRST_HEAVY)
    for title, rooms in (("CDK", FLOORS[heavy:]), ("pure Python", FLOORS[:heavy])):
        yield f'  subgraph "{title}"'
        yield from (f"    {room}" for room in reversed(rooms))
        yield "  end"
    for room, others in reversed(arrows().items()):
        for other in sorted(_direct(others), key=FLOORS.index, reverse=True):
            yield f"  {room} --> {other}"


def _direct(others: set[str]) -> set[str]:
    """
    Leave out what is reached through another room: the picture stays readable.
    """
    graph = arrows()
    through = {far for other in others for far in _reachable(graph, other)}
    return others - through


def _reachable(graph: Mapping[str, Collection[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(graph.get(name, ()))
    return found


@functools.cache
def _known(source: Path) -> frozenset[str]:
    return frozenset(name for name, _ in modules(source))


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
