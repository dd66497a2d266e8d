"""Uploads through a real bus and a real storage."""

import io

from PIL import Image


def test_a_picture_comes_back_as_it_was(storage):
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "JPEG")
    media = storage.upload(file.getvalue(), "My Ünïcode photo.JPG", "image/jpeg")
    assert (media.width, media.height, media.type) == (40, 30, "photo")
    assert media.url.endswith("/My-Unicode-photo.jpg")
    answer = storage.fetch(media)
    assert answer.data == file.getvalue()
