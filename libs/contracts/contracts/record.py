"""The base of every record that crosses a process boundary.

Old and new releases exchange records, so every field added later must have a default.
"""

from typing import Any, Final, Self, dataclass_transform

import msgspec

#: Stands for an attribute that an object does not have.
_ABSENT: Final = object()


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record: the base class of all records between processes. A reader ignores unknown fields.

    msgspec applies `kw_only` only to a class's own fields, so a subclass that has required fields after optional ones
    sets `kw_only` again.
    """

    @classmethod
    def made_from(cls, source: object, **known: Any) -> Self:
        """Returns a record whose fields are copied from the attributes of `source` with the same names. Fields in
        `known` take precedence. A field that is in neither gets its default."""
        for name in cls.__struct_fields__:
            if name not in known and (value := getattr(source, name, _ABSENT)) is not _ABSENT:
                known[name] = value
        return cls(**known)


class Nothing(Record):
    """An empty request or result."""
