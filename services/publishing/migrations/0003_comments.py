"""Adds the state of comments, polls for comments of published posts, and subscriptions to a platform's comment
webhooks.

All columns have defaults. A comment that the previous release stores is reported when this release next sees it.
"""

from alembic import op

revision = "0003"
down_revision = "0002"

COMMENTS = """
ALTER TABLE comments
    ADD COLUMN state text NOT NULL DEFAULT 'known' CHECK (state IN ('known', 'waiting', 'told', 'own')),
    ADD COLUMN said jsonb,
    ADD COLUMN wake_at timestamptz,
    ADD COLUMN looks integer NOT NULL DEFAULT 0;
CREATE INDEX comments_waiting ON comments (wake_at) WHERE state = 'waiting';
CREATE INDEX replies_of_post ON replies (post_id);
"""

PAGES = """
ALTER TABLE pages
    ADD COLUMN rest_until timestamptz,
    ADD COLUMN subscribed boolean NOT NULL DEFAULT false,
    ADD COLUMN subscribe_at timestamptz,
    ADD COLUMN subscribe_tries integer NOT NULL DEFAULT 0;
CREATE INDEX pages_remote ON pages (remote_account_id, platform);
CREATE INDEX pages_to_subscribe ON pages (subscribe_at) WHERE subscribe_at IS NOT NULL;
UPDATE pages SET subscribe_at = clock_timestamp() WHERE platform IN ('FB', 'IG');
"""

POLLS = """
CREATE TABLE comment_polls (
    post_id text PRIMARY KEY REFERENCES posts,
    page_id text NOT NULL,
    wake_at timestamptz NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    since timestamptz,
    cursor text,
    newest timestamptz,
    is_full boolean NOT NULL DEFAULT true,
    full_at timestamptz
);
CREATE INDEX comment_polls_due ON comment_polls (wake_at);
INSERT INTO comment_polls (post_id, page_id, wake_at)
    SELECT id, page_id, clock_timestamp() FROM posts
    WHERE state = 'published' AND platform IN ('FB', 'IG') AND out_at > clock_now() - interval '30 days';
"""


def upgrade() -> None:
    for change in (COMMENTS, PAGES, POLLS):
        op.execute(change)
