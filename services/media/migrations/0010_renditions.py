"""Adds renditions, which are files made of media for a platform, and the codec of videos. Renditions end with their
file: their rows by the cascade, their objects with the file's, because their names begin with its key.
"""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute("ALTER TABLE media ADD COLUMN video_codec text")
    op.execute(
        """
        CREATE TABLE renditions (
            id text PRIMARY KEY,
            media_id text NOT NULL REFERENCES media (id) ON DELETE CASCADE,
            need_key text NOT NULL,
            need jsonb NOT NULL,
            kind text NOT NULL,
            state text NOT NULL,
            slug text NOT NULL,
            size_bytes bigint,
            width integer,
            height integer,
            duration_seconds double precision,
            failure text,
            asked_at timestamptz NOT NULL,
            tries integer NOT NULL DEFAULT 0,
            lease_until timestamptz
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX renditions_of_media ON renditions (media_id, need_key) WHERE state <> 'unneeded'"
    )
    op.execute("CREATE INDEX renditions_cascade ON renditions (media_id)")
    op.execute("CREATE INDEX renditions_pending ON renditions (kind, asked_at) WHERE state = 'pending'")
    op.execute("CREATE INDEX renditions_asked ON renditions (asked_at)")
