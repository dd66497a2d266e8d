"""Builds the parts of TikTok's requests that describe a post: texts, settings, privacy. Pure."""

from collections.abc import Mapping
from typing import Any

from publishing.platforms.base import Content, PlatformRefusal, Refusal

#: The longest title of photos, in UTF-16 units (platforms.md 5).
_PHOTO_TITLE_UNITS = 90
#: TikTok's privacy levels, from the most private to the most open.
_PRIVACIES = ("SELF_ONLY", "FOLLOWER_OF_CREATOR", "MUTUAL_FOLLOW_FRIENDS", "PUBLIC_TO_EVERYONE")
#: The `tiktok_settings` that belong into `source_info`.
_OF_SOURCE = ("photo_cover_index",)
#: Settings that TikTok's references (fetched on 11 September 2026) name only for videos, or only for photos. `is_aigc`
#: of photos stands beside `post_info`.
_OF_VIDEOS = ("disable_duet", "disable_stitch", "is_aigc", "video_cover_timestamp_ms")
_OF_PHOTOS = ("auto_add_music",)


def post_info(content: Content, creator: Mapping[str, Any], *, is_audited: bool) -> dict[str, Any]:
    """Builds `post_info`: the client's settings, with what TikTok requires for this creator. Raises PlatformRefusal if
    TikTok would refuse them. `is_audited`: TikTok has audited our app.
    """
    others = (*_OF_SOURCE, *(_OF_PHOTOS if _is_video(content) else _OF_VIDEOS))
    asked = {
        name: value for name, value in content.settings.items() if value is not None and name not in others
    }
    info = {
        # Both references call them required; their examples leave them out.
        "brand_content_toggle": False,
        "brand_organic_toggle": False,
        **_texts(content, asked),
        **asked,
        "privacy_level": privacy(asked.get("privacy_level"), creator, is_audited),
    }
    if content.is_ai_made and _is_video(content):
        info["is_aigc"] = True
    kinds = ("comment", "duet", "stitch") if _is_video(content) else ("comment",)
    for kind in kinds:
        if creator.get(f"{kind}_disabled"):
            info[f"disable_{kind}"] = True
    return info


def privacy(asked: Any, creator: Mapping[str, Any], is_audited: bool) -> str:
    """Returns a post's privacy level: the requested one (`asked`), or else the strictest that TikTok offers the
    account.

    Until TikTok has audited our app, only SELF_ONLY is possible. Raises PlatformRefusal if the requested level is not
    possible or not offered, or if none is offered.
    """
    options = [str(option) for option in creator.get("privacy_level_options") or ()]
    if not is_audited:
        if asked not in (None, "SELF_ONLY"):
            code = "unaudited_client_can_only_post_to_private_accounts"
            message = "Before TikTok's audit of the app, posts can only be private (privacy_level SELF_ONLY)."
            raise PlatformRefusal(Refusal.REJECTED, code, message)
        options = [option for option in options if option == "SELF_ONLY"]
    if asked is not None and asked not in options:
        message = f"TikTok offers this account {', '.join(options) or 'nothing'}, and not {asked}."
        raise PlatformRefusal(Refusal.REJECTED, "privacy_level_option_mismatch", message)
    if asked is not None:
        return str(asked)
    offered = [level for level in _PRIVACIES if level in options] or options
    if not offered:
        message = "TikTok offers no privacy level to post with for this account."
        raise PlatformRefusal(Refusal.REJECTED, "privacy_level_option_mismatch", message)
    return offered[0]


def photo_post(content: Content, info: Mapping[str, Any]) -> dict[str, Any]:
    """Builds the body of the one call that makes a post of photos. Raises PlatformRefusal if TikTok would refuse it."""
    body = {
        "media_type": "PHOTO",
        "post_mode": "DIRECT_POST",
        "post_info": info,
        "source_info": source_of_photos(content),
    }
    is_made_by_ai = content.is_ai_made or content.settings.get("is_aigc")
    return body | ({"is_aigc": True} if is_made_by_ai else {})


def source_of_photos(content: Content) -> dict[str, Any]:
    """Builds `source_info` for photos, which TikTok fetches itself from their addresses. Raises PlatformRefusal if a
    photo has no public address.
    """
    urls = [source.url for source in content.media]
    if not all(urls):
        raise PlatformRefusal(Refusal.REJECTED, "NO_URL", "TikTok takes photos by public address only.")
    cover = content.settings.get("photo_cover_index") or 0
    return {
        "source": "PULL_FROM_URL",
        "photo_images": urls,
        "photo_cover_index": min(int(cover), len(urls) - 1),
    }


def _texts(content: Content, asked: Mapping[str, Any]) -> dict[str, Any]:
    if _is_video(content):
        return {"title": content.message}
    first = next((line.strip() for line in content.message.splitlines() if line.strip()), "")
    title = {} if "title" in asked or not first else {"title": cut(first, _PHOTO_TITLE_UNITS)}
    return {**title, "description": content.message}


def cut(text: str, units: int) -> str:
    """Returns the first `units` UTF-16 units of a text, without splitting a character."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")


def _is_video(content: Content) -> bool:
    return content.media[0].type == "video"
