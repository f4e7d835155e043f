"""Reads YAML that people write and checks it against a schema, with messages for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from parity.core.errors import UserError

# Every schema lies in the package whose document it is about.
SCHEMAS = {
    path.name.removesuffix(".schema.yaml"): path
    for path in Path(__file__).parents[1].glob("*/*.schema.yaml")
}


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice; YAML itself keeps the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is not text", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(path: Path | str) -> Any:
    """The content of a YAML file.

    Raises:
        UserError: the file is missing, unreadable, not UTF-8 or not YAML; with line and column.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("[!.]*.yaml"))
        raise UserError(
            "there is no such file",
            where=str(path),
            allowed=", ".join(near),
            action="correct the path, or make the file",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the file cannot be read: {error}", where=str(path)) from None
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UserError(f"this is not YAML: {problem}", where=place) from None


def _whole_pattern(
    _validator: Any, pattern: str, value: Any, _rules: Any
) -> Iterator[jsonschema.ValidationError]:
    """A pattern is about all of a text; `$` alone would let a trailing newline pass."""
    if isinstance(value, str) and not re.fullmatch(pattern, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern}")


# The stubs have no types for `extend`.
_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"pattern": _whole_pattern}
)


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON schema of that name: `<name>.schema.yaml` in one of the packages."""
    text = SCHEMAS[name].read_text(encoding="utf-8")
    # Every job reads the schemas. libyaml takes a fifth of the time, but its messages about
    # what people wrote are poorer, so theirs are read by Python.
    rules: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return rules


def check(document: Any, rules: dict[str, Any], where: str) -> None:
    """Check a document against a JSON schema.

    Raises:
        UserError: the first violation, with the key's path and what is allowed there.
    """
    errors = _Validator(rules).iter_errors(document)
    error = jsonschema.exceptions.best_match(errors)
    if error is not None:
        key = ".".join(str(part) for part in error.absolute_path)
        what, allowed = _explain(error)
        raise UserError(what, where=f"{where}: {key}" if key else where, allowed=allowed)


def load_checked(path: Path | str, name: str) -> dict[str, Any]:
    """A YAML file checked against the schema of that name."""
    document: dict[str, Any] = load_yaml(path)
    check(document, schema(name), str(path))
    return document


def _explain(error: jsonschema.ValidationError) -> tuple[str, str]:
    """What is wrong and what is allowed, in words, for the violations people make."""
    value: Any = error.instance
    rule: Any = error.validator_value
    rules = error.schema if isinstance(error.schema, dict) else {}
    meaning = rules.get("description", "")
    if error.validator == "additionalProperties":
        known = rules.get("properties", {})
        patterns = rules.get("patternProperties", {})
        unknown = sorted(str(key) for key in value if key not in known)
        allowed = sorted(known) + [f"names like {pattern}" for pattern in patterns]
        return f"unknown key: {', '.join(unknown)}", ", ".join(allowed)
    if error.validator == "required":
        missing = sorted(set(rule) - set(value))
        return f"missing key: {', '.join(missing)}", f"the keys {', '.join(rule)} are needed"
    if error.validator == "enum":
        return f"{value!r} is not known here", ", ".join(map(str, rule))
    if error.validator == "type":
        return f"{value!r} is not of the right type", f"{rule}. {meaning}".strip()
    if error.validator == "pattern":
        return f"{value!r} is not a safe name", f"text that matches {rule}"
    return error.message, meaning
