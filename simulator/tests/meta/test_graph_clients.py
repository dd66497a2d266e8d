"""Tests what Meta's SDKs send and our connectors do not: versions, slashes, JSON lists, handles of uploads."""

import json

import pytest

from simulator.samples import video

GRAPH = "/graph.facebook.com"
FILM = video.make(4, 128, 128)


@pytest.mark.parametrize(
    ("asked", "answers"),
    [("v26.0", "v26.0"), ("v22.0", "v22.0"), ("v12.0", "v21.0"), ("v2.10", "v21.0"), ("", "v21.0")],
)
def test_a_version_that_is_over_is_answered_by_the_oldest_that_is_not(page, asked, answers):
    path = f"{GRAPH}/{asked}/{page.account_id}/" if asked else f"{GRAPH}/{page.account_id}/"
    answer = page.client.get(path, query_string={"access_token": page.token, "fields": '["id","name"]'})
    assert answer.get_json() == {"id": page.account_id, "name": "Corner Bakery"}
    assert answer.headers["facebook-api-version"] == answers


@pytest.mark.parametrize("version", ["v27.0", "v2.80", "26.0", "v24.1"])
def test_a_version_that_never_was_is_taken_for_an_object(page, version):
    answer = page.client.get(f"{GRAPH}/{version}/me/feed", query_string={"access_token": page.token})
    assert answer.status_code == 400
    assert answer.get_json()["error"]["message"] == "Unknown path components: /me/feed"


def test_lists_may_be_the_text_of_json(page, insta, media_url, clock):
    fields = json.dumps(["feed", "mention"])
    assert page.post(f"{page.account_id}/subscribed_apps", subscribed_fields=fields).status_code == 200
    photo = f"{media_url}photo-640x640.jpg"
    children = [insta.contain(image_url=photo, is_carousel_item="true") for _ in range(2)]
    clock.pass_time(5)
    insta.contain(media_type="CAROUSEL", children=json.dumps(children))


def test_a_film_goes_by_a_session_of_the_app_and_its_handle(page, sim, clock):
    app = sim.settings.meta_app_id
    begun = page.post(f"{app}/uploads", file_name="a.mp4", file_length=str(len(FILM)), file_type="video/mp4")
    address, half = f"{GRAPH}/v26.0/{begun.get_json()['id']}", len(FILM) // 2
    headers = {"Authorization": f"OAuth {page.token}", "file_offset": "0"}
    first = page.client.post(address, data=FILM[:half], headers=headers)
    assert first.get_json()["file_offset"] == half
    assert page.client.post(address, data=FILM[:half], headers=headers).status_code == 400
    headers["file_offset"] = str(half)
    handle = page.client.post(address, data=FILM[half:], headers=headers).get_json()["h"]
    made = page.post(f"{page.account_id}/videos", fbuploader_video_file_chunk=handle, description="Loaves")
    clock.pass_time(5)
    shown = page.get(f"{page.account_id}/videos", fields="id,description").get_json()["data"]
    assert shown == [{"id": made.get_json()["id"], "description": "Loaves"}]
    assert page.delete(made.get_json()["id"]).get_json() == {"success": True}
    assert page.get(f"{page.account_id}/videos").get_json()["data"] == []


def test_reactions_are_counted_where_a_summary_is_asked_for(page, client):
    post_id = page.publish()
    client.post("/_sim/metrics", json={"platform": "FB", "post_id": post_id, "likes": 3})
    assert page.get(f"{post_id}/reactions").get_json() == {"data": []}
    summary = page.get(f"{post_id}/reactions", summary="true").get_json()["summary"]
    assert summary["total_count"] == 3
