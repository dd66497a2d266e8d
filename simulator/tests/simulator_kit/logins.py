"""Uses a platform's login as an app and a browser do."""

import base64
import hashlib
from urllib.parse import parse_qsl, urlsplit

from simulator.config import LINKEDIN_PAGES

VERIFIER = "v" * 50
DIGEST = hashlib.sha256(VERIFIER.encode())
S256 = base64.urlsafe_b64encode(DIGEST.digest()).rstrip(b"=").decode()
GOOGLE = "https://www.googleapis.com/auth/youtube.readonly"


#: platform: name, dialog, token address, scope, challenge, field of the client's id
LOGINS = {
    "LN": (
        "linkedin", "/www.linkedin.com/oauth/v2/authorization", "/www.linkedin.com/oauth/v2/accessToken",
        "r_basicprofile w_member_social rw_organization_admin w_organization_social", None, "client_id",
    ),
    "TT": (
        "tiktok", "/www.tiktok.com/v2/auth/authorize/", "/open.tiktokapis.com/v2/oauth/token/",
        "user.info.basic,video.publish", DIGEST.hexdigest(), "client_key",
    ),
    "TW": (
        "twitter", "/x.com/i/oauth2/authorize", "/api.x.com/2/oauth2/token",
        "tweet.read tweet.write users.read offline.access", S256, "client_id",
    ),
    "YT": (
        "youtube", "/accounts.google.com/o/oauth2/v2/auth", "/oauth2.googleapis.com/token", GOOGLE, S256, "client_id",
    ),
}  # fmt: skip
REFRESHED = ["TT", "TW", "YT"]


class Browser:
    """An app and a browser that use the login of one platform."""

    def __init__(self, client, settings, platform):
        self.client, self.platform = client, platform
        name, self.dialog, self.token_url, self.scope, self.challenge, self.id_field = LOGINS[platform]
        self.app = settings.apps[LINKEDIN_PAGES if platform == "LN" else platform]
        self.target = f"https://app.test/connect/{name}/callback"

    def visit(self, **more):
        """Visits the login page. Returns the query of the callback URL to which the platform redirects."""
        asked = {
            self.id_field: self.app[0], "redirect_uri": self.target, "state": "st", "response_type": "code",
            "scope": self.scope, "access_type": "offline", "prompt": "consent",
        }  # fmt: skip
        if self.challenge:
            asked |= {"code_challenge": self.challenge, "code_challenge_method": "S256"}
        self.went = self.client.get(self.dialog, query_string=asked | more)
        return dict(parse_qsl(urlsplit(self.went.headers.get("Location", "")).query))

    def ask(self, **form):
        body, headers = dict(form), {}
        if self.platform == "TW":
            signed = base64.b64encode(":".join(self.app).encode()).decode()
            headers["Authorization"] = f"Basic {signed}"
        else:
            body = {self.id_field: self.app[0], "client_secret": self.app[1]} | body
        return self.client.post(self.token_url, data=body, headers=headers)

    def exchange(self, code, **more):
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.target}
        return self.ask(**form | {"code_verifier": VERIFIER} | more)

    def log_in(self, **more):
        answer = self.exchange(self.visit(**more)["code"])
        assert answer.status_code == 200, answer.get_json()
        return answer.get_json()

    def refresh(self, token):
        return self.ask(grant_type="refresh_token", refresh_token=token)

    def me(self, token):
        """Reads an object of the platform with the token. Returns the HTTP status."""
        path = {
            "LN": "/api.linkedin.com/v2/me", "TT": "/open.tiktokapis.com/v2/user/info/?fields=open_id",
            "TW": "/api.x.com/2/users/me", "YT": "/www.googleapis.com/youtube/v3/channels?part=id&mine=true",
        }[self.platform]  # fmt: skip
        return self.client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code
