"""Tests the library of files: uploads with progress and, for large files, in parts; refused files; use in a post;
deletion.
"""

import datetime as dt
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

NAMES = "return [...document.querySelectorAll('#library .name')].map(it => it.textContent)"


@pytest.fixture
def library(person: Any) -> Iterator[Any]:
    person.open("/library")
    yield person
    person.window.emulate_phone(0, 0, "")


def upload(person: Any, *paths: Path) -> None:
    person.window.type("#files-input", "\n".join(map(str, paths)))
    names = {path.name for path in paths}
    until(lambda: names <= set(person.window.run(NAMES)), 60, "the files are in the library")


def choose(person: Any, name: str) -> None:
    person.window.click(f"input[aria-label='Choose {name}']")


def test_files_are_uploaded_looked_at_and_deleted(library: Any, picture: Path, mp4: bytes) -> None:
    window = library.window
    assert "No files yet" in window.text(".nothing")
    film = picture.with_name("oven.mp4")
    film.write_bytes(mp4)
    upload(library, picture, film)
    assert not window.has(".uploading")
    library.open("/library")
    assert set(window.run(NAMES)) == {"bread.jpg", "oven.mp4"}
    window.press(".tile a[href*='/library/']")
    assert "pixels" in window.text(".facts")
    library.open("/library")
    choose(library, "bread.jpg")
    assert "A deleted file cannot be brought back." in window.text(".chosen")
    window.press(".chosen .bad")
    assert "1 file is deleted" in window.text("[role=status]")
    assert flaws(window) == []
    assert window.run(NAMES) == ["oven.mp4"]
    assert [it["filename"] for it in library.account.api.get("/media")["media"]] == ["oven.mp4"]


def test_the_actions_wait_until_files_are_selected(library: Any, picture: Path) -> None:
    upload(library, picture)
    window = library.window
    disabled = "return [...document.querySelectorAll('.chosen button')].map(it => it.disabled)"
    assert window.run(disabled) == [True, True]
    shown = "return document.querySelector('.chosen').checkVisibility()"
    assert not window.run(shown)
    choose(library, "bread.jpg")
    assert window.run(disabled) == [False, False]
    assert window.run(shown)
    assert window.text("#chosen-count") == "1 selected"
    choose(library, "bread.jpg")
    assert window.run(disabled) == [True, True]


def test_files_are_searched_and_narrowed(library: Any, picture: Path, mp4: bytes) -> None:
    window = library.window
    film = picture.with_name("oven.mp4")
    film.write_bytes(mp4)
    upload(library, picture, film)
    for query, names in (
        ("search=BREA", ["bread.jpg"]), ("show=videos", ["oven.mp4"]), ("show=photos", ["bread.jpg"]),
        ("show=unused", ["oven.mp4", "bread.jpg"]), ("show=videos&search=bread", []),
    ):  # fmt: skip
        library.open(f"/library?{query}")
        assert window.run(NAMES) == names
    assert "No files here for this choice." in window.text(".nothing")
    assert flaws(window) == []
    library.open("/library")
    window.run(
        "const it = document.querySelector('[name=show]'); it.value = 'videos';"
        "it.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    until(lambda: window.run(NAMES) == ["oven.mp4"], 20, "the videos are shown alone")
    assert "show=videos" in window.url


def test_files_are_dropped_on_the_page(library: Any) -> None:
    library.window.run(
        "const data = new DataTransfer(); const canvas = document.createElement('canvas');"
        "const done = blob => { data.items.add(new File([blob], 'dropped.png', {type: 'image/png'}));"
        "document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})) };"
        "canvas.toBlob(done)"
    )
    until(lambda: library.window.run(NAMES) == ["dropped.png"], 30, "the file is in the library")


def test_a_large_file_goes_in_parts_and_shows_its_progress(library: Any, jpeg: bytes, tmp_path: Path) -> None:
    large = tmp_path / "poster.jpg"
    large.write_bytes(jpeg + b"\0" * (9 * 2**20))  # a JPEG may be followed by anything
    window = library.window
    window.run(
        "window.seen = []; new MutationObserver(() => seen.push(document.querySelector('#waiting').innerText))"
        ".observe(document.querySelector('#waiting'), {subtree: true, childList: true, characterData: true})"
    )
    upload(library, large)
    assert any("Storing and checking" in it for it in window.run("return window.seen"))

    def is_logged() -> bool:
        entries = library.account.api.get("/logs")["entries"]
        return {"beginUpload", "completeUpload"} <= {it["operation"] for it in entries}

    until(is_logged, 30, "the log names the upload in parts")


def test_what_is_no_picture_is_refused_with_the_reason(library: Any, tmp_path: Path) -> None:
    window, letter = library.window, tmp_path / "letter.jpg"
    letter.write_text("Dear Sir or Madam")
    window.type("#files-input", str(letter))
    until(lambda: window.has("#waiting [role=alert]"), 20, "the refusal is told")
    assert len(window.text("#waiting [role=alert]")) > 10
    assert flaws(window) == []
    window.click("#waiting button")
    assert not window.has("#waiting li")
    # Stops an upload at a third.
    window.run(
        "const it = XMLHttpRequest.prototype, third = {lengthComputable: true, loaded: 1, total: 3};"
        "it.send = function () { this.upload.onprogress(third); };"
        "it.abort = function () { this.onabort(); }"
    )
    window.type("#files-input", str(letter))
    until(lambda: "33 %" in window.text("#waiting"), 20, "the progress is shown")
    assert flaws(window) == []
    window.click("#waiting button")
    assert not window.has("#waiting li")


def test_files_are_taken_into_a_new_post(library: Any, picture: Path) -> None:
    upload(library, picture)
    choose(library, "bread.jpg")
    library.window.press(".chosen .primary")
    assert library.window.title == "New post · Posthaste"
    assert "bread.jpg" in library.window.text("#files")


def test_a_file_that_a_scheduled_post_needs_stays_and_is_named(library: Any, picture: Path) -> None:
    upload(library, picture)
    api = library.account.api
    [file] = api.get("/media")["media"]
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=5)).isoformat()
    body = {"page_id": library.account.page_id("IG"), "media_ids": [file["media_id"]], "scheduled_at": at}
    api.post("/posts/schedule", body)
    library.open("/library")
    assert "In a scheduled post" in library.window.text("#library")
    choose(library, "bread.jpg")
    library.window.press(".chosen .bad")
    assert "bread.jpg: a scheduled post needs it" in library.window.text("[role=alert]")
    assert flaws(library.window) == []
    assert len(api.get("/media")["media"]) == 1


def test_every_post_that_uses_a_file_is_counted_and_the_first_ones_are_named(
    library: Any, picture: Path
) -> None:
    upload(library, picture)
    window, api = library.window, library.account.api
    [file] = api.get("/media")["media"]
    now = dt.datetime.now(dt.UTC)
    for number in range(12):
        at = (now + dt.timedelta(hours=5 + 2 * number)).isoformat()
        body = {"page_id": library.account.page_id("FB"), "media_ids": [file["media_id"]], "scheduled_at": at}
        api.post("/posts/schedule", body | {"message": f"Bread number {number}"})
    library.open("/library")
    assert "In 12 scheduled posts" in window.text("#library")
    library.open(f"/library/{file['media_id']}")
    assert "12 scheduled posts" in window.text(".facts")
    named = window.text(".uses")
    assert [number for number in range(12) if f"Bread number {number}\n" in named] == [*range(10)]
    assert "and 2 others" in window.text(".uses")
    assert window.run("return document.querySelector('button.bad').disabled")
    assert "cannot be deleted while 12 scheduled posts need it" in window.text("#why-not")
    assert flaws(window) == []
    window.press(".uses a")
    assert "Bread number 0" in window.text("main")


def test_a_file_that_is_not_there_any_more_does_not_count_as_deleted(library: Any, picture: Path) -> None:
    upload(library, picture)
    choose(library, "bread.jpg")
    api = library.account.api
    api.delete(f"/media/{api.get('/media')['media'][0]['media_id']}")
    library.window.press(".chosen .bad")
    assert "is not in your library" in library.window.text("[role=alert]")
    assert not library.window.has(".note.good")


def test_the_library_looks_right(library: Any, picture: Path) -> None:
    window = library.window
    assert flaws(window) == []
    upload(library, picture)
    choose(library, "bread.jpg")
    assert flaws(window) == []
    window.press(".tile a")
    assert flaws(window) == []


def test_who_sends_files_without_a_session_is_answered_before_they_arrive(stack: Stack) -> None:
    at = urlsplit(stack.env["DASHBOARD_URL"])
    head = (
        f"POST /library/files HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Length: {300 * 2**20}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    for cookie, place in (
        ("", "/sign-in"),
        ("Cookie: posthaste_session=svc_session_x\r\n", "/sign-in?ended=1"),
    ):
        with socket.create_connection((at.hostname or "", at.port or 80), timeout=10) as sender:
            sender.sendall(head.replace("\r\n", f"\r\n{cookie}", 1).encode())  # and no more
            answer = sender.makefile("rb").read().decode()  # until the connection ends
        assert answer.startswith("HTTP/1.1 303 ")
        assert f"\r\nLocation: {place}\r\n" in answer
