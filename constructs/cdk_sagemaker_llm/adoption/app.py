"""
The files of an app that makes a deployment: its stack, its entry point, and the mapping
by which ``cdk import`` finds what exists.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from cdk_sagemaker_llm.adoption import hosting, scaling
from cdk_sagemaker_llm.adoption.code import (
    Name,
    call,
    comment,
    imports,
    statement,
    written,
)
from cdk_sagemaker_llm.adoption.deployment import Deployment
from cdk_sagemaker_llm.adoption.resources import (
    ALARM,
    COMPONENT,
    ENDPOINT,
    POLICY,
    AdoptedResource,
    resources_of,
)
from cdk_sagemaker_llm.adoption.writing import (
    WORDS,
    Block,
    Writer,
    pascal,
    plain_form,
)

STACK = "AdoptedStack"
MODULE = "adopted_stack"
_TARGET = re.compile(r"( {8})([a-z_][a-z0-9_]*) = ")
_KNOWN_BY_NAME = {ENDPOINT, COMPONENT, ALARM}
_DEPTH = 2
_WIDTH = 88
_UNSAID = "What its construct would say, and what was read does not:"
_BEYOND = "What its construct has no argument for:"


@dataclass(frozen=True, slots=True)
class Setting:
    """
    A property that is set past the arguments of a construct.

    Args:
        expression: The L1 class that has it, such as ``model.cfn_model``.

        path: Where it is in the properties.

        value: What it is; ``None`` to take it away.
    """

    expression: str
    path: str
    value: object


@dataclass(slots=True)
class AdoptedApp:
    """
    An app that makes a deployment.

    Args:
        deployment: What it makes.

        settings: What is set past the constructs' arguments, by the block's id.

        late: The same, of what other blocks would change again.

        remarks: What the constructs have to say of a block, by its id.
    """

    deployment: Deployment
    settings: dict[str, list[Setting]] = field(default_factory=dict)
    late: list[Setting] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    writer: Writer = field(init=False)

    def __post_init__(self) -> None:
        self.start(())

    def start(self, choices: Mapping[str, int] | Sequence[tuple[str, int]]) -> None:
        """
        Begin to write, by the forms that were chosen.
        """
        self.writer = Writer(self.deployment, dict(choices))
        for request in self.deployment.requests:
            self.writer.value(request.parameters)
        self.writer.secrets.clear()
        self.writer.blocks.extend(_blocks(self.writer, resources_of(self.deployment)))

    @property
    def stack_name(self) -> str:
        """
        The stack's name, which has that of its first endpoint.
        """
        return f"Adopted{pascal(next(iter(self._endpoints), ''))}"

    @property
    def exists(self) -> bool:
        """
        Whether what the app makes exists already.
        """
        return any(one.arn for one in self.deployment.requests)

    def lines_of(self, block: Block) -> list[str]:
        """
        Return the lines of one block; ``given_lines`` go before them.
        """
        form = self.writer.form(block)
        lines = [
            line
            for one in block.resources
            if one.request.where
            for line in comment(f"{one.request.where}:")
        ]
        remarks: Sequence[str] = self.remarks.get(block.id, ())
        if self.writer.is_plain(block) and not remarks:
            remarks = (_NO_CONSTRUCT,)
        for remark in remarks:
            lines += comment(remark)
        lines.append(statement(block.variable, form.value))
        lines += [statement(variable, each) for variable, each in form.more]
        return lines + setting_lines(self.settings.get(block.id, ()))

    def given_lines(self, variables: set[str]) -> list[str]:
        """
        Return the lines that define what blocks refer to, and no earlier line defines.

        Args:
            variables: The variables that there are, to which these are added.
        """
        fresh = [
            (variable, made)
            for variable, made in self.writer.givens.values()
            if variable not in variables
        ]
        variables.update(variable for variable, _ in fresh)
        return [statement(variable, made) for variable, made in fresh]

    def files(self) -> dict[str, bytes]:
        """
        Return the app's files by their paths, without the mapping, which needs the
        template.
        """
        self.start(self.writer.choices)
        stack = self._stack()
        texts = {
            "app.py": self._entry(),
            f"{MODULE}.py": stack,
            "cdk.json": _CDK_JSON,
            "requirements.txt": "".join(
                f"{name}=={version(name)}\n"
                for name in ("aws-cdk-lib", "cdk-sagemaker-llm")
            ),
        }
        assets = {
            hosting.asset_path(block, path): content
            for block in self.writer.blocks
            for one in block.resources
            for path, content in one.request.files.items()
        }
        return {path: text.encode() for path, text in texts.items()} | assets

    def mapping(self, logical_ids: Mapping[str, AdoptedResource]) -> str:
        """
        Return the file that ``cdk import --resource-mapping`` takes.

        Args:
            logical_ids: The resources, by their ids in the template.
        """
        found = {name: dict(one.identifier) for name, one in logical_ids.items()}
        return json.dumps(found, indent=2) + "\n"

    def _stack(self) -> str:
        variables: set[str] = set()
        body = []
        for block in self.writer.blocks:
            lines = self.lines_of(block)
            body += ["", *self.given_lines(variables), *lines]
        if self.late:
            body += ["", *setting_lines(self.late)]
        if self.exists:
            body += ["", *_RETAINED]
        intro = textwrap.wrap(f"What makes {self._subject()}.", width=_WIDTH - 4)
        heading = [
            f"class {STACK}(Stack):",
            '    """',
            *(f"    {line}" for line in intro),
            '    """',
            "",
            *_signature([*self.writer.arguments]),
            "        super().__init__(scope, id, **settings)",
        ]
        here = ["_HERE = Path(__file__).parent", "", ""]
        has_files = any("_HERE" in line for line in body)
        code = [*(here if has_files else []), *heading, *_without_unused(body), ""]
        text = "\n".join(code)
        head = ['"""', "Written by sagemaker-llm adopt.", '"""', ""]
        return "\n".join([*head, *imports(text), "", "", text])

    @property
    def _endpoints(self) -> list[str]:
        return [
            str(one.parameters["EndpointName"])
            for one in self.deployment.of("CreateEndpoint")
            if isinstance(one.parameters["EndpointName"], str)
        ]

    def _subject(self) -> str:
        names = self._endpoints
        what = "endpoints" if len(names) > 1 else "endpoint"
        return f"{what} {', '.join(names)}" if names else "what was read"

    def _entry(self) -> str:
        place = None
        if self.deployment.region:
            # The images are this region's.
            place = call(
                "Environment",
                account=self.deployment.account or None,
                region=self.deployment.region,
            )
        arguments = {
            name: call("app.node.get_context", name) for name in self.writer.arguments
        }
        made = call(
            STACK,
            Name("app"),
            self.stack_name,
            env=place,
            **arguments,
            # An import takes resources alone: no rule, and no metadata.
            synthesizer=call(
                "DefaultStackSynthesizer", generate_bootstrap_version_rule=False
            )
            if self.exists
            else None,
            analytics_reporting=False if self.exists else None,
        )
        why = [
            line
            for name, reason in self.writer.arguments.items()
            for line in comment(f"{name}: {reason}; give it with -c {name}=...", 0)
        ]
        code = "\n".join(
            [
                "app = App()",
                *why,
                *(comment(_ALONE, 0) if self.exists else []),
                written(made, 0),
                "app.synth()",
                "",
            ]
        )
        own = f"from {MODULE} import {STACK}"
        return "\n".join([*imports(code), "", own, "", code])


def _blocks(writer: Writer, resources: Sequence[AdoptedResource]) -> Iterator[Block]:
    counts: dict[str, int] = {}
    for one in resources:
        counts[one.type] = counts.get(one.type, 0) + 1
    numbers: dict[str, int] = {}
    for group in scaling.together(resources):
        kind = group[0].type
        numbers[kind] = numbers.get(kind, 0) + 1
        word = WORDS[kind]
        if kind == POLICY or (kind in _KNOWN_BY_NAME and counts[kind] > 1):
            word = group[0].name
        elif counts[kind] > 1:
            word = f"{word}{numbers[kind]}"
        variable = writer.variable(word)
        forms = [*hosting.FORMS.get(kind, ()), *scaling.FORMS.get(kind, ())]
        yield Block(pascal(variable), variable, group, [*forms, plain_form])


def _signature(arguments: Sequence[str]) -> list[str]:
    parts = ["self", "scope: Construct", "id: str", *(["*"] if arguments else [])]
    parts += [*(f"{name}: str" for name in arguments), "**settings: Any"]
    flat = f"    def __init__({', '.join(parts)}) -> None:"
    if len(flat) <= _WIDTH:
        return [flat]
    lines = [f"        {part}," for part in parts]
    return ["    def __init__(", *lines, "    ) -> None:"]


def _without_unused(lines: Sequence[str]) -> list[str]:
    """
    Return lines without the variables that no other line uses.
    """
    text = "\n".join(lines)
    counts = Counter(re.findall(r"\b[a-z_][a-z0-9_]*\b", text))
    return [
        _TARGET.sub(r"\1", line)
        if (found := _TARGET.match(line)) and counts[found[2]] == 1
        else line
        for line in lines
    ]


def setting_lines(settings: Sequence[Setting]) -> list[str]:
    """
    Return the lines that set what is past the constructs' arguments.
    """
    gone: dict[str, list[str]] = {}
    kept: dict[str, list[Setting]] = {}
    for one in settings:
        if one.value is None:
            gone.setdefault(one.expression, []).append(one.path)
        else:
            kept.setdefault(one.expression, []).append(one)
    lines = []
    for expression, paths in gone.items():
        lines += comment(_UNSAID)
        method = f"{expression}.add_property_deletion_override"
        if len(paths) == 1:
            lines.append(statement("", call(method, paths[0])))
            continue
        loop = written(paths, _DEPTH, len("for path in :"))
        lines.append(f"        for path in {loop}:")
        lines.append(statement("", call(method, Name("path")), _DEPTH + 1))
    for expression, several in kept.items():
        lines += comment(_BEYOND)
        lines += [
            statement(
                "", call(f"{expression}.add_property_override", each.path, each.value)
            )
            for each in several
        ]
    return lines


_NO_CONSTRUCT = "No construct of this library says all of it:"
_ALONE = (
    "cdk import takes resources alone. Once it is done, the synthesizer and "
    "analytics_reporting may go, for the CDK's own."
)
_RETAINED = [
    "        # An import asks for it. Once it is done, take it away for all that is to",
    "        # go with the stack, and for what an update leaves behind.",
    "        for one in self.node.find_all():",
    "            if isinstance(one, CfnResource):",
    "                one.apply_removal_policy(RemovalPolicy.RETAIN)",
]
_CDK_JSON = json.dumps({"app": "python3 app.py"}, indent=2) + "\n"
