"""Tries xdk, X's own client for Python, which is generated from X's OpenAPI: it uploads as JSON and uses the newer
names of fields.
"""

import base64
import time

import trial
from xdk import Client
from xdk.media.models import AppendUploadRequest, InitializeUploadRequest, UploadRequest
from xdk.posts.models import CreateRequest

SCOPES = ["tweet.read", "tweet.write", "users.read", "media.write", "offline.access"]


def log_in():
    global client
    client_id, secret = trial.app("TW")
    client = Client(
        client_id=client_id, client_secret=secret, redirect_uri=trial.callback("twitter"), scope=SCOPES
    )
    client.fetch_token(trial.visit(client.get_authorization_url()))


def refresh():
    before = client.access_token
    client.refresh_token()
    assert client.access_token != before


def upload():
    """Uploads a photo in one call and a video in segments, both as base64."""
    global media_id
    photo = base64.b64encode(trial.sample("photo-640x640.jpg")).decode()
    media_id = client.media.upload(body=UploadRequest(media=photo, media_category="tweet_image")).data.id
    film = trial.sample("video-5s-64x64.mp4")
    begun = InitializeUploadRequest(
        media_type="video/mp4", media_category="tweet_video", total_bytes=len(film)
    )
    film_id = client.media.initialize_upload(body=begun).data.id
    for index, start in enumerate(range(0, len(film), 1024)):
        piece = base64.b64encode(film[start : start + 1024]).decode()
        client.media.append_upload(film_id, body=AppendUploadRequest(media=piece, segment_index=index))
    client.media.finalize_upload(film_id)
    until = time.monotonic() + 60
    while client.media.get_upload_status(film_id).data.processing_info.state != "succeeded":
        assert time.monotonic() < until
        time.sleep(0.2)


def post():
    global post_id
    body = {"text": "Fresh rye & butter", "media": {"media_ids": [media_id]}, "made_with_ai": True}
    post_id = client.posts.create(body=CreateRequest.model_validate(body)).data.id


def read():
    global me
    me = client.users.get_me(user_fields=["public_metrics", "profile_image_url"]).data
    page = next(client.users.get_posts(me.id, max_results=5, post_fields=["created_at", "public_metrics"]))
    [own] = page.data
    assert own.id == post_id


def comment():
    global comment_id
    body = {"text": "Recipe below", "reply": {"in_reply_to_tweet_id": post_id}}
    comment_id = client.posts.create(body=CreateRequest.model_validate(body)).data.id


def reply():
    visitors = trial.comment("TW", post_id, "Open on Sunday?")
    body = {"text": "From eight", "reply": {"in_reply_to_tweet_id": visitors}}
    client.posts.create(body=CreateRequest.model_validate(body))


def delete():
    for thing_id in (comment_id, post_id):
        assert client.posts.delete(thing_id).data.deleted


trial.report("xdk", "X", log_in, refresh, upload, post, read, comment, reply, delete)
