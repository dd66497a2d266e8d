"""What an endpoint's queue loads."""

import math

from chassis.db.batches import Batches
from webhooks.dispatch.endpoint_queue import EndpointQueue


def test_nothing_is_loaded_for_an_endpoint_without_a_readable_secret() -> None:
    queue = EndpointQueue("whk_1", fence=1, failures=0, valid_until=math.inf, outcomes=Batches(lambda _: []))
    assert queue.wanted(100) == 0
    queue.secrets = ("whsec_readable",)
    assert queue.wanted(100) > 0
