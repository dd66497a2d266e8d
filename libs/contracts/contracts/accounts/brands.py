"""Messages about brands, their collaborators and their audit log."""

from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from contracts.record import Record


class Brand(Record):
    id: str
    name: str
    description: str | None
    logo: str | None
    timezone: str
    created_at: datetime
    image_guidelines: str | None = None
    caption_guidelines: str | None = None
    #: An archived brand is not listed by default and gets no new pages.
    archived_at: datetime | None = None


class CreateBrand(Record):
    """A request to create a brand. The operator names the account in `user_id`; a person creates their own brands."""

    user_id: str
    name: str
    timezone: str = "UTC"
    description: str | None = None
    logo: str | None = None
    image_guidelines: str | None = None
    caption_guidelines: str | None = None


class EditBrand(Record):
    """A request to change a brand of the caller's account. Fields that are not set keep their value."""

    brand_id: str
    name: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    logo: str | UnsetType | None = UNSET
    image_guidelines: str | UnsetType | None = UNSET
    caption_guidelines: str | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET


class ListBrands(Record):
    """A request for the brands that the caller may access, newest first.

    The operator names the account in `user_id`.
    """

    user_id: str | None = None
    #: Lists archived brands too.
    archived: bool = False
    limit: int = 50
    cursor: str | None = None


class BrandList(Record):
    brands: tuple[Brand, ...]
    next_cursor: str | None = None


class GetBrand(Record):
    """A request for one brand.

    `field`: the name of the request's field or filter in which the client sent the id. A NOT_FOUND error names it. None
    if the id was in the path.
    """

    brand_id: str
    field: str | None = None


class BrandOwner(Record):
    """A brand and the account that owns it, for the operator."""

    brand: Brand
    account_id: str


class SetCollaborator(Record):
    """A request to give a user a role on a brand. The brand's owner can only change the role of a collaborator; the
    operator can also make a user a collaborator."""

    brand_id: str
    user_id: str
    #: `full` or `limited`
    role: str


class Collaborator(Record):
    brand_id: str
    user_id: str
    role: str
    created_at: datetime


class ListedCollaborator(Collaborator, kw_only=True):
    email: str
    firstname: str
    lastname: str


class ListCollaborators(Record):
    """A request for the people who work on a brand of the caller's account, newest first."""

    brand_id: str
    limit: int = 50
    cursor: str | None = None


class CollaboratorList(Record):
    collaborators: tuple[ListedCollaborator, ...]
    next_cursor: str | None = None


class RemoveCollaborator(Record):
    """A request to remove a collaborator from a brand.

    The queued posts that they made for the brand are held, and their subscriptions for it are disabled. With `keep`,
    both stay as they are.
    """

    brand_id: str
    user_id: str
    keep: bool = False


class AuditEntry(Record):
    id: str
    brand_id: str
    #: A user id, `operator`, or `system` for consequences of a removal.
    actor_id: str
    action: str
    subject_id: str
    created_at: datetime
    details: dict[str, Any] = {}
    #: The e-mail address of the actor; None for `operator`, `system` and a deleted account.
    actor_email: str | None = None
    #: The e-mail address of the user whom the entry is about, or who issued its token; None if there is no such user.
    subject_email: str | None = None


class ListAudit(Record):
    """A request for entries of the audit logs of brands, newest first.

    The operator names any brand, and gets its newest entries. An owner gets one page of entries: of the brand that they
    name or, if they name none, of all their brands.
    """

    brand_id: str | None = None
    limit: int = 50
    cursor: str | None = None


class AuditLog(Record):
    entries: tuple[AuditEntry, ...]
    next_cursor: str | None = None


class RecordAudit(Record):
    """The operator's request to add an entry to a brand's audit log. The entry is about a command that another service
    carries out, such as `post due`, which makes a queued post due now.
    """

    brand_id: str
    action: str
    subject_id: str
    details: dict[str, object] = {}
