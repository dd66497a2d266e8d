"""Code that Facebook and Instagram share (docs/platforms.md, section 1): the Graph API, its errors, logins and
webhooks."""
