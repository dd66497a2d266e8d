"""deploy/storage/policy.json on a real S3 server: media works with these rights, and can reach nothing else.

The server is SeaweedFS. MinIO is in no package index, and the local stack's rclone has no policies.
"""

import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from minio import Minio
from minio.commonconfig import CopySource, Tags
from minio.error import S3Error
from minio.versioningconfig import ENABLED, VersioningConfig
from seaweed import ADMIN, REGION, SECRET, seaweed
from seaweed import client as seaweed_client

from media.config import Settings
from media.storage.bucket import Bucket, NoSuchUpload

OURS, ANOTHER = "our-bucket", "another-bucket"
KEYS = {"admin": ADMIN, "media": ("media-key", "media-secret")}
#: S3's least size of a part that is not the last.
PART_BYTES = 5 * 1024 * 1024
Act = Callable[[Minio], object]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host and port of a server with two buckets, an administrator, and media's user, which has only the policy's
    rights.
    """
    with seaweed(tmp_path_factory.mktemp("s3"), {"media": (*KEYS["media"], OURS)}, ANOTHER) as address:
        yield address


def client(address: str, user: str) -> Minio:
    return seaweed_client(address, KEYS[user])


def read(s3: Minio, bucket: str) -> None:
    answer = s3.get_object(bucket, SECRET)
    answer.read()
    answer.close()
    answer.release_conn()


@pytest.fixture
def bucket(server: str) -> Iterator[Bucket]:
    """The S3 client of media."""
    access, secret = KEYS["media"]
    bucket = Bucket(
        Settings(
            s3_url=f"http://{server}",
            s3_public_url=f"http://{server}",
            region=REGION,
            bucket=OURS,
            access_key=access,
            secret_key=secret,
            public_base_url="https://files.test",
            confined_at_once=1,
            videos_at_once=1,
            workers=64,
            ffmpeg="",
            sandbox_required=False,
            orphan_sweep_seconds=3600,
        )
    )
    yield bucket
    bucket._http.clear()


def put(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


def test_every_call_that_media_makes_is_allowed(bucket: Bucket) -> None:
    bucket.put("key/photo.jpg", io.BytesIO(b"one photo"), "image/jpeg")
    put(bucket.put_url("key/given.jpg", timedelta(hours=1)), b"given")
    assert bucket.size("key/photo.jpg") == 9
    assert bucket.size("key/none.jpg") is None
    assert bucket.read("key/photo.jpg", 4, 5) == b"photo"
    assert b"".join(bucket.pieces("key/given.jpg")) == b"given"
    with urllib.request.urlopen(bucket.get_url("key/photo.jpg", "image/jpeg"), timeout=30) as answer:
        assert answer.read() == b"one photo"
    assert [name for name, _ in bucket.names(after="key/")] == ["key/given.jpg", "key/photo.jpg", SECRET]
    bucket.remove_key("key")
    assert [name for name, _ in bucket.names()] == [SECRET]


def test_media_uploads_in_parts_and_aborts_an_upload(bucket: Bucket) -> None:
    bodies = {1: b"a" * PART_BYTES, 2: b"b"}
    upload = bucket.begin_parts("large/film.mp4", "video/mp4")
    for number, body in bodies.items():
        put(bucket.part_url("large/film.mp4", upload, number, len(body), timedelta(hours=1)), body)
    parts = bucket.parts("large/film.mp4", upload)
    assert {number: size for number, (_, size) in parts.items()} == {1: PART_BYTES, 2: 1}
    bucket.complete_parts("large/film.mp4", upload, [(number, tag) for number, (tag, _) in parts.items()])
    assert bucket.read("large/film.mp4", PART_BYTES - 1, 2) == b"ab"

    aborted = bucket.begin_parts("large/other.mp4", "video/mp4")
    bucket.abort_parts("large/other.mp4", aborted)
    with pytest.raises(NoSuchUpload):
        bucket.parts("large/other.mp4", aborted)
    bucket.remove_key("large")


def administer(s3: Minio, action: str, **fields: str) -> None:
    """Calls the server's administration, which has the API of AWS IAM."""
    body = urlencode({"Action": action, "Version": "2010-05-08", **fields}).encode()
    s3._execute("POST", body=body, headers={"Content-Type": "application/x-www-form-urlencoded"})


def tags() -> Tags:
    made = Tags.new_bucket_tags()
    made["owner"] = "media"
    return made


PUBLIC = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": "*",
                "Action": ["s3:GetObject"],
                "Resource": [f"arn:aws:s3:::{OURS}/*"],
            }
        ],
    }
)
EVERYTHING = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:*"], "Resource": ["*"]}]}
)
#: In the order in which the administrator can do them all.
FORBIDDEN: dict[str, Act] = {
    "read another bucket's object": lambda s3: read(s3, ANOTHER),
    "look at another bucket's object": lambda s3: s3.stat_object(ANOTHER, SECRET),
    "list another bucket": lambda s3: list(s3.list_objects(ANOTHER)),
    "copy from another bucket": lambda s3: s3.copy_object(OURS, "copy", CopySource(ANOTHER, SECRET)),
    "copy to another bucket": lambda s3: s3.copy_object(ANOTHER, "copy", CopySource(OURS, SECRET)),
    "write to another bucket": lambda s3: s3.put_object(ANOTHER, "new", io.BytesIO(b"x"), 1),
    "upload in parts to another bucket": lambda s3: s3._create_multipart_upload(ANOTHER, "parts", {}),
    "delete from another bucket": lambda s3: s3.remove_object(ANOTHER, "new"),
    "create a bucket": lambda s3: s3.make_bucket("new-bucket"),
    "delete another bucket": lambda s3: s3.remove_bucket("new-bucket"),
    "make its bucket public": lambda s3: s3.set_bucket_policy(OURS, PUBLIC),
    "read its bucket's policy": lambda s3: s3.get_bucket_policy(OURS),
    "delete its bucket's policy": lambda s3: s3.delete_bucket_policy(OURS),
    "tag its bucket": lambda s3: s3.set_bucket_tags(OURS, tags()),
    "keep versions in its bucket": lambda s3: s3.set_bucket_versioning(OURS, VersioningConfig(ENABLED)),
    "list the users": lambda s3: administer(s3, "ListUsers"),
    "create a user": lambda s3: administer(s3, "CreateUser", UserName="eve"),
    "make keys for a user": lambda s3: administer(s3, "CreateAccessKey", UserName="eve"),
    "give a user everything": lambda s3: administer(
        s3, "PutUserPolicy", UserName="eve", PolicyName="all", PolicyDocument=EVERYTHING
    ),
}


def is_denied(act: Act, s3: Minio) -> bool:
    try:
        act(s3)
    except S3Error as error:
        assert error.code == "AccessDenied", error
        return True
    return False


def test_everything_else_is_refused(server: str) -> None:
    media, admin = client(server, "media"), client(server, "admin")
    allowed = [name for name, act in FORBIDDEN.items() if not is_denied(act, media)]
    assert allowed == []
    assert is_denied(lambda s3: s3.remove_bucket(OURS), media)
    # The server can do each of them: it was the policy that refused.
    assert [name for name, act in FORBIDDEN.items() if is_denied(act, admin)] == []


def test_media_sees_no_other_bucket_s_name(server: str) -> None:
    try:
        seen = [bucket.name for bucket in client(server, "media").list_buckets()]
    except S3Error as error:
        assert error.code == "AccessDenied", error
        seen = []
    assert ANOTHER not in seen


@pytest.mark.parametrize("path", [OURS, f"{OURS}/{SECRET}", ANOTHER])
def test_nothing_is_read_without_a_key(server: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://{server}/{path}", timeout=30)
    assert refused.value.code == 403
    refused.value.close()
