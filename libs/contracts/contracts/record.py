"""The base of every record that crosses a process boundary.

Old and new releases exchange records. A reader ignores unknown fields, so every field added later must have a default.
"""

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record. A reader ignores unknown fields.

    msgspec applies `kw_only` only to a class's own fields, so a subclass with required fields after optional ones
    repeats it.
    """


class Nothing(Record):
    """An empty request or result."""
