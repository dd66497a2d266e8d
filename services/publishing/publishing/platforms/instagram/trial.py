"""The test post that `posthaste platform check --post` makes on Instagram: a prepared post (container) that is never
published. Instagram removes it after 24 hours."""

from publishing.platforms.base import Account, PlatformRefusal, Refusal
from publishing.platforms.http_client import poll, transient
from publishing.platforms.meta.graph import Graph
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.trial import Trial


def _stage(settings: MetaSettings, account: Account, text: str, photo: str) -> str:
    """Stages the photo in a container, waits until Instagram has fetched it and returns the container's id. Raises
    PlatformRefusal if Instagram refuses the photo.
    """
    graph = Graph(settings.instagram_url, settings)
    data = {"image_url": photo, "caption": text}
    container_id = graph.stage(account, account.remote_account_id, "media", data)

    def fetched() -> str | None:
        status = str(graph.read(account, container_id, fields="status_code").get("status_code"))
        return None if status == "IN_PROGRESS" else status

    status = poll(settings, fetched)
    if status is None:
        raise transient("NOT_READY", "Instagram is still fetching the photo.")
    if status != "FINISHED":
        raise PlatformRefusal(Refusal.REJECTED, status, f"Instagram could not fetch the photo {photo}.")
    return container_id


TRIAL = Trial(what="a container that is never published", needs_photo=True, stage=_stage)
