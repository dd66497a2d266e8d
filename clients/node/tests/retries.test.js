// Calls are repeated when that is safe, with the same key, and for a bounded time.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AiError, ApiError, LimitReached, NoAnswer, Posthaste, ServerError } from "@posthaste/client";

import { answered, error, LOST, MisbehavingServer, SILENT, started, TRICKLED, UNREAD } from "./kit/misbehaving.js";

const key = (request) => request.headers["idempotency-key"];
const publish = (client, message, options) => client.publishPost({ page_id: "pag_1", message }, options);

const REPEATED = {
  lost: LOST,
  unread: UNREAD,
  503: error(503, "SERVICE_UNAVAILABLE", { retryAfter: 1 }),
  500: error(500, "SERVER_ERROR"),
  429: error(429, "RATE_LIMITED", { retryAfter: 3 }),
  "in progress": error(409, "IDEMPOTENCY_IN_PROGRESS", { retryAfter: 1 }),
  proxy: answered(502, Buffer.from("<h1>Bad gateway</h1>")),
};

for (const [name, reply] of Object.entries(REPEATED)) {
  test(`a write is repeated with the same key and takes effect once: ${name}`, async (test) => {
    const { server, client } = await started(test);
    server.next.push(reply, reply);
    const post = await publish(client, "once");
    assert.equal(post.post_id, "pst_1");
    assert.deepEqual([...server.effects], [["once", 1]]);
    assert.equal(server.requests.length, 3);
    assert.equal(new Set(server.requests.map(key)).size, 1);
  });
}

for (const reply of [SILENT, TRICKLED]) {
  test(`an answer that does not come in time is asked for again: ${reply.how}`, async (test) => {
    const { server, client } = await started(test, { timeoutSeconds: 0.4 });
    server.next.push(reply);
    await publish(client, "slow");
    assert.deepEqual([...server.effects], [["slow", 1]]);
    assert.equal(server.requests.length, 2);
  });
}

test("each write has a key of its own unless the caller gives one", async (test) => {
  const { server, client } = await started(test);
  for (const idempotencyKey of [undefined, undefined, "mine"]) await publish(client, "hello", { idempotencyKey });
  const keys = server.requests.map(key);
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys[2], "mine");
});

test("Retry-After is honoured, as seconds and as a date", async (test) => {
  const { server, client, pauses } = await started(test);
  const date = new Date(Date.now() + 20_000).toUTCString();
  server.next.push(error(429, "RATE_LIMITED", { retryAfter: 17 }));
  server.next.push(error(503, "SERVICE_UNAVAILABLE", { retryAfter: date }));
  await publish(client, "later");
  assert.equal(pauses[0], 17);
  assert.ok(pauses[1] > 15 && pauses[1] <= 20, pauses);
});

test("pauses grow and the tries are bounded", async (test) => {
  const { server, client, pauses } = await started(test, { maxRetries: 4 });
  server.mood = () => error(503, "SERVICE_UNAVAILABLE");
  await assert.rejects(publish(client, "never"), (problem) => {
    assert.ok(problem instanceof ServerError);
    assert.equal(problem.idempotencyKey, key(server.requests[0]));
    return true;
  });
  assert.equal(server.requests.length, 5);
  assert.deepEqual(pauses, pauses.toSorted((one, other) => one - other));
  assert.ok(pauses[0] > 0.3 && pauses[0] <= 0.5 && pauses[3] > 0.5 && pauses[3] <= 4, pauses);
});

for (const reply of [
  error(429, "DAILY_LIMIT_EXCEEDED", { retryAfter: 40_000 }),
  error(429, "PAGE_PUBLISH_GUARDRAIL", { retry_after_seconds: 30 }),
]) {
  test(`a limit that is not over soon is thrown at once: ${reply.body.code}`, async (test) => {
    const { server, client, pauses } = await started(test);
    server.next.push(reply);
    await assert.rejects(publish(client, "no"), LimitReached);
    assert.deepEqual(pauses, []);
  });
}

test("an outage that no repetition mends is thrown at once", async (test) => {
  const { server, client } = await started(test);
  server.next.push(error(503, "AI_NOT_CONFIGURED"));
  await assert.rejects(publish(client, "no"), AiError);
  assert.equal(server.requests.length, 1);
});

test("a refusal is not repeated", async (test) => {
  const { server, client } = await started(test);
  server.next.push(error(400, "VALIDATION_ERROR"));
  await assert.rejects(publish(client, "no"), ApiError);
  assert.equal(server.requests.length, 1);
});

test("a write that takes no key is not repeated when its answer is lost", async (test) => {
  const { server, client } = await started(test);
  server.next.push(LOST);
  await assert.rejects(client.logIn({ email: "ada@example.test", password: "secret" }), (problem) => {
    assert.ok(problem instanceof NoAnswer);
    assert.equal(problem.idempotencyKey, undefined);
    return true;
  });
  assert.equal(server.requests.length, 1);
});

test("a read is repeated, without a key", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/pages", () => answered(200, { pages: [], next_cursor: null }));
  server.next.push(LOST, error(503, "SERVICE_UNAVAILABLE"));
  assert.deepEqual((await client.listPages()).pages, []);
  assert.deepEqual(server.requests.map(key), [undefined, undefined, undefined]);
});

test("a server that is away is tried again and then named", async () => {
  const gone = await MisbehavingServer.start();
  await gone.stop();
  const pauses = [];
  const client = new Posthaste({
    token: "t",
    baseUrl: gone.url,
    retries: { maxRetries: 2 },
    sleep: async (seconds) => void pauses.push(seconds),
  });
  await assert.rejects(client.logIn({ email: "a@example.test", password: "x" }), (problem) => {
    assert.ok(problem instanceof NoAnswer);
    assert.match(problem.message, /could not be reached.*tried 3 times/);
    return true;
  });
  assert.equal(pauses.length, 2);
});

test("a signal ends a call and its pauses with its own reason", async (test) => {
  const { server, client } = await started(test);
  const ending = new AbortController();
  server.mood = () => {
    ending.abort(new Error("enough"));
    return SILENT;
  };
  await assert.rejects(publish(client, "no", { signal: ending.signal }), /enough/);
  assert.equal(server.requests.length, 1);
  await assert.rejects(publish(client, "no", { signal: ending.signal }), /enough/);
  assert.equal(server.requests.length, 1);
});

test("a thousand writes over a line that loses answers take effect once each", async (test) => {
  const { server, client } = await started(test, { maxRetries: 20, timeoutSeconds: 20 });
  const replies = [LOST, UNREAD, error(503, "SERVICE_UNAVAILABLE"), error(429, "RATE_LIMITED", { retryAfter: 1 })];
  let taken = 0;
  server.mood = () => (++taken % 10 < 3 ? replies[Math.floor(taken / 10) % 4] : undefined);
  const messages = Array.from({ length: 1_000 }, (_, number) => `post ${number}`);
  const waiting = [...messages.entries()];
  const posted = [];
  const work = async () => {
    for (let one = waiting.pop(); one; one = waiting.pop()) posted[one[0]] = (await publish(client, one[1])).message;
  };
  await Promise.all(Array.from({ length: 16 }, work));
  assert.deepEqual(posted, messages);
  assert.deepEqual([...server.effects.keys()].toSorted(), messages.toSorted());
  assert.deepEqual(new Set(server.effects.values()), new Set([1]));
  assert.ok(server.requests.length > 1_200);
});
