"""Code that Facebook and Instagram share (platforms.md 1): the Graph API, its errors, logins and webhooks."""
