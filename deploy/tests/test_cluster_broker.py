"""deploy/kubernetes: the broker of several nodes, its quorum queues and what holds for them."""

from kustomized import FOLDER, build, of_kind


def test_queues_are_replicated_where_there_is_more_than_one_broker() -> None:
    [broker] = of_kind(build(FOLDER / "overlays/production"), "RabbitmqCluster").values()
    assert broker["spec"]["replicas"] == 3
    assert "default_queue_type = quorum" in broker["spec"]["rabbitmq"]["additionalConfig"]
