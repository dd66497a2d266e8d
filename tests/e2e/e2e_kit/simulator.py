"""A client of the simulator's control API: it reads the posts on the simulated platforms, plans faults, and more."""

from collections.abc import Sequence
from typing import Any

import requests

from e2e_kit import secrecy
from e2e_kit.api import Json
from e2e_kit.waiting import until

TIMEOUT_SECONDS = 30.0


class Simulator:
    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()

    def fault(
        self, mode: str, page: Json, operation: str = "publish", times: int = 1, **options: float | str
    ) -> None:
        """Plans a fault for the next `times` calls of this operation for this page's account."""
        self._ask(
            "POST", "/_sim/faults", platform=page["platform"], operation=operation, mode=mode, times=times,
            account_id=page["account_id"], **options,
        )  # fmt: skip

    def fault_of_provider(self, provider: str, operation: str, mode: str, times: int = 1) -> None:
        """Plans a fault for the next calls to an AI provider, for any account. Only tests marked `alone` may use it."""
        self._ask("POST", "/_sim/faults", platform=provider, operation=operation, mode=mode, times=times)

    def await_fault(self, *account_ids: str, seconds: float = 30.0) -> None:
        """Waits until no planned fault of these accounts is left, because the last call has begun (and hangs, for
        example).
        """
        until(
            lambda: not {row["account_id"] for row in self._get("/_sim/faults")["faults"]} & {*account_ids},
            seconds,
            "the planned faults are met",
        )

    def be_slow(self, seed: str) -> None:
        """Gives calls realistic latencies, drawn with this seed; an empty seed turns them off."""
        self._ask("POST", "/_sim/latencies", seed=seed)

    def clear_faults(self) -> None:
        self._ask("DELETE", "/_sim/faults")

    def posts(self, page: Json | None = None) -> list[Json]:
        """Returns the posts on the simulated platforms, of one page or of all, in the order of their creation."""
        query = {} if page is None else {"platform": page["platform"], "account_id": page["account_id"]}
        answer = self._session.get(f"{self._url}/_sim/posts", params=query, timeout=TIMEOUT_SECONDS)
        answer.raise_for_status()
        posts: list[Json] = answer.json()["posts"]
        return posts

    def comment(
        self,
        platform: str,
        remote_id: str,
        text: str,
        visitor: str = "Vera Visitor",
        parent_id: str | None = None,
        *,
        named: bool = True,
    ) -> str:
        """Adds a visitor's comment to a post, or a reply to `parent_id`. Returns the id that the platform gives it.
        If not `named`, Facebook does not tell who wrote it.
        """
        secrecy.note(text)
        body = {
            "platform": platform, "post_id": remote_id, "from": visitor, "text": text, "parent_id": parent_id,
            "named": named,
        }  # fmt: skip
        made: str = self._ask("POST", "/_sim/comments", **body)["id"]
        return made

    def fault_of_customer(self, customer_id: str, mode: str, times: int = 1) -> None:
        """Plans a fault for the next payments of this Stripe customer."""
        self._ask(
            "POST", "/_sim/faults", platform="stripe", operation="payment", mode=mode, times=times,
            account_id=customer_id,
        )  # fmt: skip

    def payments(self) -> Json:
        """Returns the payments at Stripe and Stripe's webhook deliveries."""
        return self._get("/_sim/payments")

    def pay_link(self, cents: int, account_id: str, **metadata: str) -> None:
        """Simulates a payment of this amount on the page of a Stripe payment link."""
        self._ask(
            "POST", "/_sim/stripe/checkout", amount=cents, client_reference_id=account_id, metadata=metadata
        )

    def tell_payment(self, kind: str, thing: Json) -> str:
        """Makes Stripe send a signed event of this kind about the object `thing`. Returns the event's id."""
        told: str = self._ask("POST", "/_sim/stripe/events", type=kind, object=thing)["id"]
        return told

    def delivered(self, event_ids: Sequence[str]) -> bool:
        """Whether our endpoint has answered all these events of Stripe with 2xx."""
        done = {row["id"] for row in self.payments()["webhooks"] if row["delivered"]}
        return done >= set(event_ids)

    def works(self, prompt: str) -> list[Json]:
        """Returns the pictures, videos and captions that the AI providers made from prompts with this text."""
        works: list[Json] = self._get("/_sim/ai")["works"]
        return [work for work in works if prompt in work["prompt"]]

    def person(self, platform: str, **more: Any) -> Json:
        """Adds a person who can log in at the platform. Returns {person_id, accounts, …}."""
        return self._ask("POST", "/_sim/persons", platform=platform, **more)

    def leave(self, person: Json) -> None:
        """Makes the person remove our app at the platform."""
        self._ask("POST", f"/_sim/persons/{person['person_id']}/leave")

    def logins(self) -> Json:
        """Returns the number of token refreshes by account, and the accounts for which a token was revoked."""
        return self._get("/_sim/oauth")

    def hooks(self) -> Json:
        """Returns the accounts to whose webhooks our app has subscribed at Meta, and the batches of events that Meta
        has sent.
        """
        return self._get("/_sim/meta/webhooks")

    def unsubscribe(self, page: Json) -> None:
        """Ends Meta's webhook subscription of this page, as if somebody else did, without telling publishing."""
        until(
            lambda: page["account_id"] in self.hooks()["subscribed"],
            TIMEOUT_SECONDS,
            "the page is subscribed",
        )
        accounts = self._get("/_sim/accounts", platform=page["platform"])["accounts"]
        [token] = [row["access_token"] for row in accounts if row["account_id"] == page["account_id"]]
        url = f"{self._url}/graph.facebook.com/v26.0/{page['account_id']}/subscribed_apps"
        answer = self._session.delete(url, params={"access_token": token}, timeout=TIMEOUT_SECONDS)
        assert answer.json() == {"success": True}, answer.text

    def metrics(self, platform: str, remote_id: str, **counts: int) -> None:
        self._ask("POST", "/_sim/metrics", platform=platform, post_id=remote_id, **counts)

    def close(self) -> None:
        self._session.close()

    def _get(self, path: str, **query: str) -> Json:
        answer = self._session.get(self._url + path, params=query, timeout=TIMEOUT_SECONDS)
        answer.raise_for_status()
        decoded: Json = answer.json()
        return decoded

    def _ask(self, method: str, path: str, **body: Any) -> Json:
        answer = self._session.request(method, self._url + path, json=body, timeout=TIMEOUT_SECONDS)
        assert answer.ok, f"{method} {path} {body} → {answer.status_code} {answer.text}"
        decoded: Json = answer.json()
        return decoded
