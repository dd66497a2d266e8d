"""The objects that all use cases share, created once per process: settings, the bucket and the sandboxed processes."""

from fractions import Fraction

from chassis.db.database import Database
from chassis.runtime.limiter import Limiter
from chassis.runtime.locked_cache import locked_cache
from chassis.runtime.pool import Pool
from chassis.sandbox.pool import Limits, SandboxPool
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, QUOTA_EXCEEDED, ApiError
from contracts.media import Media, Storage, thumbnail_of
from contracts.plans import PLANS
from media.config import Settings
from media.models import MediaRow, Upload
from media.storage.bucket import Bucket
from media.store import Connection
from media.store.uploads import Uploads

#: An image of 200 megapixels takes 800 MB decoded. Our choice.
LIMITS = Limits(memory_bytes=1280 * 2**20, seconds=60, cpu_seconds=20, file_bytes=256 * 2**20)
#: An account gets at most this share of the slots that others leave. Our choice.
_MAX_SHARE = Fraction(1, 2)
#: An image waits this long for a slot. Our choice.
_INSPECTION_WAIT_SECONDS = 5.0
#: A video waits this long for a slot, as ai's calls end after 30 s; then the gateway asks again. Our choice.
_VIDEO_WAIT_SECONDS = 25.0


class AppContext:
    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self.bucket = Bucket(settings)
        #: Limits the calls that read whole images to half of the workers: `inspection_slot(account_id)`.
        self.inspection_slot = Limiter(
            max(1, settings.workers // 2), wait_seconds=_INSPECTION_WAIT_SECONDS, max_share=_MAX_SHARE
        ).slot
        # Of several sandboxed processes, videos leave one to images.
        videos = max(1, min(settings.videos_at_once, settings.confined_at_once - 1))
        #: Limits the videos in the temporary folder: `video_slot(account_id)`. At most a quarter of the workers waits.
        self.video_slot = Limiter(
            videos,
            wait_seconds=_VIDEO_WAIT_SECONDS,
            max_share=_MAX_SHARE,
            waiting_per_slot=max(1, settings.workers // 4 // videos),
        ).slot
        self.sandbox_pool = SandboxPool("media.decoder.functions", LIMITS, at_once=settings.confined_at_once)
        #: Renditions that are made in the background: a picture and a video at once.
        self.rendition_pool = Pool(2)
        #: Ids of the renditions that this process makes → the share that is made. Their claims are renewed.
        self.held_renditions: dict[str, float] = {}

    def storage(self, connection: Connection, caller: Caller) -> Storage:
        used, limit = Uploads(connection).used_bytes(caller.account_id), PLANS[caller.tier].storage_bytes
        return Storage(used_bytes=used, limit_bytes=limit, remaining_bytes=max(limit - used, 0))

    def check_room(self, connection: Connection, caller: Caller, size_bytes: int) -> None:
        """Raises QUOTA_EXCEEDED if the account's storage has no room for `size_bytes` more."""
        quota = self.storage(connection, caller)
        if size_bytes > quota.remaining_bytes:
            raise ApiError(QUOTA_EXCEEDED, quota=quota)

    def public_url(self, object_name: str) -> str:
        return f"{self.settings.public_base_url}/{object_name}"

    def view(self, row: MediaRow) -> Media:
        thumbnail = row.object_of(thumbnail_of(row.slug)) if row.thumbnail_size_bytes else None
        return Media.made_from(
            row,
            media_id=row.id,
            type=row.kind,
            url=self.public_url(row.object_name),
            scheduled_post_ids=tuple(row.scheduled_post_ids),
            thumbnail_url=thumbnail and self.public_url(thumbnail),
        )


def reachable(caller: Caller, row: MediaRow | None, field: str | None = None) -> MediaRow:
    """Returns the file if the caller may access it. Otherwise raises NOT_FOUND, naming `field` if it is given."""
    if row is None or not reaches(caller, row):
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    return row


def reaches(caller: Caller, row: MediaRow | Upload) -> bool:
    """Whether the caller may access a file or upload: it is of this account, and of brands that the token reaches."""
    reach = caller.brand_ids
    is_within = reach is None or (bool(row.brand_ids) and set(row.brand_ids) <= set(reach))
    return row.account_id == caller.account_id and is_within


@locked_cache
def context_of(database: Database) -> AppContext:
    """Returns the one context of this process. Raises ConfigError if a setting is missing or malformed."""
    return AppContext(database, Settings.from_env())
