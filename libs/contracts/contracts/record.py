"""The base of every record that crosses a process boundary.

Old and new releases talk to each other: unknown fields are ignored when a record is read,
so every field added later must have a default.
"""

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record; unknown fields are ignored on reading.

    msgspec applies `kw_only` to a class's own fields alone: a subclass with required fields behind
    optional ones says it again.
    """


class Nothing(Record):
    """The request or result of a call that needs to say nothing."""
