"""Instagram's media containers. A first call creates a container: a photo, a video, or a carousel made of other
containers. When its media are processed, a second call publishes the container as a post.

Sources of the limits: the parameters `caption` and `children` of
developers.facebook.com/docs/instagram-platform/instagram-graph-api/reference/ig-user/media ("Maximum 2200 characters,
30 hashtags, and 20 @ tags", "up to 10 container IDs"), as a dozen public clients quote it (read in November 2026).
"""

import re
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from simulator.meta import media
from simulator.meta.call import Call, Node
from simulator.meta.errors import GraphError, invalid
from simulator.simulation import Simulation
from simulator.world import Medium

CAPTION_LIMIT = 2200
HASHTAG_LIMIT = 30
MENTION_LIMIT = 20
#: Smallest and largest number of children of a carousel.
CHILDREN = (2, 10)
LIFETIME = timedelta(hours=24)


@dataclass(slots=True)
class Container:
    """A media container. `ready_ticks` is the time of `Clock.ticks` at which its processing ends. `media` is a future
    if the container is a single video, which is fetched in the background. Otherwise it is a list.
    """

    container_id: str
    account_id: str
    media_kind: str
    is_child: bool
    created_at: datetime
    caption: str = ""
    media: "list[Medium] | Future[list[Medium]]" = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    ready_ticks: float = 0.0
    error: GraphError | None = None
    media_id: str | None = None
    kind = "Container"
    platform = "IG"

    def status(self, sim: Simulation) -> str:
        """Returns `status_code`: IN_PROGRESS, FINISHED, ERROR, PUBLISHED or EXPIRED."""
        if self.media_id is not None:
            return "PUBLISHED"
        if sim.clock.now() - self.created_at > LIFETIME:
            return "EXPIRED"
        if isinstance(self.media, Future):
            if not self.media.done():
                return "IN_PROGRESS"
            problem = self.media.exception()
            if problem is not None:
                self.error = problem if isinstance(problem, GraphError) else GraphError(-1, "Fatal", 2207001)
        if self.error is not None:
            return "ERROR"
        return "IN_PROGRESS" if sim.clock.ticks() < self.ready_ticks else "FINISHED"

    def status_text(self, sim: Simulation) -> str:
        """Returns `status`, a sentence about the status; that of an error contains the subcode."""
        return {
            "PUBLISHED": "Published: Media has been successfully published.",
            "EXPIRED": "Expired: Media was not published within 24 hours and has expired.",
            "IN_PROGRESS": "In Progress: Media is still being processed.",
            "FINISHED": "Finished: Media has been uploaded and it is ready to be published.",
            "ERROR": f"Error: Media upload has failed with error code {self.error and self.error.subcode}",
        }[self.status(sim)]


def find_container(call: Call, user: Node, container_id: str) -> Container:
    """Returns the account's container with this id. Raises GraphError 24 if there is none."""
    container = call.sim.world.staged.get(container_id)
    if not isinstance(container, Container) or container.account_id != user.account_id:
        message = f"Could not fetch media builder: the one with creation id = {container_id} does not exist."
        raise GraphError(24, message, 2207008)
    return container


def checked_caption(caption: str) -> str:
    """Returns the caption unchanged. Raises GraphError 100 if it is too long, or has too many hashtags or mentions."""
    if len(caption) > CAPTION_LIMIT or len(re.findall(r"#\w", caption)) > HASHTAG_LIMIT:
        message = f"The caption was too long: up to {CAPTION_LIMIT} characters and {HASHTAG_LIMIT} hashtags."
        raise GraphError(100, message, 2207010)
    if len(re.findall(r"(?<!\w)@\w", caption)) > MENTION_LIMIT:
        raise GraphError(100, f"Cannot use more than {MENTION_LIMIT} mentions.", 2207040)
    return caption


def photo_of(call: Call) -> list[Medium]:
    """Fetches and returns the image of a new container. Raises GraphError if Instagram would refuse it."""
    url = call.text("image_url")
    if not url:
        raise invalid("The parameter image_url is required")
    photo = media.instagram_photo(call.sim, url)
    photo.alt_text = call.text("alt_text")
    return [photo]


def video_of(call: Call) -> "Future[list[Medium]]":
    """Starts to fetch the video of a new container in the background. If that fails, the status of the container says
    so. Raises GraphError 100 if the call has no `video_url`.
    """
    url, sim = call.text("video_url"), call.sim
    if not url:
        raise invalid("The parameter video_url is required")
    return sim.fetcher.later(lambda: [media.instagram_video(sim, url)])
