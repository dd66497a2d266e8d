"""A client of the simulated LinkedIn."""

from urllib.parse import quote

HEADERS = {"LinkedIn-Version": "202607", "X-Restli-Protocol-Version": "2.0.0"}


class Caller:
    """A client of the simulated LinkedIn with the token of one account."""

    def __init__(self, client, account_id, token):
        self.client, self.account_id = client, account_id
        self.headers = HEADERS | {"Authorization": f"Bearer {token}"}

    def get(self, path, **query):
        return self.client.get(f"/api.linkedin.com/rest/{path}", query_string=query, headers=self.headers)

    def post(self, path, json, **query):
        return self.client.post(
            f"/api.linkedin.com/rest/{path}", json=json, query_string=query, headers=self.headers
        )

    def put(self, url, data):
        return self.client.put(url, data=data, headers=self.headers)

    def body(self, commentary="hello", **more):
        return {
            "author": self.account_id, "commentary": commentary, "visibility": "PUBLIC",
            "distribution": {"feedDistribution": "MAIN_FEED"}, "lifecycleState": "PUBLISHED", **more,
        }  # fmt: skip

    def publish(self, commentary="hello", **more):
        answer = self.post("posts", self.body(commentary, **more))
        assert answer.status_code == 201, answer.json
        return answer.headers["x-restli-id"]

    def begin(self, kind, **more):
        request = {"initializeUploadRequest": {"owner": self.account_id, **more}}
        return self.post(kind, request, action="initializeUpload").json["value"]

    def image(self, data):
        value = self.begin("images")
        assert self.put(value["uploadUrl"], data).status_code == 201
        return value["image"]

    def comment(self, urn, text, **more):
        body = {
            "actor": self.account_id,
            "object": more.pop("object", urn),
            "message": {"text": text},
            **more,
        }
        return self.post(f"socialActions/{quote(urn, safe='')}/comments", body)

    def comments(self, urn, **query):
        return self.get(f"socialActions/{quote(urn, safe='')}/comments", **query)
