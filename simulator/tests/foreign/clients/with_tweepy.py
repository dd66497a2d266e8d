"""Tries tweepy: its authorization code flow of OAuth 2.0, and its client of the API v2."""

import trial
import tweepy

SCOPES = ["tweet.read", "tweet.write", "users.read", "offline.access"]
FIELDS = ["author_id", "conversation_id", "created_at", "public_metrics", "referenced_tweets"]


def log_in():
    global handler, client
    client_id, secret = trial.app("TW")
    handler = tweepy.OAuth2UserHandler(
        client_id=client_id, redirect_uri=trial.callback("twitter"), scope=SCOPES, client_secret=secret
    )
    token = handler.fetch_token(trial.visit(handler.get_authorization_url()))
    client = tweepy.Client(token["access_token"])


def refresh():
    global client
    token = handler.refresh_token("https://api.twitter.com/2/oauth2/token", auth=handler.auth)
    client = tweepy.Client(token["access_token"])


def post():
    global post_id
    made = client.create_tweet(text="Fresh rye & butter", reply_settings="following", user_auth=False)
    post_id = made.data["id"]


def read():
    me = client.get_me(user_auth=False, user_fields=["profile_image_url", "public_metrics"]).data
    assert me.public_metrics["tweet_count"] >= 0
    [own] = client.get_users_tweets(me.id, tweet_fields=FIELDS, max_results=5, exclude=["retweets"]).data
    assert (str(own.id), own.text, own.public_metrics["like_count"]) == (post_id, "Fresh rye &amp; butter", 0)
    [shown] = client.get_tweets([post_id], tweet_fields=FIELDS, expansions=["author_id"]).data
    assert shown.author_id == me.id


def comment():
    global comment_id
    made = client.create_tweet(text="Recipe below", in_reply_to_tweet_id=post_id, user_auth=False)
    comment_id = made.data["id"]
    query = f"conversation_id:{post_id}"
    found = client.search_recent_tweets(
        query, tweet_fields=FIELDS, expansions=["author_id"], user_fields=["username"]
    )
    assert {str(row.id) for row in found.data} == {post_id, comment_id}
    assert found.includes["users"]


def reply():
    visitors = trial.comment("TW", post_id, "Open on Sunday?")
    made = client.create_tweet(text="From eight", in_reply_to_tweet_id=visitors, user_auth=False)
    [reference] = client.get_tweet(made.data["id"], tweet_fields=FIELDS).data.referenced_tweets
    assert (str(reference.id), reference.type) == (visitors, "replied_to")


def delete():
    for thing_id in (comment_id, post_id):
        assert client.delete_tweet(thing_id, user_auth=False).data == {"deleted": True}
    assert client.get_tweet(post_id).data is None


trial.report(
    "tweepy", "X", log_in, refresh, trial.nothing("upload"), post, read, comment, reply, delete,
    upload="no: its uploads go to API v1.1",
)  # fmt: skip
