"""The type of a file, by the declared type, the file's name and its first bytes."""

import struct

import pytest
from media_kit import samples

from contracts.errors import ApiError
from contracts.media import CONVERTED_TYPES, MIME_TYPES
from media import file_types, names
from media.file_types import HEAD_BYTES, UNDECLARED


def boxed(*brands: bytes) -> bytes:
    return samples.box(b"ftyp", brands[0], bytes(4), *brands[1:]) + samples.box(b"mdat", bytes(100))


HEADS = {
    **{mime_type: samples.good(mime_type)[:HEAD_BYTES] for mime_type in MIME_TYPES},
    "image/heic": boxed(b"heic", b"mif1", b"heic"),
    "image/avif": boxed(b"avif", b"mif1", b"miaf"),
}


def refused(code: str, call, *arguments) -> str:
    with pytest.raises(ApiError, match=code) as error:
        call(*arguments)
    return str(error.value.message)


@pytest.mark.parametrize("mime_type", HEADS)
def test_a_file_is_of_its_declared_type_and_of_its_own_without_one(mime_type: str) -> None:
    assert file_types.true_type(mime_type, HEADS[mime_type]) == mime_type
    assert file_types.true_type(UNDECLARED, HEADS[mime_type]) == mime_type


@pytest.mark.parametrize("declared", MIME_TYPES)
def test_a_declared_type_that_contradicts_the_bytes_is_refused(declared: str) -> None:
    for mime_type, head in HEADS.items():
        if mime_type != declared and {mime_type, declared} != {"video/mp4", "video/quicktime"}:
            said = refused("INVALID_FILE_CONTENT", file_types.true_type, declared, head)
            assert declared in said
            assert mime_type in said


def test_the_owner_of_a_file_with_a_wrong_name_is_told_the_right_one() -> None:
    said = refused("INVALID_FILE_CONTENT", file_types.true_type, "image/png", HEADS["image/jpeg"])
    assert said == (
        "The file says that it is .png (image/png), but inside it is .jpg (image/jpeg). Rename it to end in .jpg, and "
        "upload it again."
    )


@pytest.mark.parametrize(
    ("declared", "head", "mime_type"),
    [
        ("video/mp4", boxed(b"qt  "), "video/quicktime"),
        ("video/quicktime", boxed(b"isom"), "video/quicktime"),
        ("video/mp4", samples.box(b"moov", bytes(80)), "video/quicktime"),
        (UNDECLARED, samples.box(b"wide"), "video/quicktime"),
        (UNDECLARED, boxed(b"M4V ", b"mp42"), "video/mp4"),
        (UNDECLARED, boxed(b"mif1", b"avif", b"miaf"), "image/avif"),
        (UNDECLARED, boxed(b"mif1", b"heic"), "image/heic"),
        (UNDECLARED, boxed(b"msf1", b"hevc"), "image/heic"),
        (UNDECLARED, boxed(b"avio", b"msf1", b"miaf"), "image/avif"),
        (UNDECLARED, boxed(b"make", b"mif1", b"avif"), "image/avif"),
        ("image/heic", boxed(b"make", b"mif1", b"heic"), "image/heic"),
        (UNDECLARED, boxed(b"make", b"mif1", b"heim"), "image/heic"),
        (UNDECLARED, boxed(b"3gp5", b"isom", b"mif1"), "video/mp4"),
        (UNDECLARED, boxed(b"isom", b"mif1", b"heic"), "video/mp4"),
        ("image/heic", HEADS["image/avif"], "image/avif"),
        ("image/heic", HEADS["image/jpeg"], "image/jpeg"),
    ],
)
def test_the_bytes_decide_between_related_types(declared: str, head: bytes, mime_type: str) -> None:
    assert file_types.true_type(declared, head) == mime_type


@pytest.mark.parametrize(
    "head", [b"", b"\xff\xd8", b"<svg xmlns=", b"%PDF-1.7", b"PK\x03\x04", b"CWS\x0a", b"II*\0", bytes(64)]
)
def test_other_files_are_refused_with_advice(head: bytes) -> None:
    for declared in (UNDECLARED, *HEADS):
        assert "Export it as" in refused("INVALID_FILE_CONTENT", file_types.true_type, declared, head)


@pytest.mark.parametrize(
    ("declared", "mime_type"),
    [
        *((f"{it.upper()}; charset=x", it) for it in HEADS),
        *((it, UNDECLARED) for it in ("", "application/octet-stream", "binary/octet-stream", "image/*")),
        ("image/jpg", "image/jpeg"),
        ("image/heif", "image/heic"),
        ("image/apng", "image/png"),
        ("video/x-m4v", "video/mp4"),
    ],
)
def test_types_have_one_name(declared: str, mime_type: str) -> None:
    assert file_types.check_declared("", declared) == mime_type


@pytest.mark.parametrize(
    "declared", ["image/svg+xml", "text/html", "application/pdf", "application/zip", "a" * 5000]
)
def test_other_types_are_refused(declared: str) -> None:
    assert len(refused("UPLOAD_ERROR", file_types.check_declared, ".jpg", declared)) < 300


@pytest.mark.parametrize("name", ["x.svg", "x.HTML", "x.pdf", "x.zip", "x.swf"])
def test_extensions_that_the_spec_refuses_are_refused(name: str) -> None:
    for declared in ("image/png", UNDECLARED):
        refused("UPLOAD_ERROR", file_types.check_declared, names.ending(name), declared)


@pytest.mark.parametrize(
    ("declared", "name", "ending"),
    [
        ("image/jpeg", "x.JPEG", ".jpeg"),
        ("image/jpeg", "x.jfif", ".jfif"),
        ("image/jpeg", "x.png", ".jpg"),
        ("image/png", "x", ".png"),
        ("image/png", "x.exe", ".png"),
        ("image/heic", "x.HEIC", ".jpg"),
        ("image/avif", "x.avif", ".jpg"),
        (UNDECLARED, "x.HEIC", ".jpg"),
        (UNDECLARED, "x.webp", ".webp"),
        (UNDECLARED, "x.php", ""),
        (UNDECLARED, "x", ""),
    ],
)
def test_an_address_never_ends_with_another_extension_than_ours(
    declared: str, name: str, ending: str
) -> None:
    assert file_types.ending_of(declared, names.ending(name)) == ending


def test_the_types_that_are_converted_are_none_of_the_seven() -> None:
    assert not CONVERTED_TYPES.keys() & MIME_TYPES.keys()


def test_only_the_announced_brands_count() -> None:
    head = struct.pack(">I4s4s", 16, b"ftyp", b"mif1") + bytes(4) + b"avif"
    assert file_types.true_type(UNDECLARED, head) == "image/heic"
