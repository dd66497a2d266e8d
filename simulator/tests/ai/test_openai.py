"""Tests the simulated OpenAI API as a client sees it."""

import base64
from io import BytesIO

import pytest

from simulator import inspection
from simulator.samples import photo

KEY = {"Authorization": "Bearer local-openai-key"}


def generate(client, headers=KEY, **fields):
    fields = {"model": "gpt-image-2", "prompt": "A bakery", **fields}
    return client.post("/v1/images/generations", json=fields, headers=headers)


def edit(client, pictures=((640, 480),), name="image[]", ending="png", headers=KEY, **fields):
    files = [
        (BytesIO(photo.draw(*size, ending)), f"picture.{ending}", f"image/{ending}") for size in pictures
    ]
    data = {"model": "gpt-image-2", "prompt": "Make it blue", name: files, **fields}
    return client.post("/v1/images/edits", data=data, headers=headers, content_type="multipart/form-data")


def chat(client, *messages, headers=KEY, **fields):
    fields = {"model": "gpt-5-mini", "messages": list(messages) or [user("Sourdough")], **fields}
    return client.post("/v1/chat/completions", json=fields, headers=headers)


def user(content):
    return {"role": "user", "content": content}


def picture_of(answer):
    assert answer.status_code == 200, answer.get_json()
    return inspection.photo(base64.b64decode(answer.get_json()["data"][0]["b64_json"]))


def error_of(answer):
    error = answer.get_json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    return answer.status_code, error["type"], error["code"]


def made(client):
    return client.get("/_sim/ai").get_json()["counts"].get("openai", {})


@pytest.mark.parametrize(
    ("model", "size", "shape"),
    [
        ("gpt-image-1-mini", "1024x1536", (1024, 1536)),
        ("gpt-image-2", "auto", (1024, 1024)),
        ("gpt-image-2", "1536x864", (1536, 864)),
    ],
)
def test_a_picture_has_the_size_that_was_asked_for(client, model, size, shape):
    made = picture_of(generate(client, model=model, size=size))
    assert (made.format, made.width, made.height) == ("PNG", *shape)


def test_a_picture_comes_in_the_format_and_number_asked_for(client):
    answer = generate(client, output_format="webp", n=2)
    assert picture_of(answer).format == "WEBP"
    assert len(answer.get_json()["data"]) == 2
    assert made(client) == {"image": 2}


@pytest.mark.parametrize("name", ["image", "image[]"])
def test_an_edit_keeps_the_shape_of_its_picture(client, name):
    made_picture = picture_of(edit(client, [(1600, 900)], name))
    assert (made_picture.width, made_picture.height) == (1536, 1024)
    assert made(client) == {"edit": 1}


def test_an_edit_tells_how_many_pictures_it_got(client):
    edit(client, [(100, 100), (90, 90), (80, 80)])
    [work] = client.get("/_sim/ai").get_json()["works"]
    assert (work["provider"], work["operation"], work["references"]) == ("openai", "edit", 3)


def test_an_edit_needs_pictures_of_a_kind_it_reads(client):
    assert error_of(edit(client, []))[2] == "missing_required_parameter"
    assert error_of(edit(client, ending="gif"))[2] == "unsupported_file_mimetype"
    broken = {"model": "gpt-image-2", "prompt": "x", "image": (BytesIO(b"no"), "a.png", "image/png")}
    answer = client.post("/v1/images/edits", data=broken, headers=KEY)
    assert error_of(answer)[2] == "invalid_image_file"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"prompt": ""}, "prompt"),
        ({"size": "1920x1080"}, "size"),
        ({"size": "160x160"}, "size"),
        ({"model": "gpt-image-1", "size": "1536x864"}, "size"),
        ({"n": 11}, "n"),
        ({"quality": "hd"}, "quality"),
        ({"response_format": "b64_json"}, "response_format"),
    ],
)
def test_what_cannot_be_is_refused_with_the_name_of_the_field(client, change, param):
    answer = generate(client, **change)
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize("call", [generate, edit, chat])
def test_keys_and_models_are_checked_everywhere(client, call):
    assert error_of(call(client, headers={}))[0] == 401
    assert error_of(call(client, headers={"Authorization": "Bearer no"}))[2] == "invalid_api_key"
    assert error_of(call(client, model="dall-e-3")) == (404, "invalid_request_error", "model_not_found")


def test_a_caption_has_the_words_that_were_asked_for(client):
    answer = chat(
        client, {"role": "system", "content": "Write about 30 words."}, user("Sourdough")
    ).get_json()
    [choice] = answer["choices"]
    assert len(choice["message"]["content"].split()) == 30
    assert (choice["finish_reason"], answer["object"]) == ("stop", "chat.completion")


def test_a_caption_ends_early_at_its_limit_of_tokens(client):
    [choice] = chat(client, max_completion_tokens=15).get_json()["choices"]
    assert (choice["finish_reason"], len(choice["message"]["content"].split())) == ("length", 10)


@pytest.mark.parametrize("messages", [[], ["hello"], [{"role": "boss", "content": "x"}], [{"role": "user"}]])
def test_a_chat_needs_messages(client, messages):
    body = {"model": "gpt-5-mini", "messages": messages}
    assert client.post("/v1/chat/completions", json=body, headers=KEY).status_code == 400


@pytest.mark.parametrize(("mark", "stage"), [("[unsafe]", "input"), ("[unsafe result]", "output")])
def test_an_unsafe_picture_is_refused_by_the_safety_system(client, mark, stage):
    for call in (generate, edit):
        answer = call(client, prompt=f"A {mark} thing")
        assert error_of(answer) == (400, "image_generation_user_error", "moderation_blocked")
        assert answer.get_json()["error"]["moderation_details"]["moderation_stage"] == stage
    assert made(client) == {}


def test_an_unsafe_caption_is_declined_in_the_answer(client):
    message = chat(client, user("An [unsafe] thing")).get_json()["choices"][0]["message"]
    assert (message["content"], bool(message["refusal"])) == (None, True)
    assert made(client) == {}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reject", (400, "image_generation_user_error", "moderation_blocked")),
        ("rate_limit", (429, "requests", "rate_limit_exceeded")),
        ("server_error", (500, "server_error", None)),
        ("expired", (401, "invalid_request_error", "invalid_api_key")),
    ],
)
def test_a_planned_refusal_is_worded_as_openais_and_makes_nothing(client, plan_fault, mode, expected):
    plan_fault("openai", "image", mode)
    assert error_of(generate(client)) == expected
    assert made(client) == {}
    assert generate(client).status_code == 200


def test_a_rate_limit_says_when_to_come_again(client, plan_fault):
    plan_fault("openai", "caption", "rate_limit")
    assert chat(client).headers["Retry-After"] == "1"


def test_each_operation_has_faults_of_its_own(client, plan_fault):
    plan_fault("openai", "edit", "server_error")
    assert [call(client).status_code for call in (generate, chat, edit, edit)] == [200, 200, 500, 200]
