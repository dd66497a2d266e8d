"""Turns a platform's settings of a post into fields of a form, by the schemas in the API's description. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from werkzeug.datastructures import MultiDict

#: Prefix of the form's fields: `set.youtube_settings.privacy`.
_PREFIX = "set"
_YES, _NO = "yes", "no"

Form = MultiDict[str, str]


@dataclass(frozen=True)
class Setting:
    """One setting of a platform as a field of a form.

    `kind`: text, number, list (one entry per line), choice, flag (yes or no) or maybe (yes, no or nothing).
    """

    field: str
    name: str
    kind: str
    about: str
    choices: tuple[str, ...] = ()
    default: Any = None
    max_length: int | None = None

    @property
    def input_name(self) -> str:
        return f"{_PREFIX}.{self.field}.{self.name}"

    @property
    def input_id(self) -> str:
        return input_id(f"{self.field}.{self.name}")

    def read(self, form: Form) -> Any:
        """Returns the value of this setting in a form. If nothing was chosen, returns the setting's default.

        If a number is expected and the text is not a number, returns the text, so that the API says what is wrong with
        it.
        """
        sent = form.getlist(self.input_name)
        text = sent[-1].replace("\r\n", "\n").strip() if sent else ""
        if not sent or (text == "" and self.kind != "list"):
            return self.default
        if self.kind in ("flag", "maybe"):
            return text == _YES
        if self.kind == "number":
            return int(text) if text.lstrip("-").isdecimal() else text
        if self.kind == "list":
            return [line.strip() for line in text.split("\n") if line.strip()]
        return text


def input_id(field: str | None) -> str:
    """Returns the HTML id of a setting's input. `field`: the setting as the API names it, or a part of it, such as
    `youtube_settings.tags[0]`.
    """
    name, _, setting = (field or "").partition("[")[0].partition(".")
    return f"{_PREFIX}-{name}-{setting.partition('.')[0]}"


def settings_of(description: Mapping[str, Any], field: str, schema_name: str) -> tuple[Setting, ...]:
    """Returns a platform's settings in the order of the API's description.

    Settings that are objects are left out, because only programs send them.
    """
    schema = description["components"]["schemas"].get(schema_name, {})
    found = (_setting(field, name, about) for name, about in schema.get("properties", {}).items())
    return tuple(it for it in found if it is not None)


def _setting(field: str, name: str, schema: Mapping[str, Any]) -> Setting | None:
    options = schema.get("anyOf", [schema])
    one: Mapping[str, Any] = next((it for it in options if it.get("type") != "null"), {})
    is_nullable = len(options) > 1
    default = schema.get("default")
    about = str(schema.get("description", "")).replace("null:", "not set:")
    if "enum" in one:
        choices = tuple(str(it) for it in one["enum"] if it is not None)
        return Setting(field, name, "choice", about, choices, default)
    kinds = {
        "boolean": "maybe" if is_nullable else "flag",
        "string": "text",
        "integer": "number",
        "number": "number",
    }
    kind = kinds.get(one.get("type", ""))
    if one.get("type") == "array" and one.get("items", {}).get("type") == "string":
        kind = "list"
    if kind is None:
        return None
    return Setting(field, name, kind, about, (), default, one.get("maxLength"))


def chosen(settings: Iterable[Setting], form: Form) -> dict[str, Any]:
    """Returns setting → its value in the form, with the API's names of the settings. Leaves out values that are empty
    or equal to the default.
    """
    values = {it.name: it.read(form) for it in settings if it.input_name in form}
    defaults = {it.name: it.default for it in settings}
    return {
        name: value for name, value in values.items() if value != defaults[name] and value not in (None, [])
    }


def raw(form: Form) -> Form:
    """Returns those fields of a form that are settings of platforms, as they were typed."""
    kept: Form = MultiDict()
    for name in form:
        if name.startswith(f"{_PREFIX}."):
            kept[name] = form.getlist(name)[-1]
    return kept


def raw_of(field: str, record: Any) -> Form:
    """Returns the settings `record` of an existing post as fields of the form. `field`: their field in the post, such
    as `x_settings`.
    """
    kept: Form = MultiDict()
    for one in fields(record) if record is not None else ():
        value = getattr(record, one.name)
        if isinstance(value, bool):
            kept[f"{_PREFIX}.{field}.{one.name}"] = _YES if value else _NO
        elif isinstance(value, list):
            kept[f"{_PREFIX}.{field}.{one.name}"] = "\n".join(map(str, value))
        elif isinstance(value, str | int):
            kept[f"{_PREFIX}.{field}.{one.name}"] = str(value)
    return kept
