"""Tries facebook-business, Meta's own SDK, with a Facebook page."""

import os
from urllib.parse import parse_qs, urlencode, urlsplit

import trial
from facebook_business.adobjects.comment import Comment
from facebook_business.adobjects.page import Page
from facebook_business.adobjects.pagepost import PagePost
from facebook_business.adobjects.user import User
from facebook_business.api import FacebookAdsApi
from facebook_business.video_uploader import VideoUploadRequest

APP_ID, SECRET = trial.app("FB")
SCOPES = (
    "pages_show_list", "pages_read_engagement", "pages_manage_posts", "pages_manage_engagement",
    "pages_read_user_content",
)  # fmt: skip
FILM = trial.sample("video-5s-64x64.mp4")


def api_of(token):
    made = FacebookAdsApi.init(APP_ID, SECRET or None, token, crash_log=False)
    # The SDK trusts the authorities of a file of its own.
    made._session.requests.verify = os.environ["REQUESTS_CA_BUNDLE"]
    return made


def log_in():
    """Requests the token with a plain call, because the SDK has no login."""
    global token
    asked = {
        "client_id": APP_ID, "redirect_uri": trial.callback("facebook"), "state": "s", "response_type": "code",
        "scope": ",".join(SCOPES),
    }  # fmt: skip
    back = parse_qs(
        urlsplit(trial.visit(f"https://www.facebook.com/v26.0/dialog/oauth?{urlencode(asked)}")).query
    )
    form = {
        "client_id": APP_ID, "client_secret": SECRET, "redirect_uri": asked["redirect_uri"], "code": back["code"][0]
    }  # fmt: skip
    token = api_of(None).call("GET", ("oauth", "access_token"), form).json()["access_token"]


def refresh():
    global page, api
    form = {
        "grant_type": "fb_exchange_token", "client_id": APP_ID, "client_secret": SECRET, "fb_exchange_token": token
    }  # fmt: skip
    long = api_of(None).call("GET", ("oauth", "access_token"), form).json()
    assert long["expires_in"] > 5_000_000
    api_of(long["access_token"])
    [found] = User("me").get_accounts(fields=["id", "name", "access_token", "tasks"])
    assert "CREATE_CONTENT" in found["tasks"]
    api = api_of(found["access_token"])
    page = Page(found["id"])


def upload():
    """Uploads a photo as a file, and a film in pieces to graph-video.facebook.com."""
    global photo_id, video_id
    files = {"source": ("a.jpg", trial.sample("photo-640x640.jpg"))}
    params = {"published": False, "alt_text_custom": "A loaf"}
    photo_id = api.call("POST", (page.get_id(), "photos"), params, files=files).json()["id"]
    begun = _send({"upload_phase": "start", "file_size": len(FILM)})
    video_id, session = begun["video_id"], begun["upload_session_id"]
    start, end = int(begun["start_offset"]), int(begun["end_offset"])
    while start != end:
        piece = {"video_file_chunk": ("a.mp4", FILM[start:end], "multipart/form-data")}
        told = _send({"upload_phase": "transfer", "upload_session_id": session, "start_offset": start}, piece)
        start, end = int(told["start_offset"]), int(told["end_offset"])
    finish = {"upload_phase": "finish", "upload_session_id": session, "title": "Loaves", "description": "Rye"}
    assert _send(finish) == {"success": True}


def _send(params, files=None):
    request = VideoUploadRequest(api)
    request.setParams(params, files)
    return request.send((page.get_id(), "videos")).json()


def post():
    global post_id
    params = {"message": "Fresh rye", "attached_media": [{"media_fbid": photo_id}], "published": True}
    post_id = page.create_feed(params=params)["id"]


def read():
    shown = page.api_get(fields=["id", "name", "followers_count", "picture"])
    assert shown["followers_count"] > 0
    posts = [row["id"] for row in page.get_feed(fields=["id", "message"], params={"limit": 1})]
    assert posts[0] == post_id
    assert page.get_videos(fields=["id", "title", "status"])[0]["title"] == "Loaves"
    own = PagePost(post_id).api_get(fields=["message", "attachments", "permalink_url"])
    assert own["message"] == "Fresh rye"
    reactions = PagePost(post_id).get_reactions(params={"summary": "total_count"})
    assert reactions.total() == 0


def comment():
    global visitors
    made = PagePost(post_id).create_comment(params={"message": "Recipe below"})
    visitors = trial.comment("FB", post_id, "Open on Sunday?")
    rows = PagePost(post_id).get_comments(fields=["id", "message", "from"], params={"limit": 1})
    assert [row["id"] for row in rows] == [made["id"], visitors]


def reply():
    made = Comment(visitors).create_comment(params={"message": "From eight"})
    [row] = Comment(visitors).get_comments(fields=["id", "message"])
    assert (row["id"], row["message"]) == (made["id"], "From eight")


def delete():
    Comment(visitors).api_delete()
    assert visitors not in [row["id"] for row in PagePost(post_id).get_comments()]
    for thing in (post_id, video_id):
        assert PagePost(thing).api_delete() is not None
    assert list(page.get_feed()) == []


trial.report("facebook-business", "Facebook", log_in, refresh, upload, post, read, comment, reply, delete)
