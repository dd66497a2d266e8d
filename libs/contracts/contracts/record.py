"""The base of every record that crosses a process boundary.

Old and new releases exchange records. A reader ignores unknown fields, so every field added later must have a default.
"""

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record: the base class of all records between processes. A reader ignores unknown fields.

    msgspec applies `kw_only` only to a class's own fields, so a subclass that has required fields after optional ones
    sets `kw_only` again.
    """


class Nothing(Record):
    """An empty request or result."""
