"""A client of the simulated X."""

from io import BytesIO


class Caller:
    """Sends requests to X with one account's token."""

    def __init__(self, graph):
        self.client, self.account_id = graph.client, graph.account_id
        self.headers = {"Authorization": f"Bearer {graph.token}"}

    def get(self, path, **query):
        return self.client.get(f"/api.x.com/2/{path}", query_string=query, headers=self.headers)

    def post(self, path, json=None, **form):
        data = {name: (BytesIO(v), "f") if isinstance(v, bytes) else v for name, v in form.items()}
        return self.client.post(f"/api.x.com/2/{path}", json=json, data=data or None, headers=self.headers)

    def delete(self, path):
        return self.client.delete(f"/api.x.com/2/{path}", headers=self.headers)

    def say(self, text, **more):
        answer = self.post("tweets", {"text": text, **more})
        assert answer.status_code == 201, answer.json
        return answer.json["data"]["id"]

    def upload(self, data, media_type="video/mp4", category="tweet_video", pieces=2):
        begun = {"media_type": media_type, "total_bytes": len(data), "media_category": category}
        media_id = self.post("media/upload/initialize", begun).json["data"]["id"]
        size = -(-len(data) // pieces)
        for index in reversed(range(pieces)):
            segment = data[index * size : (index + 1) * size]
            assert (
                self.post(
                    f"media/upload/{media_id}/append", segment_index=str(index), media=segment
                ).status_code
                == 200
            )
        return media_id, self.post(f"media/upload/{media_id}/finalize")

    def state(self, media_id):
        return self.get("media/upload", command="STATUS", media_id=media_id).json["data"]["processing_info"]


def problem_of(answer):
    body = answer.get_json()
    return answer.status_code, body["type"].rpartition("/")[2], body["detail"]
