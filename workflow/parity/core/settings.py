"""Reads YAML that people write and checks it against a schema, with messages for people."""

import math
import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from jsonschema import ValidationError

from parity.core.errors import CONTROL, UserError, shown
from parity.core.files import read_input

# Every schema lies in the package whose document it is about.
SCHEMAS = {
    path.name.removesuffix(".schema.yaml"): path
    for path in Path(__file__).parents[1].glob("*/*.schema.yaml")
}
# libyaml takes a fifth of the time of Python's own parser, where PyYAML has it.
_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PARSER = _Parser("")
# The register of claims has 5,000 values, nested 8 deep; aliases count as what they stand for.
MOST_VALUES, MOST_NESTED = 20_000, 64
_LONGEST_NUMBER = 64
MOST_COMPARED = 500  # of so many violations the one that says most is shown
_LARGEST_INTEGER = 2**63 - 1
_TAG = "tag:yaml.org,2002:"
NO_NUMBER = "not a finite number, or beyond 64 bits"


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, an integer within 64 bits; a truth value is one, too."""
    if isinstance(value, int):
        return abs(value) <= _LARGEST_INTEGER
    return isinstance(value, float) and math.isfinite(value)


def _refused(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _value(node: yaml.Node, known: dict[int, tuple[Any, int] | None]) -> tuple[Any, int]:
    """The value of a YAML node and how many are in it; `known` by node, None while it is read.

    Refuses what YAML or Python would take: a key given twice; numbers that are not finite or
    beyond 64 bits; control characters; a tag that does not fit; aliases for more than memory holds.
    """
    if id(node) in known:
        if (value := known[id(node)]) is None:
            raise _refused("it contains itself", node)
        return value
    known[id(node)] = None
    if isinstance(node, yaml.ScalarNode):
        known[id(node)] = (_scalar(node), 1)
        return _value(node, known)
    tag, count = node.tag.removeprefix(_TAG), 1
    if tag != ("map" if isinstance(node, yaml.MappingNode) else "seq"):
        raise _refused(f"a collection is no {tag}", node)
    keys, values = dict[str, None](), list[Any]()
    for inner in node.value:
        key_node, value_node = inner if tag == "map" else (None, inner)
        if key_node is not None:
            key, size = _value(key_node, known)
            if not isinstance(key, str):
                raise _refused(f"the key {shown(key)} is not text", key_node)
            if key in keys:
                raise _refused(f"the key {shown(key)} is given twice", key_node)
            keys[key], count = None, count + size
        value, size = _value(value_node, known)
        values.append(value)
        count += size
        if count > MOST_VALUES:
            raise _refused(f"it has more than {MOST_VALUES} values, aliases replaced", value_node)
    known[id(node)] = (dict(zip(keys, values, strict=True)) if tag == "map" else values), count
    return _value(node, known)


def _scalar(node: yaml.ScalarNode) -> Any:
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if CONTROL.search(text):
        raise _refused(f"a control character in {shown(text)}", node)
    if kind == "str":
        return text
    if _PARSER.resolve(yaml.ScalarNode, text, (True, False)) != node.tag:
        raise _refused(f"{shown(text)} is no {kind}", node)
    if len(text) > _LONGEST_NUMBER:
        raise _refused(f"{shown(text)} is too long for a number", node)
    made = _Parser.yaml_constructors.get(node.tag, _Parser.yaml_constructors[None])
    value = made(_PARSER, node)
    if isinstance(value, int | float) and not is_number(value):
        raise _refused(f"{shown(value)} is {NO_NUMBER}", node)
    return value


def _refuse_deep(text: str) -> None:
    """Refuse what is no YAML, in the words of Python's parser, or so deep that libyaml crashes."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Parser):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth >= MOST_NESTED:
                raise _refused("it is nested too deep", event)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError, yaml.reader.ReaderError):
        deque(yaml.parse(text, Loader=yaml.SafeLoader), maxlen=0)
        raise


def load_yaml(path: Path | str) -> Any:
    """The content of a YAML file; raises UserError, with line and column, where it has none."""
    text = read_input(path := Path(path))
    try:
        _refuse_deep(text)
        root = yaml.compose(text, Loader=_Parser)
        return None if root is None else _value(root, {})[0]
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UserError(f"this is not YAML: {problem}", where=place) from None


def _whole_pattern(_: Any, pattern: str, value: Any, _rules: Any) -> Iterator[ValidationError]:
    """A pattern is about all of a text; `$` alone would let a trailing newline pass."""
    if isinstance(value, str) and not re.fullmatch(pattern, value):
        yield ValidationError(f"{shown(value)} does not match {pattern}")


def _unique_items(_: Any, unique: bool, value: Any, _rules: Any) -> Iterator[ValidationError]:
    """In one pass; the library compares each with each, 6,000 entries for half a minute."""
    if unique and isinstance(value, list) and len({_frozen(x) for x in value}) < len(value):
        yield ValidationError(f"{shown(value)} has non-unique elements")


def _frozen(value: Any) -> Any:
    """A value that can be looked up; 1 and 1.0 are the same there, and 1 and true are not."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return tuple(_frozen(inner) for inner in value)
    return isinstance(value, bool), value


_DRAFT = jsonschema.Draft202012Validator
# An integer is written as one: 3.0 would go on as a float into what counts with it.
_TYPES = _DRAFT.TYPE_CHECKER.redefine_many({
    "integer": lambda _, value: type(value) is int and is_number(value),
    "number": lambda _, value: is_number(value) and not isinstance(value, bool),
})  # fmt: skip
_RULES = {"pattern": _whole_pattern, "uniqueItems": _unique_items}
# The stubs have no types for `extend`.
_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    _DRAFT, _RULES, type_checker=_TYPES
)


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name: `<name>.schema.yaml` in one of the packages."""
    text = SCHEMAS[name].read_text(encoding="utf-8")
    rules: dict[str, Any] = yaml.load(text, Loader=_Parser)
    return rules


def check(document: Any, rules: dict[str, Any], where: str) -> None:
    """Check a document against a JSON schema; the UserError is about what violates it most."""
    errors = islice(_Validator(rules).iter_errors(document), MOST_COMPARED)
    if (error := jsonschema.exceptions.best_match(errors)) is not None:
        key = ".".join(map(str, error.absolute_path))
        what, allowed = _explain(error)
        raise UserError(what, where=f"{where}: {key}" if key else where, allowed=allowed)


def load_checked(path: Path | str, name: str) -> dict[str, Any]:
    """A YAML file checked against the schema of that name."""
    document: dict[str, Any] = load_yaml(path)
    check(document, schema(name), str(path))
    return document


def _explain(error: ValidationError) -> tuple[str, str]:
    value: Any = error.instance
    rule: Any = error.validator_value
    rules = error.schema if isinstance(error.schema, dict) else {}
    meaning = rules.get("description", "")
    match error.validator:
        case "additionalProperties":
            known = rules.get("properties", {})
            unknown = sorted(shown(key, str) for key in value if key not in known)
            names = [f"names like {pattern}" for pattern in rules.get("patternProperties", {})]
            return f"unknown key: {', '.join(unknown)}", ", ".join(sorted(known) + names)
        case "required":
            missing = ", ".join(sorted(set(rule) - set(value)))
            return f"missing key: {missing}", f"the keys {', '.join(rule)} are needed"
        case "oneOf" if all(set(each) == {"required"} for each in rule):
            keys = [key for each in rule for key in each["required"]]
            given = " and ".join(key for key in keys if key in value)
            return f"{given} together" if given else "a key is missing", f"one of {', '.join(keys)}"
        case "enum":
            return f"{shown(value)} is not known here", ", ".join(map(str, rule))
        case "type":
            return f"{shown(value)} is not of the right type", f"{rule}. {meaning}".strip()
        case "pattern":
            return f"{shown(value)} is not a safe name", f"text that matches {rule}"
    rest = error.message.removeprefix(repr(value))
    return (f"{shown(value)}{rest}" if rest != error.message else rest), meaning


def toolchains_of(path: Path | str) -> dict[str, Any]:
    """Toolchains of a system's file and of the file that it names; UserError if that has none."""
    document = load_checked(path, "system")
    own: dict[str, Any] = document.get("toolchains", {})
    if not (named := document.get("toolchains_of")):
        return own
    others = load_checked(Path(path).with_name(named), "system").get("toolchains")
    if not others:
        action, where = "name the file whose own `toolchains` are meant", f"{path}: toolchains_of"
        raise UserError(f"{named} has no toolchains", where=where, action=action)
    return {**others, **own}
