"""Tries google-api-python-client and google-auth-oauthlib, used as in Google's guides."""

import io

import trial
from google.auth.transport.requests import Request
from google_auth_oauthlib.flow import Flow
from googleapiclient.discovery import build
from googleapiclient.http import MediaIoBaseUpload

SCOPES = [
    f"https://www.googleapis.com/auth/{name}"
    for name in ("youtube.upload", "youtube.readonly", "youtube.force-ssl")
]
SNIPPET = {"title": "Bread", "description": "warm & crisp", "tags": ["rye", "sour dough"], "categoryId": "22"}
FILM = trial.sample("video-5s-64x64.mp4")


def log_in():
    global credentials, youtube
    client_id, secret = trial.app("YT")
    config = {
        "client_id": client_id, "client_secret": secret, "redirect_uris": [trial.callback("youtube")],
        "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": "https://oauth2.googleapis.com/token",
    }  # fmt: skip
    flow = Flow.from_client_config({"web": config}, SCOPES, redirect_uri=trial.callback("youtube"))
    url, _ = flow.authorization_url(access_type="offline", prompt="consent")
    flow.fetch_token(authorization_response=trial.visit(url))
    credentials = flow.credentials
    youtube = build("youtube", "v3", credentials=credentials)


def refresh():
    old = credentials.token
    credentials.refresh(Request())
    assert credentials.token != old
    assert credentials.valid


def upload():
    """Uploads a file in pieces: first with its size, then as a stream without one."""
    global video_id
    data = FILM + bytes(600 * 1024)
    video_id = _sent_in_pieces(io.BytesIO(data))
    assert _sent_in_pieces(Stream(data)) != video_id


class Stream(io.RawIOBase):
    """A file without `seek`, so that its size is known only at its end."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def seekable(self):
        return False

    def readable(self):
        return True

    def seek(self, offset, origin=0):
        if origin == io.SEEK_END:
            raise io.UnsupportedOperation("seek")
        return self._data.seek(offset, origin)

    def read(self, size=-1):
        return self._data.read(size)


def _sent_in_pieces(file):
    media = Upload(file, "video/mp4", chunksize=256 * 1024, resumable=True)
    request = youtube.videos().insert(
        part="snippet,status",
        body={"snippet": SNIPPET, "status": {"privacyStatus": "unlisted", "selfDeclaredMadeForKids": False}},
        media_body=media,
        notifySubscribers=False,
    )
    made, seen = None, []
    while made is None:
        progress, made = request.next_chunk()
        seen.append(progress.resumable_progress if progress else None)
    assert seen == [262144, 524288, None], seen
    assert made["snippet"]["title"] == SNIPPET["title"]
    return made["id"]


class Upload(MediaIoBaseUpload):
    """Sends a stream of unknown size piece by piece. Google documents `size` and `has_stream` for that."""

    def __init__(self, file, *more, **named):
        try:
            super().__init__(file, *more, **named)
        except io.UnsupportedOperation:
            self._size = None

    def has_stream(self):
        return self._size is not None


def post():
    """Uploads a video with its metadata in one call."""
    global post_id
    media = MediaIoBaseUpload(io.BytesIO(FILM), "video/mp4")
    made = (
        youtube.videos().insert(part="snippet,status", body={"snippet": SNIPPET}, media_body=media).execute()
    )
    post_id = made["id"]
    assert made["status"]["uploadStatus"] == "uploaded"


def read():
    [channel] = (
        youtube.channels().list(part="snippet,contentDetails,statistics", mine=True).execute()["items"]
    )
    playlist = channel["contentDetails"]["relatedPlaylists"]["uploads"]
    request, found = youtube.playlistItems().list(part="snippet", playlistId=playlist, maxResults=1), []
    while request is not None:
        answer = request.execute()
        found += [row["snippet"]["resourceId"]["videoId"] for row in answer["items"]]
        request = youtube.playlistItems().list_next(request, answer)
    assert found[0] == post_id
    assert found[-1] == video_id
    shown = youtube.videos().list(part=["snippet", "status"], id=[post_id, video_id]).execute()["items"]
    assert [row["id"] for row in shown] == [post_id, video_id]
    assert shown[1]["status"]["privacyStatus"] == "unlisted"


def comment():
    global thread_id
    thread = {"videoId": post_id, "topLevelComment": {"snippet": {"textOriginal": "Recipe below"}}}
    made = youtube.commentThreads().insert(part="snippet", body={"snippet": thread}).execute()
    thread_id = made["id"]
    visitors = trial.comment("YT", post_id, "Open on Sunday?")
    asked = {"part": "snippet,replies", "videoId": post_id, "order": "time", "textFormat": "plainText"}
    rows = youtube.commentThreads().list(**asked).execute()["items"]
    assert {row["id"] for row in rows} == {thread_id, visitors}


def reply():
    global reply_id
    body = {"snippet": {"parentId": thread_id, "textOriginal": "From eight & on"}}
    reply_id = youtube.comments().insert(part="snippet", body=body).execute()["id"]
    [row] = (
        youtube.comments().list(part="snippet", parentId=thread_id, textFormat="plainText").execute()["items"]
    )
    assert (row["id"], row["snippet"]["textDisplay"]) == (reply_id, "From eight & on")


def delete():
    youtube.comments().delete(id=reply_id).execute()
    assert youtube.comments().list(part="snippet", parentId=thread_id).execute()["items"] == []
    youtube.videos().delete(id=post_id).execute()
    assert youtube.videos().list(part="id", id=post_id).execute()["items"] == []


trial.report(
    "google-api-python-client", "YouTube", log_in, refresh, upload, post, read, comment, reply, delete
)
