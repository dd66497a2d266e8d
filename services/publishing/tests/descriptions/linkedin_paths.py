"""Makes every request that we send to LinkedIn, as a member and as a company page."""

from contracts.post_settings import LinkedInPostSettings
from publishing.platforms.base import Account, Content
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.facts import facts
from publishing.platforms.linkedin.login import login
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.linkedin.trial import TRIAL
from publishing.platforms.oauth.base import App

from .played import NOW, Drive, Played, each_setting, photo, video

_MEMBER, _PAGE = "urn:li:person:aB-9", "urn:li:organization:55"
_SHARE = "urn:li:share:99"
_COMMENT = f"urn:li:comment:({_SHARE},98)"
_FILES = "https://www.linkedin.com/dms-uploads/a"
_MILLISECONDS = int(NOW.timestamp() * 1000)
_DENIED = (403, {"status": 403, "code": "ACCESS_DENIED", "message": "Not enough permissions"})
_ARTICLE = {"source": "https://example.org/bread", "title": "Bread", "description": "Fresh"}


def drive(played: Played) -> None:
    _answers(played)
    members = LinkedInSettings(member_app=App("client", "secret"), poll_seconds=0.0, poll_limit_seconds=0.02)
    pages = LinkedInSettings(pages_app=App("client", "secret"), poll_seconds=0.0, poll_limit_seconds=0.02)
    member, page = _on(played, members, _MEMBER), _on(played, pages, _PAGE)
    for one, settings in ((member, members), (page, pages)):
        played.granted = one.login.scopes
        one.log_in()
        _publish(one)
        one.attempt(lambda one=one, settings=settings: list(facts(settings, one.account)))
        one.remove(TRIAL, settings, _SHARE)
    _look_up(page)
    page.comments(_SHARE, _COMMENT)
    page.read(_SHARE)
    _refused(played, page)
    # A page that may have been linked by either app: each has an address of its own for the member.
    played.on("GET", "/v2/(me|userinfo)$", _DENIED)
    played.granted = (*member.login.scopes, *page.login.scopes)
    for settings in (members, pages):
        connector = LinkedInConnector(settings)
        member.attempt(lambda connector=connector: connector.profile(member.account))


def _on(played: Played, settings: LinkedInSettings, urn: str) -> Drive:
    return Drive(played, LinkedInConnector(settings), login(settings), Account(urn, "token", "bakery"))


def _answers(played: Played) -> None:
    expires = {"uploadUrlExpiresAt": _MILLISECONDS + 10**8, "uploadUrlsExpireAt": _MILLISECONDS + 10**8}
    part = {"uploadUrl": f"{_FILES}/video?ca=1", "firstByte": 0, "lastByte": 99_999}
    video_value = {"video": "urn:li:video:V1", "uploadToken": "", "uploadInstructions": [part], **expires}
    image_value = {"image": "urn:li:image:I1", "uploadUrl": f"{_FILES}/image?ca=1", **expires}
    comment = {
        "id": "98", "commentUrn": _COMMENT, "actor": _PAGE, "message": {"text": "Thanks"},
        "created": {"time": _MILLISECONDS}, "commentsSummary": {"totalFirstLevelComments": 1},
    }  # fmt: skip
    post = {"id": _SHARE, "commentary": "Hello", "createdAt": _MILLISECONDS}
    played.on("POST", "/rest/images$", {"value": image_value})
    played.on("POST", "/rest/videos$", {"value": video_value})
    played.on("PUT", "/dms-uploads/", (201, {}, {"ETag": '"e1"'}))
    played.on("GET", "/rest/(images|videos)/", {"status": "AVAILABLE"})
    played.on("POST", "/rest/posts$", (201, {}, {"x-restli-id": _SHARE}))
    played.on("DELETE", "/rest/posts/", (204, {}))
    played.on("GET", "/rest/posts$", {"elements": [post]})
    played.on("POST", "/comments$", (201, comment, {"x-restli-id": "98"}))
    played.on("GET", "/comments$", {"elements": [comment] * 100}, {"elements": [comment, comment]})
    played.on("GET", "/comments/98$", comment)
    played.on("GET", "/socialMetadata/", {})
    played.on("GET", "/organizationAcls$", {"elements": [{"organization": _PAGE, "role": "ADMINISTRATOR"}]})
    played.on("GET", "/organizationsLookup$", {"results": {"55": {"localizedName": "Bakery"}}})
    played.on("GET", "/organizations/55$", {"localizedName": "Bakery"})
    played.on("GET", "/networkSizes/", {"firstDegreeSize": 3})
    played.on("GET", "/v2/userinfo$", {"sub": "aB-9", "name": "Ann"})
    played.on("GET", "/v2/me$", {"id": "aB-9", "localizedFirstName": "Ann"})
    played.on(
        "POST", "/oauth/v2/accessToken$", {"access_token": "t", "refresh_token": "r", "expires_in": 5_184_000}
    )
    played.on("POST", "/oauth/v2/revoke$", {})


def _publish(one: Drive) -> None:
    settings = [one for one in each_setting(LinkedInPostSettings) if "article" not in one]
    for content in (
        *(Content("Hello #bread", (), one) for one in (*settings, {"article": _ARTICLE})),
        *(Content("Photo", (photo(),), one) for one in settings),
        Content("Photos", (photo(1), photo(2, "image/png")), {"alt_texts": ["One", "Two"]}),
        *(Content("Film", (video(),), one) for one in settings),
    ):
        one.publish(content)


def _look_up(page: Drive) -> None:
    content = Content("Hello")
    page.look_up(content, sent_at=NOW.timestamp())
    page.search(content)


def _refused(played: Played, page: Drive) -> None:
    """Reads a page while LinkedIn first says that the token is revoked, and then that the person is not an
    administrator.
    """
    revoked = (401, {"status": 401, "serviceErrorCode": 65601, "message": "revoked"})
    played.on("GET", "/organizations/55$", revoked, _DENIED)
    page.read()
