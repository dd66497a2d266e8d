"""File names: as displayed, in addresses, and which extensions are accepted."""

import pytest

from contracts.errors import ApiError
from contracts.media import MIME_TYPES
from media import names


@pytest.mark.parametrize(
    ("filename", "shown", "slug"),
    [
        ("photo.JPG", "photo.JPG", "photo.jpg"),
        ("Été à Paris (2).jpeg", "Été à Paris (2).jpeg", "Ete-a-Paris-2.jpeg"),
        ("../../etc/passwd.png", "passwd.png", "passwd.png"),
        ("C:\\Users\\me\\cat.gif", "cat.gif", "cat.gif"),
        ("日本.png", "日本.png", "file.png"),
        ("page.html.jpg", "page.html.jpg", "page-html.jpg"),
        ("a\0b\r\n\u202egpj.png", "abgpj.png", "abgpj.png"),
        ("%2e%2e%2fx?.png", "%2e%2e%2fx?.png", "2e-2e-2fx.png"),
    ],
)
def test_a_name_is_displayed_unchanged_and_readable_in_the_address(
    filename: str, shown: str, slug: str
) -> None:
    assert names.shown_name(filename) == shown
    assert names.slug(filename) == slug


def test_long_names_are_cut_and_keep_their_extension() -> None:
    long = "é" * 400 + ".jpeg"
    assert len(names.shown_name(long)) == 255
    assert names.shown_name(long).endswith(".jpeg")
    assert len(names.slug(long).encode()) <= 110


def test_keys_are_unguessable_and_known_as_keys() -> None:
    made = {names.new_key() for _ in range(1000)}
    assert len(made) == 1000
    assert all(names.is_key(key) for key in made)
    assert not any(names.is_key(key) for key in ("", "a" * 21, "a" * 23, "a" * 21 + "/", "a" * 21 + "\n"))


@pytest.mark.parametrize("mime_type", MIME_TYPES)
def test_each_type_accepts_its_extensions_and_no_other(mime_type: str) -> None:
    for other, endings in MIME_TYPES.items():
        for ending in endings:
            if other == mime_type:
                assert (
                    names.check_declared(f"x{ending.upper()}", f"{mime_type.upper()}; charset=x") == mime_type
                )
            else:
                with pytest.raises(ApiError, match="UPLOAD_ERROR"):
                    names.check_declared(f"x{ending}", mime_type)


@pytest.mark.parametrize(
    "name", ["x.svg", "x.html", "x.pdf", "x.zip", "x.swf", "x", "", ".jpg", "x.jpg.", "x.jpg/"]
)
def test_other_extensions_are_refused(name: str) -> None:
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        names.check_declared(name, "image/jpeg")


@pytest.mark.parametrize(
    "mime_type", ["image/svg+xml", "text/html", "application/pdf", "", "image/*", "a" * 5000]
)
def test_other_types_are_refused(mime_type: str) -> None:
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        names.check_declared("x.jpg", mime_type)
