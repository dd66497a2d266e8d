"""The service's settings. Only this module reads the environment."""

from collections.abc import Mapping

from ai.payments.stripe import StripeSettings
from ai.providers.base import CAPTIONS, IMAGES, VIDEOS
from ai.providers.gemini import GeminiSettings
from ai.providers.openai import OpenAiSettings
from ai.rules.prices import PACK_PRICES_USD, CreditSettings
from chassis import config
from contracts.record import Record

#: The default of MAX_WORKERS in chassis, and how many workers stay free for calls that wait for no provider.
_DEFAULT_WORKERS, _SPARE_WORKERS = 64, 16


class Settings(Record):
    """The settings of one process. Times in seconds, sizes in bytes. README.md has the table of variables."""

    credits: CreditSettings
    stripe: StripeSettings
    gemini: GeminiSettings
    openai: OpenAiSettings
    #: The provider's name for each of images, videos and captions. Empty: the first provider that has a key.
    providers: Mapping[str, str]
    upgrade_url: str
    #: Hosts that this deployment routes itself, past the address check (local-stack.md).
    outbound_host_map: Mapping[str, str]
    #: How long an image call and a caption call may take: less than the gateway waits (90 s, 60 s).
    image_seconds: float = 75.0
    caption_seconds: float = 45.0
    #: How long one step of a video may take: starting it, or polling it. Both are short calls, which may be retried
    #: within this time.
    step_seconds: float = 60.0
    #: How long the transfer of a finished video into storage may take: the largest then needs 0.8 MB/s.
    fetch_seconds: float = 300.0
    #: How often a video is polled: it takes minutes, so 5 s more are not noticed.
    poll_seconds: float = 5.0
    #: A job that has not ended by then is failed, so that none is `processing` for 30 minutes.
    job_limit_seconds: float = 29 * 60.0
    #: A claim lapses this long after its process stopped renewing it: jobs of a dead process wait no longer.
    lease_seconds: float = 20.0
    #: How many image and caption calls run in a process, and how many of them call the provider at once; the others
    #: wait. `live_calls` must be below MAX_WORKERS.
    live_calls: int = _DEFAULT_WORKERS - _SPARE_WORKERS
    provider_calls: int = 24
    #: How many video steps run at once. Most are short polls; a transfer holds a block of memory.
    video_steps: int = 16
    #: The largest reference image, and how long fetching all references of a call may take: a part of the call's own
    #: time.
    max_reference_bytes: int = 10 * 2**20
    #: Memory for reference images of all calls. During a provider call each image exists again in base64. Our choice:
    #: about a third of 1 GiB in total.
    reference_memory_bytes: int = 128 * 2**20
    reference_seconds: float = 10.0
    #: The largest video that is fetched from a provider: the largest file of the Elite plan.
    max_video_bytes: int = 250 * 2**20

    @classmethod
    def from_env(cls) -> "Settings":
        every = config.text("AI_PROVIDER", "")
        gemini, openai = GeminiSettings(), OpenAiSettings()
        return cls(
            credits=_credits(),
            stripe=_stripe(),
            gemini=GeminiSettings(
                api_key=config.text("GEMINI_API_KEY", ""),
                base_url=config.text("GEMINI_API_URL", gemini.base_url),
                flash_image_model=config.text("GEMINI_FLASH_IMAGE_MODEL", gemini.flash_image_model),
                pro_image_model=config.text("GEMINI_PRO_IMAGE_MODEL", gemini.pro_image_model),
                video_model=config.text("GEMINI_VIDEO_MODEL", gemini.video_model),
                text_model=config.text("GEMINI_TEXT_MODEL", gemini.text_model),
            ),
            openai=OpenAiSettings(
                api_key=config.text("OPENAI_API_KEY", ""),
                base_url=config.text("OPENAI_API_URL", openai.base_url),
                flash_image_model=config.text("OPENAI_FLASH_IMAGE_MODEL", openai.flash_image_model),
                pro_image_model=config.text("OPENAI_PRO_IMAGE_MODEL", openai.pro_image_model),
                text_model=config.text("OPENAI_TEXT_MODEL", openai.text_model),
            ),
            providers={
                IMAGES: config.text("AI_IMAGE_PROVIDER", every),
                VIDEOS: config.text("AI_VIDEO_PROVIDER", every),
                CAPTIONS: config.text("AI_CAPTION_PROVIDER", every),
            },
            upgrade_url=config.text("UPGRADE_URL", config.page_url("billing", "billing")),
            outbound_host_map=config.mapping("OUTBOUND_HOST_MAP"),
            image_seconds=config.number("AI_IMAGE_SECONDS", 75),
            caption_seconds=config.number("AI_CAPTION_SECONDS", 45),
            step_seconds=config.number("AI_STEP_SECONDS", 60),
            fetch_seconds=config.number("AI_FETCH_SECONDS", 300),
            poll_seconds=config.number("AI_POLL_SECONDS", 5),
            job_limit_seconds=config.number("AI_JOB_LIMIT_SECONDS", 29 * 60),
            lease_seconds=config.number("AI_LEASE_SECONDS", 20),
            live_calls=config.integer(
                "AI_LIVE_CALLS", max(config.integer("MAX_WORKERS", _DEFAULT_WORKERS) - _SPARE_WORKERS, 1)
            ),
            provider_calls=config.integer("AI_PROVIDER_CALLS", 24),
            video_steps=config.integer("AI_VIDEO_STEPS", 16),
            max_reference_bytes=config.integer("AI_MAX_REFERENCE_BYTES", 10 * 2**20),
            reference_memory_bytes=config.integer("AI_REFERENCE_ROOM_BYTES", 128 * 2**20),
            reference_seconds=config.number("AI_REFERENCE_SECONDS", 10),
            max_video_bytes=config.integer("AI_MAX_VIDEO_BYTES", 250 * 2**20),
        )


def _credits() -> CreditSettings:
    prices = _by_size(
        "PACK_PRICES_USD", ",".join(f"{size}={price}" for size, price in PACK_PRICES_USD.items())
    )
    default = CreditSettings()
    return CreditSettings(
        pack_prices_usd={size: _money("PACK_PRICES_USD", price) for size, price in prices.items()},
        pack_links=_by_size("PACK_LINKS"),
        refill_unit_price_usd=_money(
            "REFILL_UNIT_PRICE_USD", config.text("REFILL_UNIT_PRICE_USD", str(default.refill_unit_price_usd))
        ),
        payment_provider=config.text("PAYMENT_PROVIDER", default.payment_provider),
        billing_url=config.page_url("billing", "billing"),
        packs_url=config.page_url("billing/packs", "billing"),
        auto_refill_url=config.page_url("billing/auto-refill", "billing"),
    )


def _by_size(name: str, default: str = "") -> dict[int, str]:
    """Reads a variable of comma-separated `pack size=value` pairs, and returns the values by pack size. Raises
    ConfigError if it is malformed.
    """
    pairs = config.mapping(name, default)
    if not all(size.isdigit() for size in pairs):
        raise config.ConfigError(f"{name} must be pack size=value, comma-separated")
    return {int(size): value for size, value in pairs.items()}


def _money(name: str, value: str) -> float:
    try:
        amount = float(value)
    except ValueError:
        amount = 0.0
    if not 0.01 <= amount < 1_000_000:
        raise config.ConfigError(f"{name}: {value!r} is not a price")
    return amount


def _stripe() -> StripeSettings:
    return StripeSettings(
        api_url=config.text("STRIPE_API_URL", StripeSettings().api_url),
        secret_key=config.text("STRIPE_SECRET_KEY", ""),
        webhook_secret=config.text("STRIPE_WEBHOOK_SECRET", ""),
    )
