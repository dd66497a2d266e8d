"""Tests what the API tells about itself and about the caller."""

import datetime as dt
import uuid
from collections import Counter

import requests
from e2e_kit.api import Api, Json, error_code, instant, refused
from e2e_kit.operator import Account, Accounts
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

ROOT_PROBE = {"service", "version", "status", "documentation_url"}


def test_the_root_probe_answers_without_a_token(stack: Stack) -> None:
    for address in (stack.base_url, stack.base_url + "/"):
        answer = requests.get(address, timeout=10)
        assert answer.status_code == 200
        assert set(answer.json()) >= ROOT_PROBE


def test_every_documented_error_is_listed_with_its_status_and_fix(stack: Stack) -> None:
    rows = {row["code"]: row for row in requests.get(f"{stack.base_url}/errors", timeout=10).json()}
    assert {row["http_status"] for row in rows.values()} <= {
        400,
        401,
        402,
        403,
        404,
        405,
        409,
        413,
        415,
        429,
        500,
        502,
        503,
    }
    for code, status in (("MISSING_SCOPE", 403), ("PLATFORM_REJECTED", 502), ("SCHEDULE_OUT_OF_RANGE", 400)):
        assert rows[code]["http_status"] == status
    assert all(row["category"] and row["message"] and row["recommended_fix"] for row in rows.values())


def test_the_description_is_openapi_3_1_of_version_1_3_0(stack: Stack) -> None:
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=10).json()
    assert description["openapi"].startswith("3.1")
    assert description["info"]["version"] == "1.3.0"
    assert "/posts/schedule" in description["paths"]


def test_liveness_and_readiness_need_no_token(stack: Stack) -> None:
    for path in ("/healthz", "/readyz"):
        assert requests.get(stack.root_url + path, timeout=10).status_code == 200


def test_me_tells_whose_token_it_is(shared: Account) -> None:
    me = shared.api.get("/me")
    assert me["authenticated_as"] == {
        "user_id": shared.user_id, "email": shared.email, "firstname": "Ada", "lastname": "",
    }  # fmt: skip
    key = me["api_key"]
    assert (key["id"], key["scopes"], key["expires_at"]) == (shared.token_id, ["*"], None)
    assert shared.api.token is not None
    assert key["prefix"] == shared.api.token[:12]


def test_the_account_view_shows_tier_quota_and_guardrails(shared: Account) -> None:
    account = shared.api.get("/account")
    assert account["user"]["id"] == shared.user_id
    assert account["tier"] == "elite"
    assert account["credits"] == {"remaining": 2400, "plan": "Elite"}
    quota = account["quota"]
    assert quota["rate_limit"] == {"per_minute": 300, "per_day": 100_000}
    assert quota["storage"] == {
        "used_bytes": 0, "limit_bytes": 5 * 2**30, "remaining_bytes": 5 * 2**30, "max_file_bytes": 250 * 2**20,
    }  # fmt: skip
    monthly = quota["monthly"]
    assert monthly["publishes"]["limit"] == 3_000
    assert monthly["replies"]["limit"] == 20_000
    assert monthly["reads"]["limit"] == 1_000_000
    assert monthly["webhooks"]["limit"] == 500_000
    assert monthly["writes"]["limit"] is None
    assert monthly["writes"]["remaining"] is None
    resets_at = instant(monthly["resets_at"])
    assert (resets_at.day, resets_at.hour, resets_at.minute) == (1, 0, 0)
    assert monthly["year_month"] == (resets_at - dt.timedelta(days=1)).strftime("%Y-%m")
    guardrails = quota["publish_guardrails"]
    assert guardrails["perPage"] == {
        "FB": {"perHour": 10, "per24h": 40},
        "IG": {"perHour": 8, "per24h": 30},
        "LN": {"perHour": 3, "per24h": 15},
        "TT": {"perHour": 10, "per24h": 50},
        "TW": {"perHour": 50, "per24h": 300},
    }
    assert guardrails["minGapBetweenSchedulesMs"] == 60_000
    assert guardrails["perBrandPer24hSafetyNet"] == 500


def test_what_a_caller_does_is_counted(account: Account) -> None:
    before = account.api.get("/account")["quota"]["monthly"]
    account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "counted"})
    account.api.post("/posts/publish", {"page_id": account.page_id()}, status=400)
    after = account.api.get("/account")["quota"]["monthly"]

    def gained(bucket: str) -> int:
        used: int = after[bucket]["used"] - before[bucket]["used"]
        return used

    assert gained("publishes") == 1, "the refused one gave its unit back"
    assert gained("reads") == 1
    assert after["total_requests"] > before["total_requests"]


def test_the_account_view_counts_itself(accounts: Accounts) -> None:
    api = accounts.new(pages=()).api
    for number in range(1, 6):
        assert api.get("/account")["quota"]["monthly"]["reads"]["used"] == number


def test_the_credit_balance_has_costs_and_packs(shared: Account) -> None:
    balance = shared.api.get("/account/credits")
    assert balance["credits"]["available"] == 2400
    assert {row["credits"] for row in balance["costs"]} == {1, 10, 90}
    assert [pack["credits"] for pack in balance["packs"]] == [500, 1_500, 5_000, 15_000]
    assert all(pack["available"] for pack in balance["packs"])


def test_the_ledger_lists_what_was_paid_for_with_the_balance_after_it(accounts: Accounts) -> None:
    api = accounts.new(pages=()).api
    job = api.post("/ai/images", {"prompt": "bread"})["job"]["job_id"]
    first = api.get("/account/credits/ledger", limit=1)
    [charge] = first["entries"]
    assert (charge["kind"], charge["amount"], charge["action"], charge["job_id"]) == (
        "charge",
        -10,
        "image",
        job,
    )
    assert charge["balance_after"] == api.get("/account/credits")["credits"]["available"]
    second = api.get("/account/credits/ledger", limit=1, cursor=first["next_cursor"])
    [grant] = second["entries"]
    assert (grant["kind"], grant["balance_after"]) == ("grant", grant["amount"])
    assert second["next_cursor"] is None


def test_brands_come_with_their_pages_count_and_one_with_its_pages(
    shared: Account, accounts: Accounts
) -> None:
    second = accounts.brand(shared.user_id, "Night Market")
    brands = {brand["id"]: brand for brand in shared.api.get("/brands")["brands"]}
    assert set(brands) == {shared.brand_id, second["id"]}
    assert brands[shared.brand_id]["pages_count"] == 6
    assert brands[second["id"]]["pages_count"] == 0
    brand = shared.api.get(f"/brands/{shared.brand_id}")["brand"]
    assert (brand["name"], brand["timezone"]) == ("Corner Bakery", "Europe/Berlin")
    assert {page["platform"] for page in brand["pages"]} == {"FB", "IG", "LN", "TT", "TW", "YT"}


def test_pages_are_filtered_by_platform_code_or_name(shared: Account) -> None:
    page = shared.pages["FB"]
    for platform in ("FB", "fb", "facebook", "Facebook"):
        assert [row["id"] for row in shared.api.get("/pages", platform=platform)["pages"]] == [page["id"]]
    assert len(shared.api.get(f"/brands/{shared.brand_id}/pages")["pages"]) == 6
    assert len(shared.api.get("/pages", brand_id=shared.brand_id)["pages"]) == 6
    shown = shared.api.get(f"/pages/{page['id']}")["page"]
    assert (shown["account_id"], shown["brand_id"], shown["brand_name"], shown["expired"]) == (
        page["account_id"], shared.brand_id, "Corner Bakery", False,
    )  # fmt: skip


def test_a_list_is_read_to_its_end_by_cursor(shared: Account) -> None:
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(6):
        page = shared.api.get("/pages", limit=1, **({"cursor": cursor} if cursor else {}))
        seen += [row["id"] for row in page["pages"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert sorted(seen) == sorted(page["id"] for page in shared.pages.values())


def test_the_callers_own_request_id_comes_back_if_it_is_well_formed(api: Api) -> None:
    mine = f"my.request-{uuid.uuid4()}"
    assert api.call("GET", "/me", headers={"X-Request-Id": mine}).headers["X-Request-Id"] == mine
    for bad in ("with space", "x" * 129, "ü"):
        answer = api.call("GET", "/nowhere", headers={"X-Request-Id": bad.encode()})
        assert answer.headers["X-Request-Id"] not in ("", bad)
        refused(answer, 404, "NOT_FOUND")


def test_every_answer_carries_the_limit_headers(account: Account, accounts: Accounts) -> None:
    narrow = accounts.client(accounts.token(account.user_id, "read:pages,read:posts")["api_token"])
    headers = narrow.call("GET", "/pages").headers
    assert headers["X-API-Tier"] == "elite"
    assert headers["X-RateLimit-Limit"] == "300"
    assert int(headers["X-RateLimit-Remaining"]) < 300
    assert int(headers["X-RateLimit-Reset"]) % 60 == 0, "windows are UTC minutes"
    assert set(headers["X-API-Scopes"].split(" ")) == {"read:pages", "read:posts"}
    assert len(headers["X-Request-Id"]) > 8


def test_sign_up_makes_a_free_account_with_a_sandbox_token(stack: Stack, accounts: Accounts) -> None:
    signup = accounts.client(None)
    signup.base_url = stack.root_url
    body = {
        "email": f"{uuid.uuid4().hex}@Example.test",
        "password": "correct horse",
        "firstname": "Nele",
        "lastname": "New",
    }
    answer = signup.post("/auth/signup", body)
    assert answer["user"]["tier"] == "free"
    token = answer["sandbox_api_token"]
    assert token.startswith("svc_test_")
    assert accounts.client(token).get("/me")["authenticated_as"]["firstname"] == "Nele"
    again = signup.call("POST", "/auth/signup", json=body | {"email": body["email"].upper()})
    refused(again, 409, "EMAIL_TAKEN")


def test_requests_are_in_the_log_with_their_errors_and_in_the_numbers_of_the_day(accounts: Accounts) -> None:
    account = accounts.new(pages=("FB",))
    api = account.api
    posted = api.call("POST", "/posts/publish", json={"page_id": account.page_id(), "message": "Fresh bread"})
    refused = api.call("POST", "/posts/publish", json={"message": "Fresh bread"})

    def listed() -> list[Json]:
        entries: list[Json] = api.get("/logs", method="POST")["entries"]
        return entries

    until(lambda: len(listed()) == 2, 10)
    shown = [(entry["request_id"], entry["operation"], entry["status"], entry["code"]) for entry in listed()]
    assert shown == [
        (refused.headers["X-Request-Id"], "publishPost", 400, "MISSING_FIELD"),
        (posted.headers["X-Request-Id"], "publishPost", 201, None),
    ]
    counted: Counter[str] = Counter()
    for day in api.get("/account/usage", days=2)["days"]:  # the test may run at midnight
        counted.update({name: number for name, number in day.items() if name != "date"})
    assert (counted["publishes"], counted["writes"], counted["refused"]) == (1, 2, 1)


def test_a_request_of_the_log_leads_to_its_attempts_and_deliveries(
    accounts: Accounts, simulator: Simulator
) -> None:
    account = accounts.new(pages=("FB",))
    simulator.fault("reject", account.pages["FB"])
    with Receiver() as receiver:
        webhook = subscribe(account, receiver.url("/"), "post.failed", immediate_posts=True)
        body = {"page_id": account.page_id(), "message": "no"}
        refused = account.api.call("POST", "/posts/publish", json=body, headers={"X-Request-Id": "mine-1"})
        receiver.await_arrivals("/", 1)

        def delivered() -> Json | None:
            found = account.api.call("GET", "/logs/mine-1")
            details: Json = found.json()
            return (
                details
                if found.ok and [d["status"] for d in details["deliveries"]] == ["delivered"]
                else None
            )

        details = until(delivered, 10)
    assert (
        [entry["code"] for entry in details["entries"]] == [refused.json()["code"]] == ["PLATFORM_REJECTED"]
    )
    [post] = details["posts"]
    assert (post["status"], post["origin"], post["page_id"]) == ("failed", "immediate", account.page_id())
    assert [attempt["outcome"] for attempt in post["attempts"]] == ["refused"]
    assert [one["webhook_id"] for one in details["deliveries"]] == [webhook["id"]]
    assert [tried["status_code"] for tried in details["deliveries"][0]["attempts"]] == [204]


def test_the_log_is_not_for_other_accounts_or_tokens_of_some_brands(accounts: Accounts) -> None:
    account, other = accounts.new(pages=()), accounts.new(pages=())
    account.api.get("/me")
    until(lambda: account.api.get("/logs")["entries"], 10)
    limited = accounts.client(accounts.token(account.user_id, "*", "--brand", account.brand_id)["api_token"])
    for path in ("/logs", "/account/usage"):
        answer = limited.call("GET", path)
        assert (answer.status_code, error_code(answer)) == (403, "BRAND_NOT_AUTHORIZED")
    assert other.api.get("/logs", token_id=account.token_id)["entries"] == []
