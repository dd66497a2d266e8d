"""A post's settings for one platform: what `facebook_settings`, `x_settings` and so on may hold.

They cross the bus as plain objects, because a release must pass on fields that a newer release has added. The service
`publishing` checks them against these records, and `/openapi.json` describes them.
"""

from typing import Annotated, Literal

from msgspec import Meta

from contracts.record import Record

#: Of one text that describes a photo. Instagram's and X's figure; LinkedIn names no length.
_MAX_ALT_TEXT = 1_000
_AltText = Annotated[str, Meta(max_length=_MAX_ALT_TEXT)]


class FacebookPostSettings(Record):
    """A post's options on Facebook: the value of its field `facebook_settings`."""

    #: An address whose preview is shown; only for a post without media.
    link: str | None = None
    #: Facebook's AI label, for videos alone; always set for a video that our AI made.
    is_ai_generated: bool | None = None


class InstagramPostSettings(Record):
    """A post's options on Instagram: the value of its field `instagram_settings`."""

    #: Whether a reel is shown in the feed too; without it Instagram decides.
    share_to_feed: bool | None = None
    #: The frame of a reel that is its cover, in milliseconds from the start.
    thumb_offset: Annotated[int, Meta(ge=0)] | None = None
    #: The public address of a reel's cover.
    cover_url: str | None = None
    #: The description of a photo for people who cannot see it.
    alt_text: _AltText | None = None
    #: Instagram's AI label; always set for media that our AI made.
    is_ai_generated: bool | None = None


class Article(Record):
    """A link of a LinkedIn post, shown with this title and text: LinkedIn does not read the linked page itself."""

    source: Annotated[str, Meta(max_length=2_000)]
    title: Annotated[str, Meta(min_length=1, max_length=400)]
    description: Annotated[str, Meta(max_length=4_000)] = ""


class LinkedInPostSettings(Record):
    """A post's options on LinkedIn: the value of its field `linkedin_settings`."""

    #: Who sees the post.
    visibility: Literal["PUBLIC", "CONNECTIONS", "LOGGED_IN"] = "PUBLIC"
    #: Shown with a video.
    title: Annotated[str, Meta(max_length=400)] = ""
    #: Descriptions of the photos for people who cannot see them, in their order.
    alt_texts: Annotated[tuple[_AltText, ...], Meta(max_length=20)] = ()
    #: A link and its preview; only for a post without media.
    article: Article | None = None
    #: Whether nobody may reshare the post.
    is_reshare_disabled: bool = False


class TikTokPostSettings(Record):
    """A post's options on TikTok: the value of its field `tiktok_settings`.

    Fields that are listed here go to TikTok if it has them for this kind of post; all other fields go to it unchanged.
    """

    #: Who sees the post; null: the strictest level that TikTok offers for the account.
    privacy_level: (
        Literal["PUBLIC_TO_EVERYONE", "MUTUAL_FOLLOW_FRIENDS", "FOLLOWER_OF_CREATOR", "SELF_ONLY"] | None
    ) = None
    #: For photos, at most 90 characters; for a video, the caption instead of the message.
    title: Annotated[str, Meta(max_length=2_200)] | None = None
    #: Whether nobody may comment.
    disable_comment: bool | None = None
    #: Whether nobody may make a duet with the video.
    disable_duet: bool | None = None
    #: Whether nobody may stitch the video.
    disable_stitch: bool | None = None
    #: Whether the post advertises another brand (paid partnership).
    brand_content_toggle: bool | None = None
    #: Whether the post advertises the creator's own business.
    brand_organic_toggle: bool | None = None
    #: TikTok's AI label; always set for media that our AI made.
    is_aigc: bool | None = None
    #: Whether TikTok adds music to photos.
    auto_add_music: bool | None = None
    #: The frame of a video that is its cover, in milliseconds from the start.
    video_cover_timestamp_ms: Annotated[int, Meta(ge=0)] | None = None
    #: Which photo is the cover, counted from 0.
    photo_cover_index: Annotated[int, Meta(ge=0, lt=35)] | None = None


class XPostSettings(Record):
    """A post's options on X: the value of its field `x_settings`."""

    #: Who may reply; null: everybody.
    reply_settings: Literal["following", "mentionedUsers", "subscribers", "verified"] | None = None
    #: Descriptions of the photos for people who cannot see them, in their order.
    alt_texts: Annotated[tuple[_AltText, ...], Meta(max_length=4)] = ()
    #: Labels the post: its media were made by AI; always set for media that our AI made.
    made_with_ai: bool | None = None
    #: Labels the post: it is paid for by somebody.
    paid_partnership: bool | None = None
    #: Says that the account has X Premium and so may publish long posts. Needed only if X has not told that itself.
    #: X refuses a long post of an account without Premium.
    is_premium: bool = False


#: YouTube takes no angle brackets in any text of a video (platforms.md 7).
_Title = Annotated[str, Meta(max_length=100, pattern=r"^[^<>]*[^<>\s][^<>]*$")]
_Tag = Annotated[str, Meta(max_length=500, pattern=r"^[^<>]*[^<>\s][^<>]*$")]


class YouTubePostSettings(Record):
    """A post's options on YouTube: the value of its field `youtube_settings`."""

    #: The title; null: the first line of the message.
    title: _Title | None = None
    #: Who sees the video.
    privacy: Literal["public", "unlisted", "private"] = "public"
    #: At most 500 characters in all; a tag with a blank counts two more, each comma between tags one.
    tags: tuple[_Tag, ...] = ()
    #: The declaration about children; null: the channel's own setting applies.
    made_for_kids: bool | None = None
    #: The declaration of altered or synthetic media, always made for videos of our own AI.
    contains_synthetic_media: bool | None = None
    #: Whether subscribers are notified of a public video.
    notify_subscribers: bool = True
    #: YouTube requires a category; 22 is "People & Blogs". Our choice, the one that fits most videos of people.
    category_id: Annotated[str, Meta(pattern=r"^\d{1,4}$")] = "22"


#: By platform code. A platform without a record here takes settings that its own folder checks.
POST_SETTINGS: dict[str, type[Record]] = {
    "FB": FacebookPostSettings,
    "IG": InstagramPostSettings,
    "LN": LinkedInPostSettings,
    "TT": TikTokPostSettings,
    "TW": XPostSettings,
    "YT": YouTubePostSettings,
}
#: Platforms whose settings may hold fields that are not in the record (spec "Schedule body").
OPEN_SETTINGS = frozenset({"TT"})
