"""Decides whether an operation holds a unit of a monthly counter, and which of its tries holds it. Pure.

An operation holds a unit if and only if its last charged try has not been refunded. So charges and refunds of one
operation may arrive late, twice and in any order.
"""

import msgspec

from contracts.record import Record


class UnitCharge(Record):
    """The unit of a monthly counter that one operation uses. The row is added by the first charge, or by a refund that
    arrives before it.
    """

    operation_id: str
    account_id: str
    #: The month and bucket of the unit; empty before one was taken.
    year_month: str = ""
    bucket: str = ""
    #: The highest charged try; 0 before the first charge.
    try_number: int = 0
    #: Tries up to this one are over: they hold no unit, and a late charge by one of them takes none.
    returned_to_try: int = 0

    @property
    def is_held(self) -> bool:
        return self.try_number > self.returned_to_try

    def takes_unit(self, try_number: int) -> bool:
        """Whether a charge by this try takes a unit: the try has not been refunded, and no other try holds a unit."""
        return not self.is_held and try_number > self.returned_to_try

    def charged(self, try_number: int, bucket: str, year_month: str) -> "UnitCharge":
        """Returns the state after a charge by this try.

        A unit that an earlier try holds keeps its bucket and month, and this try takes it over. If this try has been
        refunded already, nothing changes.
        """
        if self.takes_unit(try_number):
            return msgspec.structs.replace(self, try_number=try_number, bucket=bucket, year_month=year_month)
        if self.is_held and try_number > self.try_number:
            return msgspec.structs.replace(self, try_number=try_number)
        return self

    def returned(self, to_try: int) -> "UnitCharge":
        """Returns the state after a refund: the tries up to `to_try` have had no effect, and hold no unit any more."""
        if to_try <= self.returned_to_try:
            return self
        return msgspec.structs.replace(self, returned_to_try=to_try)
