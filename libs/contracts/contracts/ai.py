"""The contract of the AI service: images, videos, captions, their jobs, and credits."""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from msgspec import Meta, field

from contracts.caller import Caller
from contracts.media import Media
from contracts.publishing import MediaKind
from contracts.record import Nothing, Record
from contracts.senders import called_by

#: Spec "Request field limits".
Prompt = Annotated[str, Meta(min_length=1, max_length=2_000)]
#: Spec "Request field limits": references of one image, by URL and by id together.
MOST_REFERENCES = 3
ImageModel = Literal["flash", "pro"]
JobKind = Literal["image", "image_edit", "video"]


class ImageBody(Record):
    """A request to generate an image (spec.md, "Image body"). It may have at most 3 reference images, URLs and ids
    together.
    """

    prompt: Prompt
    aspect_ratio: Literal["default", "1:1", "16:9", "9:16", "4:3", "3:4"] = "default"
    model: ImageModel = "flash"
    reference_image_urls: Annotated[tuple[str, ...], Meta(max_length=MOST_REFERENCES)] = ()
    reference_media_ids: Annotated[tuple[str, ...], Meta(max_length=MOST_REFERENCES)] = ()
    brand_id: str | None = None


class GenerateImage(ImageBody, kw_only=True):
    """An image request with the brand's guidelines, which the gateway adds."""

    guidelines: str | None = None


class EditImage(Record):
    """A request to edit an image (spec.md, "Image edit body"). Exactly one of image_url and media_id names the
    image.
    """

    prompt: Prompt
    image_url: str | None = None
    media_id: str | None = None
    model: ImageModel = "flash"


class VideoBody(Record):
    """A request to generate a video: at most one of image_url and media_id (spec.md, "Video body")."""

    prompt: Prompt
    aspect_ratio: Literal["default", "16:9", "9:16"] = "default"
    image_url: str | None = None
    media_id: str | None = None
    brand_id: str | None = None


class GenerateVideo(VideoBody, kw_only=True):
    """A video request with the brand's guidelines, which the gateway adds."""

    guidelines: str | None = None


class CaptionBody(Record):
    """A request to write a caption (spec.md, "Caption body")."""

    brand_id: str
    instruction: Prompt
    words: Annotated[int, Meta(ge=10, le=300)] = 60
    edit_text: Annotated[str, Meta(max_length=5_000)] | None = None
    custom_instructions: Annotated[str, Meta(max_length=2_000)] | None = None


class WriteCaption(CaptionBody, kw_only=True):
    """A caption request with the brand's data, which the gateway adds. `custom_instructions` override `guidelines`."""

    brand_name: str
    brand_description: str | None = None
    guidelines: str | None = None


#: Described, not enforced: another release may know more values.
JobStatus = Annotated[str, Meta(extra_json_schema={"enum": ["processing", "completed", "failed"]})]


class JobParams(Record):
    aspect_ratio: str | None = None
    model: str | None = None
    image_to_video: bool = False


class AiJob(Record):
    """A job that generates an image or a video (spec.md, "AiJob")."""

    job_id: str
    kind: str
    #: `processing`, `completed` or `failed`
    status: JobStatus
    prompt: str
    url: str | None
    media_id: str | None
    #: `photo` or `video`
    media_type: MediaKind
    mime_type: str | None
    size_bytes: int
    credits_charged: int
    params: JobParams
    error: str | None
    created_at: datetime
    completed_at: datetime | None


class CreditsAfterCharge(Record):
    """The cost of a job in credits, and the credits that are left (spec.md, "CreditsAfterCharge").

    `remaining` is also in the header X-Credits-Remaining.
    """

    charged: int
    remaining: int
    plan_remaining: int
    bonus: int
    plan: str


class AiResult(Record):
    """A job with its file and its cost. `media` is None while a video is still processing, and when the job failed."""

    job: AiJob
    media: Media | None
    credits: CreditsAfterCharge


class ListJobs(Record):
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    kind: JobKind | None = None
    status: Literal["processing", "completed", "failed"] | None = None
    cursor: str | None = None


class JobList(Record):
    jobs: tuple[AiJob, ...]
    next_cursor: str | None
    #: For the header X-Credits-Remaining.
    credits_remaining: int


class JobId(Record):
    id: str


class Caption(Record):
    text: str
    brand_id: str
    words_requested: int
    credits: CreditsAfterCharge


class Credits(Record):
    available: int
    plan: str
    plan_allowance: int
    plan_used: int
    plan_remaining: int
    bonus: int
    #: The part of bonus that came from referrals (decisions).
    referral: int
    next_reset_at: datetime | None
    #: Spent credits whose payment was later refunded or disputed. They are taken from the next purchase.
    owed: int = 0


class Cost(Record):
    action: str
    label: str
    credits: int


class Pack(Record):
    id: str
    name: str
    credits: int
    price_usd: float = field(name="priceUsd")
    price_per_credit: float = field(name="pricePerCredit")
    available: bool
    #: Where the account can buy the pack; None while it is not available.
    url: str | None = None


class AutoRefill(Record):
    available: bool
    enabled: bool
    status: str
    threshold: int | None
    amount: int | None
    unit_credits: int = field(name="unitCredits")
    unit_price_usd: float = field(name="unitPriceUsd")
    amounts: tuple[int, ...]


class CreditsBalance(Record):
    """An account's credits, the cost of each action, and the packs for sale (spec.md, "CreditsBalance")."""

    credits: Credits
    costs: tuple[Cost, ...]
    packs: tuple[Pack, ...]
    auto_refill: AutoRefill
    billing_url: str


#: Described, not enforced: another release may know more values.
LedgerKind = Annotated[
    str,
    Meta(
        extra_json_schema={
            "enum": [
                "grant", "lapse", "carry", "charge", "refund", "purchase", "auto_refill", "referral", "clawback",
                "reinstatement", "collection",
            ]
        }
    ),
]  # fmt: skip


class ListLedger(Record):
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: str | None = None


class LedgerEntry(Record):
    created_at: datetime
    kind: LedgerKind
    #: The change of the available credits, negative for credits that were spent or taken.
    amount: int
    #: The available credits after the entry.
    balance_after: int
    #: The change of the debt, positive when it grows.
    owed: int
    #: The paid action for a charge or its refund; `refund` or `dispute` for credits taken back or returned.
    action: str | None
    #: The job that was paid. None for captions, which GET /ai/jobs does not list.
    job_id: str | None


class CreditLedger(Record):
    entries: tuple[LedgerEntry, ...]
    next_cursor: str | None


class GrantCredits(Record):
    """The operator's request to give an account credits that do not expire: bought ones or, with `referral`, a reward
    for a referral. Takes effect once per operation id.
    """

    account_id: str
    #: The account's tier, which names the plan in the returned balance.
    tier: str
    amount: Annotated[int, Meta(ge=1, le=1_000_000)]
    referral: bool = False


class SetAutoRefill(Record):
    """The operator's request to set an account's auto-refill, which buys credits when the balance falls below a
    threshold.

    If `enabled` is true, threshold and amount (500 to 5,000, in steps of 500) are required.
    """

    account_id: str
    tier: str
    enabled: bool
    threshold: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    amount: Annotated[int, Meta(ge=500, le=5_000)] | None = None
    #: The payment provider's ids of the customer and the payment method (Stripe: `cus_…`, `pm_…`). None: unchanged.
    payment_customer: str | None = None
    payment_method: str | None = None


class EditAutoRefill(Record):
    """A request of the account's owner to change auto-refill.

    If `enabled` is true, threshold and amount are required. If it is false, a field that is left out keeps its value.
    """

    enabled: bool
    #: Refill when fewer credits than this are left.
    threshold: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    #: Credits per refill: 500 to 5,000, in steps of 500.
    amount: Annotated[int, Meta(ge=500, le=5_000)] | None = None


class PaymentHook(Record):
    """A payment provider's webhook call, with its exact bytes, which the signature covers."""

    provider: str
    body: str
    signature: str


@called_by(
    gateway=(
        "generate_image edit_image generate_video list_jobs get_job write_caption get_credits list_ledger"
        " edit_auto_refill payment_hook"
    ),
    ctl="get_credits grant_credits set_auto_refill",
)
class AiApi(Protocol):
    """The RPC methods of the AI service."""

    def generate_image(self, caller: Caller, request: GenerateImage) -> AiResult: ...
    def edit_image(self, caller: Caller, request: EditImage) -> AiResult: ...
    def generate_video(self, caller: Caller, request: GenerateVideo) -> AiResult: ...
    def list_jobs(self, caller: Caller, request: ListJobs) -> JobList: ...
    def get_job(self, caller: Caller, request: JobId) -> AiResult: ...
    def write_caption(self, caller: Caller, request: WriteCaption) -> Caption: ...
    def get_credits(self, caller: Caller, request: Nothing) -> CreditsBalance: ...
    def list_ledger(self, caller: Caller, request: ListLedger) -> CreditLedger: ...
    def grant_credits(self, caller: Caller, request: GrantCredits) -> CreditsBalance: ...
    def set_auto_refill(self, caller: Caller, request: SetAutoRefill) -> CreditsBalance: ...
    def edit_auto_refill(self, caller: Caller, request: EditAutoRefill) -> CreditsBalance: ...
    def payment_hook(self, caller: Caller, request: PaymentHook) -> Nothing: ...
