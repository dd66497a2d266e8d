"""Fetches the photos and videos that a call to the Graph API gives by URL or as bytes, and checks them.

Sources of the limits, at developers.facebook.com/docs: graph-api/reference/page/photos (".jpeg, .bmp, .png, .gif,
.tiff", "Files can not exceed 10MB"; copy of 11 September 2026) and
instagram-platform/instagram-graph-api/reference/ig-user/media (JPEG up to 8 MB, 4:5 to 1.91:1; MOV or MP4 with `moov`
first, 3 s to 15 min; undated copies). Where copies of Meta's pages differ (reels of 300 MB or 1 GB), the stricter
limit counts. The limits of a video in one call (1 GB, 20 minutes) are a guess: the reference of page/videos names
none.
"""

from simulator import inspection
from simulator.fetching import Fetched, FetchFailed, FetchTooBig
from simulator.meta import resumable
from simulator.meta.call import Call
from simulator.meta.errors import GraphError
from simulator.simulation import Simulation
from simulator.world import Medium

_MIB = 1 << 20
FACEBOOK_PHOTO_BYTES = 10 * _MIB
FACEBOOK_PHOTO_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF")
FACEBOOK_VIDEO_BYTES = 1024 * _MIB
FACEBOOK_VIDEO_SECONDS = 20 * 60
INSTAGRAM_PHOTO_BYTES = 8 * _MIB
#: Narrowest and widest aspect ratio. Meta's reference says 4:5, but Instagram accepts 3:4
#: (docs/platforms/instagram.md).
INSTAGRAM_ASPECTS = (3 / 4, 1.91)
INSTAGRAM_VIDEO_BYTES = 300 * _MIB
INSTAGRAM_VIDEO_SECONDS = (3.0, 15 * 60.0)
#: Pixels from left to right, and bits a second. A film without a picture track passes: tests of other things send such.
INSTAGRAM_VIDEO_WIDTH, INSTAGRAM_VIDEO_BITS = 1_920, 25_000_000
INSTAGRAM_CODECS = ("h264", "hevc", "")


def facebook_photo(call: Call) -> Medium:
    """Returns the photo of a call, from the file `source` or the URL in `url`. Raises GraphError 324 if the call has no
    photo, or if Facebook would refuse the photo.
    """
    # This is Facebook's message, which is older than the limit of 10 MB.
    too_big = GraphError(324, "Photos should be less than 4 MB and saved as JPG or PNG", 1366046)
    try:
        data, url = _facebook_bytes(call, "url", FACEBOOK_PHOTO_BYTES)
        photo = inspection.photo(data)
    except FetchTooBig as problem:
        raise too_big from problem
    except (FetchFailed, inspection.NotMedia) as problem:
        raise GraphError(324, "Missing or invalid image file", 2069019) from problem
    if photo.bytes > FACEBOOK_PHOTO_BYTES or photo.format not in FACEBOOK_PHOTO_FORMATS:
        raise too_big
    return Medium("photo", photo.bytes, url)


def facebook_video(call: Call) -> Medium:
    """Returns the video of a call, from the file `source`, the URL in `file_url`, or an upload's handle. Raises
    GraphError 351, 352 or 389 if Facebook would refuse the video, and 100 for an unknown handle.
    """
    try:
        data, url = _facebook_bytes(call, "file_url", FACEBOOK_VIDEO_BYTES)
    except FetchFailed as problem:
        raise GraphError(389, "Unable to fetch video file from URL.") from problem
    except FetchTooBig as problem:
        raise GraphError(352, "The video file you selected is too large.", 1363026) from problem
    return facebook_film(data, url)


def facebook_film(data: bytes, url: str) -> Medium:
    """Checks the bytes of a video and returns it. Raises GraphError 351 if it is too long, 352 if it is no MP4 or MOV
    file.
    """
    try:
        video = inspection.video(data)
    except inspection.NotMedia as problem:
        message = "The video file you selected is in a format that we don't support."
        raise GraphError(352, message, 1363024) from problem
    if video.seconds > FACEBOOK_VIDEO_SECONDS:
        raise GraphError(351, "There was a problem with your video file: it is too long.", 1363128)
    return Medium("video", video.bytes, url)


def _facebook_bytes(call: Call, url_name: str, limit_bytes: int) -> tuple[bytes, str]:
    if call.text("fbuploader_video_file_chunk"):
        return resumable.file_of(call, call.text("fbuploader_video_file_chunk")), ""
    if "source" in call.files:
        data = call.files["source"].read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise FetchTooBig
        return data, ""
    url = call.text(url_name)
    return call.sim.fetcher.get(url, limit_bytes, follow_redirects=True).data, url


def instagram_photo(sim: Simulation, url: str) -> Medium:
    """Fetches a photo and checks it as Instagram does. Raises GraphError 9004 if it cannot be fetched, 36000 if it is
    too large, 36001 if it is no JPEG, and 36003 for its aspect ratio.
    """
    try:
        photo = inspection.photo(_instagram_bytes(sim, url, INSTAGRAM_PHOTO_BYTES).data)
    except FetchTooBig as problem:
        raise GraphError(36000, "The image size is too large.", 2207004, title="Image too large") from problem
    except inspection.NotMedia as problem:
        raise _unsupported_photo() from problem
    if photo.format != "JPEG":
        raise _unsupported_photo()
    shortest, longest = INSTAGRAM_ASPECTS
    # Half a pixel of tolerance: a picture of 1080 x 566 pixels is meant to be 1.91:1.
    half = 0.5 / photo.height
    if not shortest - half <= photo.aspect <= longest + half:
        raise _bad_shape(f"aspect ratio ({photo.aspect:.2f})")
    return Medium("photo", photo.bytes, url)


def instagram_video(sim: Simulation, url: str) -> Medium:
    """Fetches a video and checks it as Instagram does. Raises GraphError 9004 if it cannot be fetched, and 352 for its
    format, size or length.
    """
    refused = GraphError(352, "The video format is not supported.", 2207026, title="Unsupported format")
    try:
        video = inspection.video(_instagram_bytes(sim, url, INSTAGRAM_VIDEO_BYTES).data)
    except (FetchTooBig, inspection.NotMedia) as problem:
        raise refused from problem
    shortest, longest = INSTAGRAM_VIDEO_SECONDS
    if not video.moov_first or not shortest <= video.seconds <= longest:
        raise refused
    if video.codec not in INSTAGRAM_CODECS or video.width > INSTAGRAM_VIDEO_WIDTH:
        raise refused
    if video.bytes * 8 > INSTAGRAM_VIDEO_BITS * video.seconds:
        raise refused
    return Medium("video", video.bytes, url)


def _instagram_bytes(sim: Simulation, url: str, limit_bytes: int) -> Fetched:
    try:
        return sim.fetcher.get(url, limit_bytes, follow_redirects=False)
    except FetchFailed as problem:
        message = "Only photo or video can be accepted as media type."
        raise GraphError(
            9004,
            message,
            2207052,
            title="Media download has failed. The media URI doesn't meet our requirements.",
        ) from problem


def _unsupported_photo() -> GraphError:
    return GraphError(36001, "The image format is not supported. Supported format is: JPEG.", 2207005)


def _bad_shape(what: str) -> GraphError:
    return GraphError(36003, f"The submitted image with {what} cannot be published.", 2207009)
