"""Tests the simulated Veo: operations, how they end, and the file."""

import base64

import pytest

from simulator import inspection
from simulator.samples import photo

KEY = {"x-goog-api-key": "local-gemini-key"}
MODEL = "veo-3.1-generate-preview"


def start(client, prompt="A bakery", model=MODEL, image=None, **parameters):
    instance = {"prompt": prompt, **({"image": image} if image else {})}
    body = {"instances": [instance], "parameters": parameters}
    return client.post(f"/v1beta/models/{model}:predictLongRunning", json=body, headers=KEY)


def look(client, name):
    return client.get(f"/v1beta/{name}", headers=KEY)


def finished(client, clock, **more):
    """Requests a film and returns its finished operation."""
    name = start(client, durationSeconds=4, **more).get_json()["name"]
    clock.pass_time(3)
    answer = look(client, name).get_json()
    assert answer["done"] is True
    return answer


def uri_of(answer):
    [sample] = answer["response"]["generateVideoResponse"]["generatedSamples"]
    return sample["video"]["uri"]


def test_a_film_is_done_within_three_seconds_and_not_at_once(client, clock):
    name = start(client).get_json()["name"]
    assert name.startswith(f"models/{MODEL}/operations/")
    assert look(client, name).get_json() == {"name": name}
    clock.pass_time(3)
    assert look(client, name).get_json()["done"] is True
    assert client.get("/_sim/ai").get_json()["counts"] == {"gemini": {"video": 1}}


def test_the_file_lies_behind_a_redirect_and_needs_the_key(client, clock):
    uri = uri_of(finished(client, clock))
    assert client.get(uri).status_code == 403
    moved = client.get(uri, headers=KEY)
    assert moved.status_code == 302
    assert client.get(moved.headers["Location"]).status_code == 403
    film = client.get(moved.headers["Location"], headers=KEY)
    assert (film.status_code, film.mimetype) == (200, "video/mp4")
    assert film.content_length == len(film.data)
    assert inspection.video(film.data).moov_first


def test_a_picture_can_be_animated(client, clock):
    image = {
        "bytesBase64Encoded": base64.b64encode(photo.draw(720, 1280, "jpg")).decode(),
        "mimeType": "image/jpeg",
    }
    uri = uri_of(finished(client, clock, image=image, aspectRatio="9:16"))
    assert inspection.video(client.get(uri, headers=KEY, follow_redirects=True).data).seconds == 4
    assert client.get("/_sim/ai").get_json()["works"][0]["references"] == 1


def test_an_inline_picture_is_not_how_it_is_done_here(client):
    answer = start(client, image={"inlineData": {"mimeType": "image/png", "data": "AA=="}})
    assert (answer.status_code, "inlineData" in answer.get_data(as_text=True)) == (400, True)


@pytest.mark.parametrize(
    "parameters",
    [
        {"aspectRatio": "1:1"},
        {"durationSeconds": 5},
        {"resolution": "480p"},
        {"resolution": "1080p", "durationSeconds": 4},
        {"fps": 24},
    ],
)
def test_what_veo_cannot_do_is_refused(client, parameters):
    answer = start(client, **parameters)
    assert (answer.status_code, answer.get_json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_unknown_models_operations_and_files_are_not_there(client):
    assert start(client, model="gemini-3.5-flash").status_code == 404
    assert look(client, f"models/{MODEL}/operations/nothing").status_code == 404
    assert client.get("/download/v1beta/files/nothing:download", headers=KEY).status_code == 403


def test_an_unsafe_prompt_ends_as_an_error(client, clock):
    answer = finished(client, clock, prompt="A [unsafe] thing")
    assert answer["error"]["code"] == 3
    assert "response" not in answer


def test_an_unsafe_result_is_filtered(client, clock):
    response = finished(client, clock, prompt="A [unsafe result] thing")["response"]["generateVideoResponse"]
    assert response["raiMediaFilteredCount"] == len(response["raiMediaFilteredReasons"]) == 1
    assert "generatedSamples" not in response


def test_a_rejected_status_ends_the_film_for_good(client, plan_fault, clock):
    name = start(client).get_json()["name"]
    plan_fault("gemini", "status", "reject")
    for _ in range(2):
        assert (
            look(client, name).get_json()["response"]["generateVideoResponse"]["raiMediaFilteredCount"] == 1
        )


@pytest.mark.parametrize(("mode", "status"), [("reject", 400), ("rate_limit", 429), ("server_error", 500)])
def test_a_film_that_is_refused_is_not_begun(client, plan_fault, mode, status):
    plan_fault("gemini", "video", mode)
    assert start(client).status_code == status
    assert client.get("/_sim/ai").get_json()["works"] == []


def test_looking_and_downloading_have_faults_of_their_own(client, plan_fault, clock):
    plan_fault("gemini", "status", "server_error")
    plan_fault("gemini", "download", "server_error")
    name = start(client, durationSeconds=4).get_json()["name"]
    clock.pass_time(3)
    assert [look(client, name).status_code for _ in range(2)] == [500, 200]
    file = client.get(uri_of(look(client, name).get_json()), headers=KEY).headers["Location"]
    assert [client.get(file, headers=KEY).status_code for _ in range(2)] == [500, 200]


def test_a_reset_forgets_the_films(client):
    name = start(client).get_json()["name"]
    client.post("/_sim/reset")
    assert look(client, name).status_code == 404
