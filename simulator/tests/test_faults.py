"""Tests planned faults: local-stack.md, "Simulator control". Connections that drop or hang are tested in
test_live_server.py.
"""

import pytest


def error_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error.get("error_subcode")


def try_to_post(page):
    return page.post(f"{page.account_id}/feed", message="hello")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reject", (400, 368, 1346003)),
        ("rate_limit", (400, 32, None)),
        ("server_error", (500, 2, None)),
        ("expired", (400, 190, 463)),
    ],
)
def test_a_refusal_is_worded_as_the_platform_words_it_and_changes_nothing(
    client, page, plan_fault, mode, expected
):
    plan_fault("FB", "publish", mode)
    assert error_of(try_to_post(page)) == expected
    assert client.get("/_sim/posts").get_json()["posts"] == []
    assert try_to_post(page).status_code == 200


def test_a_server_error_is_marked_transient(page, plan_fault):
    plan_fault("FB", "publish", "server_error")
    assert try_to_post(page).get_json()["error"]["is_transient"] is True


def test_a_rate_limit_on_instagram_has_its_own_code_and_full_usage(insta, plan_fault):
    plan_fault("IG", "profile", "rate_limit")
    answer = insta.get(insta.account_id, fields="username")
    assert error_of(answer)[:2] == (400, 80002)
    assert '"call_count":100' in answer.headers["X-Business-Use-Case-Usage"]


def test_a_fault_happens_as_often_as_planned(page, plan_fault, client):
    plan_fault("FB", "publish", "reject", times=2)
    assert [try_to_post(page).status_code for _ in range(3)] == [400, 400, 200]
    assert client.get("/_sim/faults").get_json()["faults"] == []


def test_what_is_left_of_a_fault_is_listed(page, plan_fault, client):
    plan_fault("FB", "publish", "reject", times=3)
    try_to_post(page)
    [fault] = client.get("/_sim/faults").get_json()["faults"]
    assert (fault["operation"], fault["mode"], fault["times"]) == ("publish", "reject", 2)
    client.delete("/_sim/faults")
    assert try_to_post(page).status_code == 200


def test_a_fault_can_be_for_one_account(page, new_account, plan_fault):
    plan_fault("FB", "publish", "reject", account_id=page.account_id)
    assert try_to_post(new_account("FB")).status_code == 200
    assert try_to_post(page).status_code == 400


def test_a_fault_is_for_its_platform_alone(page, plan_fault):
    plan_fault("IG", "any", "reject")
    assert try_to_post(page).status_code == 200


def operations(page, insta, media_url):
    """Returns a call for each operation, by the operation's name."""
    post_id = page.publish("base")
    comment = page.post(f"{post_id}/comments", message="c").get_json()["id"]
    container = insta.contain(image_url=media_url + "photo-800x800.jpg")
    photo = media_url + "photo-800x800.jpg"
    return {
        ("FB", "publish"): lambda: try_to_post(page),
        ("FB", "upload"): lambda: page.post(f"{page.account_id}/photos", url=photo, published="false"),
        ("FB", "status"): lambda: page.get(f"{page.account_id}/feed"),
        ("FB", "comment"): lambda: page.post(f"{post_id}/comments", message="c"),
        ("FB", "comments"): lambda: page.get(f"{post_id}/comments"),
        ("FB", "reply"): lambda: page.post(f"{comment}/comments", message="r"),
        ("FB", "engagement"): lambda: page.get(post_id, fields="reactions.summary(true)"),
        ("FB", "profile"): lambda: page.get(page.account_id, fields="name"),
        ("FB", "token"): lambda: page.client.get(
            "/graph.facebook.com/debug_token",
            query_string={"access_token": page.token, "input_token": page.token},
        ),
        ("IG", "upload"): lambda: insta.post(f"{insta.account_id}/media", image_url=photo),
        ("IG", "publish"): lambda: insta.post(f"{insta.account_id}/media_publish", creation_id=container),
        ("IG", "status"): lambda: insta.get(f"{insta.account_id}/media"),
    }


def test_each_operation_uses_up_its_own_faults_only(page, insta, media_url, plan_fault, clock):
    calls = operations(page, insta, media_url)
    clock.pass_time(1)
    for (platform, operation), call in calls.items():
        plan_fault(platform, operation, "server_error")
        others = [other for key, other in calls.items() if key != (platform, operation)]
        # Each container is published once, so publishing on Instagram is tried as the faulted call alone.
        statuses = [other().status_code for other in others if other is not calls["IG", "publish"]]
        assert set(statuses) == {200}, operation
        assert call().status_code == 500, operation
        assert call().status_code == 200, operation


def test_a_fault_for_any_operation_strikes_each_of_them_once(page, plan_fault, client):
    plan_fault("FB", "any", "server_error")
    assert [page.get(page.account_id).status_code for _ in range(2)] == [500, 200]
    assert [try_to_post(page).status_code for _ in range(2)] == [500, 200]


def test_a_rejected_container_turns_to_error_for_good(insta, media_url, plan_fault, clock):
    container = insta.contain(image_url=media_url + "photo-800x800.jpg")
    clock.pass_time(1)
    plan_fault("IG", "status", "reject")
    for _ in range(2):
        assert insta.get(container, fields="status_code").get_json()["status_code"] == "ERROR"


def test_a_rejected_video_never_becomes_a_post(page, media_url, plan_fault, client):
    video = page.post(f"{page.account_id}/videos", file_url=media_url + "video-5s.mp4").get_json()["id"]
    plan_fault("FB", "status", "reject")
    assert page.get(video, fields="status").get_json()["status"]["video_status"] == "error"
    assert client.get("/_sim/posts").get_json()["posts"] == []


def test_a_slow_answer_is_still_the_answer(page, plan_fault, client):
    plan_fault("FB", "publish", "slow")
    assert try_to_post(page).status_code == 200
    assert len(client.get("/_sim/posts").get_json()["posts"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"platform": "XX"},
        {"operation": "dance"},
        {"mode": "sulk"},
        {"times": 0},
        {"times": "1"},
        {"account_id": 1},
    ],
)
def test_a_fault_that_cannot_be_is_refused(client, change):
    body = {"platform": "FB", "operation": "publish", "mode": "reject", "times": 1, **change}
    assert client.post("/_sim/faults", json=body).status_code == 400
