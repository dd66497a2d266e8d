"""A multipart body has the same parts however its bytes are split into reads."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import UPLOAD_ERROR, ApiError
from gateway.http.multipart import MAX_HEAD_BYTES, MAX_SKIPPED_BYTES, Multipart, Part, boundary_of

BOUNDARY = b"bnd"


def part(name: str, content: bytes, filename: str | None = None, head: str = "") -> bytes:
    disposition = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        disposition += f'; filename="{filename}"'
    return f"--bnd\r\n{disposition}\r\n{head}\r\n".encode() + content + b"\r\n"


def parse(body: bytes, piece: int = 2**18) -> list[tuple[Part, bytes]]:
    stream = io.BytesIO(body)
    parts = Multipart(lambda most: stream.read(min(most, piece)), BOUNDARY)
    found = []
    while (head := parts.next_part()) is not None:
        found.append((head, b"".join(parts.content())))
    return found


#: Pieces that look like boundaries when they are joined.
LOOKALIKES = st.sampled_from([b"\r\n", b"--", b"bnd", b"bn", b"\r", b"\n", b"-", b"x", b"\0"])


@given(
    contents=st.lists(st.lists(LOOKALIKES, max_size=12).map(b"".join), max_size=4),
    piece=st.integers(1, 40),
)
def test_contents_come_back_as_they_were_whatever_the_pieces(contents: list[bytes], piece: int) -> None:
    contents = [content for content in contents if b"\r\n--bnd" not in b"\r\n" + content + b"\r\n"]
    body = b"".join(part(f"p{n}", content, "x.jpg") for n, content in enumerate(contents)) + b"--bnd--\r\n"
    found = parse(body, piece)
    assert [content for _, content in found] == contents
    assert [head.name for head, _ in found] == [f"p{n}" for n in range(len(contents))]


@given(st.binary(max_size=200), st.integers(1, 50))
def test_nonsense_is_an_upload_error_and_nothing_else(body: bytes, piece: int) -> None:
    with pytest.raises(ApiError) as refusal:
        parse(body, piece)
    assert refusal.value.row is UPLOAD_ERROR


def test_the_position_is_where_the_content_begins() -> None:
    body = part("a", b"12") + part("file", b"345", "x.jpg") + b"--bnd--\r\n"
    parts = Multipart(io.BytesIO(body).read, BOUNDARY)
    parts.next_part()
    parts.skip()
    parts.next_part()
    assert body[parts.position :] == b"345\r\n--bnd--\r\n"


def test_a_head_says_name_filename_and_type() -> None:
    head = "content-TYPE: Image/JPEG; charset=x\r\n"
    [(found, _)] = parse(b"to be ignored\r\n" + part("file", b"x", "a b.jpg", head) + b"--bnd--")
    assert found == Part(name="file", filename="a b.jpg", mime_type="image/jpeg")


def test_a_filename_beyond_ascii_is_read_in_either_spelling() -> None:
    plain = b'--bnd\r\nContent-Disposition: form-data; name="file"; filename="\xc3\xa9.jpg"\r\n\r\nx\r\n'
    extended = (
        b"--bnd\r\nContent-Disposition: form-data;\r\n name=file; filename*=UTF-8''%C3%A9.jpg\r\n\r\nx\r\n"
    )
    assert [head.filename for head, _ in parse(plain + extended + b"--bnd--")] == ["é.jpg", "é.jpg"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--bnd",
        part("file", b"x", "x.jpg"),
        b"--bndx\r\n\r\n\r\n--bndx--",
        b"--bnd\r\nContent-Type: image/jpeg\r\n\r\nx\r\n--bnd--",
        b"--bnd\r\nContent-Disposition: attachment; name=file\r\n\r\nx\r\n--bnd--",
        b"--bnd\r\nX: " + b"a" * (MAX_HEAD_BYTES + 2**19) + b"\r\n\r\nx\r\n--bnd--",
    ],
)
def test_what_is_no_multipart_body_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError, check=lambda error: error.row is UPLOAD_ERROR):
        parse(body)


def test_a_large_value_is_read_as_content_but_not_skipped() -> None:
    body = part("a", b"x" * (MAX_SKIPPED_BYTES + 1)) + b"--bnd--\r\n"
    assert len(parse(body)[0][1]) == MAX_SKIPPED_BYTES + 1
    parts = Multipart(io.BytesIO(body).read, BOUNDARY)
    parts.next_part()
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        parts.skip()


@pytest.mark.parametrize("size", [0, 200, MAX_SKIPPED_BYTES // 2])
def test_many_small_values_are_skipped_no_further_than_a_large_one(size: int) -> None:
    one, sent = part("a", b"x" * size), [0]

    def read(_most: int) -> bytes:
        sent[0] += len(one)
        return one if sent[0] < 10 * MAX_SKIPPED_BYTES else b""

    parts = Multipart(read, BOUNDARY)
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        while parts.next_part() is not None:
            parts.skip()
    assert sent[0] < 3 * MAX_SKIPPED_BYTES


@pytest.mark.parametrize(
    "given", ["", "; boundary=", f"; boundary={'x' * 71}", '; boundary="a\tb"', "; boundary=é"]
)
def test_a_content_type_without_a_boundary_is_an_upload_error(given: str) -> None:
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        boundary_of(f"multipart/form-data{given}")


def test_a_boundary_is_taken_quoted_or_not() -> None:
    assert boundary_of('multipart/form-data; charset=utf-8; boundary="a b"') == b"a b"
    assert boundary_of("multipart/form-data;boundary=----WebKitFormBoundaryX") == b"----WebKitFormBoundaryX"
