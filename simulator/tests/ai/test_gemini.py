"""Tests the simulated Gemini API as a client sees it. Connections that drop or hang are tested in
test_live_server.py.
"""

import base64

import pytest

from simulator import inspection
from simulator.samples import photo

KEY = {"x-goog-api-key": "local-gemini-key"}
FLASH, PRO, TEXT, VEO = (
    "gemini-3.1-flash-image", "gemini-3-pro-image", "gemini-3.5-flash", "veo-3.1-generate-preview",
)  # fmt: skip


def generate(client, prompt="A bakery", model=FLASH, pictures=(), headers=KEY, **body):
    parts = [{"text": prompt}, *({"inline_data": inline} for inline in pictures)]
    body = {"contents": [{"role": "user", "parts": parts}], **body}
    return client.post(f"/v1beta/models/{model}:generateContent", json=body, headers=headers)


def blob(width=640, height=480, ending="png", mime_type="image/png"):
    return {"mime_type": mime_type, "data": base64.b64encode(photo.draw(width, height, ending)).decode()}


def picture_of(answer):
    [part] = [p for p in answer.get_json()["candidates"][0]["content"]["parts"] if "inlineData" in p]
    made = inspection.photo(base64.b64decode(part["inlineData"]["data"]))
    assert part["inlineData"]["mimeType"] == f"image/{made.format.lower()}"
    return made


def error_of(answer):
    error = answer.get_json()["error"]
    assert error["code"] == answer.status_code
    return answer.status_code, error["status"]


def made(client):
    return client.get("/_sim/ai").get_json()["counts"].get("gemini", {})


@pytest.mark.parametrize(
    ("ratio", "aspect"), [("1:1", 1), ("16:9", 16 / 9), ("9:16", 9 / 16), ("4:3", 4 / 3), ("3:4", 3 / 4)]
)
def test_a_picture_has_the_ratio_that_was_asked_for(client, ratio, aspect):
    answer = generate(client, generationConfig={"imageConfig": {"aspectRatio": ratio}})
    assert answer.get_json()["candidates"][0]["finishReason"] == "STOP"
    assert picture_of(answer).aspect == pytest.approx(aspect, rel=0.02)


def test_without_a_ratio_a_picture_is_square_or_like_the_one_given(client):
    assert picture_of(generate(client)).aspect == 1
    assert picture_of(generate(client, pictures=[blob(1600, 900)])).aspect == pytest.approx(16 / 9, rel=0.02)


def test_a_bigger_size_is_twice_as_wide(client):
    answer = generate(client, generationConfig={"imageConfig": {"imageSize": "2K"}})
    assert picture_of(answer).width == 2048


def test_the_flash_model_gives_png_and_the_pro_model_jpeg(client):
    assert picture_of(generate(client)).format == "PNG"
    assert picture_of(generate(client, model=PRO)).format == "JPEG"


def test_words_come_with_a_picture_unless_pictures_alone_are_asked_for(client):
    parts = generate(client).get_json()["candidates"][0]["content"]["parts"]
    assert ["text" in part for part in parts] == [True, False]
    alone = generate(client, generationConfig={"responseModalities": ["IMAGE"]})
    assert len(alone.get_json()["candidates"][0]["content"]["parts"]) == 1


def test_what_was_made_is_counted_with_its_references(client):
    generate(client)
    generate(client, "Make it blue", pictures=[blob(), blob()])
    generate(client, "Sourdough", model=TEXT)
    assert made(client) == {"image": 1, "edit": 1, "caption": 1}
    edit = client.get("/_sim/ai").get_json()["works"][1]
    assert (edit["prompt"], edit["references"], edit["model"]) == ("Make it blue", 2, FLASH)
    client.post("/_sim/reset")
    assert made(client) == {}


def test_a_caption_has_the_words_its_instructions_ask_for(client):
    answer = generate(
        client, "Sourdough", model=TEXT, system_instruction={"parts": [{"text": "Write about 45 words."}]}
    )
    [part] = answer.get_json()["candidates"][0]["content"]["parts"]
    assert len(part["text"].split()) == 45


def test_a_caption_ends_early_at_its_limit_of_tokens(client):
    answer = generate(client, "Sourdough", model=TEXT, generationConfig={"maxOutputTokens": 15})
    assert answer.get_json()["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_a_call_without_a_key_or_with_a_wrong_one_is_refused(client):
    assert error_of(generate(client, headers={})) == (403, "PERMISSION_DENIED")
    wrong = generate(client, headers={"x-goog-api-key": "nonsense"})
    assert error_of(wrong) == (400, "INVALID_ARGUMENT")
    assert wrong.get_json()["error"]["details"][0]["reason"] == "API_KEY_INVALID"


@pytest.mark.parametrize("model", ["gemini-9-nano", "gpt-image-2", VEO])
def test_a_model_that_does_not_do_this_is_not_found(client, model):
    assert error_of(generate(client, model=model)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    "body",
    [
        {"contents": []},
        {"contents": [{"parts": []}]},
        {"contents": ["hello"]},
        {"text": "hello"},
        {"generationConfig": {"aspectRatio": "1:1"}},
        {"generationConfig": {"imageConfig": {"aspectRatio": "7:3"}}},
        {
            "contents": [
                {"parts": [{"inlineData": {"mimeType": "image/png", "data": "bm90IGEgcGljdHVyZQ=="}}]}
            ]
        },
        {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "***"}}]}]},
    ],
)
def test_a_malformed_request_is_refused(client, body):
    assert error_of(generate(client, **body)) == (400, "INVALID_ARGUMENT")


def test_a_gif_is_no_picture_for_it(client):
    answer = generate(client, pictures=[blob(64, 64, "gif", "image/gif")])
    assert (error_of(answer)[0], "image/gif" in answer.get_data(as_text=True)) == (400, True)


def test_an_unsafe_prompt_gets_feedback_and_no_candidate(client):
    body = generate(client, "A [unsafe] thing").get_json()
    assert body["promptFeedback"]["blockReason"] == "PROHIBITED_CONTENT"
    assert "candidates" not in body
    assert made(client) == {}


def test_an_unsafe_result_is_withheld(client):
    [candidate] = generate(client, "A [unsafe result] thing").get_json()["candidates"]
    assert (candidate["finishReason"], candidate["content"]) == ("IMAGE_SAFETY", {})
    assert made(client) == {}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("rate_limit", (429, "RESOURCE_EXHAUSTED")),
        ("server_error", (500, "INTERNAL")),
        ("expired", (400, "INVALID_ARGUMENT")),
    ],
)
def test_a_planned_refusal_is_worded_as_googles_and_makes_nothing(client, plan_fault, mode, expected):
    plan_fault("gemini", "image", mode)
    assert error_of(generate(client)) == expected
    assert made(client) == {}
    assert generate(client).status_code == 200


def test_a_rate_limit_says_when_to_come_again(client, plan_fault):
    plan_fault("gemini", "caption", "rate_limit")
    details = generate(client, model=TEXT).get_json()["error"]["details"]
    assert details[-1] == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}


def test_a_rejected_picture_is_withheld_and_a_rejected_caption_refused(client, plan_fault):
    plan_fault("gemini", "any", "reject")
    assert generate(client).get_json()["candidates"][0]["finishReason"] == "IMAGE_SAFETY"
    assert error_of(generate(client, model=TEXT)) == (400, "INVALID_ARGUMENT")


def test_picture_edit_and_caption_have_faults_of_their_own(client, plan_fault):
    plan_fault("gemini", "edit", "server_error")
    assert [generate(client).status_code, generate(client, model=TEXT).status_code] == [200, 200]
    assert generate(client, pictures=[blob()]).status_code == 500
