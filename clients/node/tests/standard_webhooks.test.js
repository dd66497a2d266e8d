// Standard Webhooks: every shared vector, the foreign library beside ours, and mistakes of the calling code.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as webhooks from "@posthaste/client";
import { Webhook } from "standardwebhooks";

const file = new URL("../../vectors/standard_webhooks.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8"));
const SECRET = "whsec_7hQz0Xc5LbN2mVt8RkYp3WdJf6Hs1AeGuT4oIiEj9CvB";
const EVENT = { id: "evt_1", event: "post.failed", created_at: "2026-11-20T11:58:09.847Z", data: { attempts: 4 } };
const BODY = JSON.stringify(EVENT);

/** As the foreign library signs them now, or `age` seconds ago. */
function signed(body = BODY, { secret = SECRET, age = 0 } = {}) {
  const at = new Date(Date.now() - age * 1000);
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("evt_1", at, body),
  };
}

function resultOf(body, headers, secret, options) {
  try {
    webhooks.verifyDelivery(body, headers, secret, options);
    return "valid";
  } catch (error) {
    assert.ok(error instanceof webhooks.WebhookError, String(error));
    assert.notEqual(error.message, "");
    return error.reason;
  }
}

function capitals(headers) {
  const letter = /(^|-)[a-z]/g;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(letter, (found) => found.toUpperCase()), value]),
  );
}

test("the vectors are of every kind", () => {
  const kinds = ["valid", "missing_header", "malformed_header", "no_match", "timestamp_out_of_tolerance"];
  assert.deepEqual(new Set(vectors.map((vector) => vector.result)), new Set(kinds));
  assert.ok(vectors.length >= 40);
});

for (const vector of vectors) {
  test(`standard vector: ${vector.name}`, () => {
    const body = Buffer.from(vector.body);
    const options = { now: vector.now, toleranceSeconds: vector.tolerance_seconds };
    for (const headers of [vector.headers, capitals(vector.headers), { ...vector.headers, cookie: ["a", "b"] }]) {
      assert.equal(resultOf(body, headers, vector.secret, options), vector.result);
    }
  });

  if (vector.libraries_differ) continue;
  test(`the foreign library agrees: ${vector.name}`, (context) => {
    context.mock.timers.enable({ apis: ["Date"], now: vector.now * 1000 });
    const verify = () => new Webhook(vector.secret).verify(vector.body, vector.headers, { jsonParse: false });
    if (vector.result === "valid") verify();
    else assert.throws(verify);
  });

  if (!vector.signed_with) continue;
  test(`the foreign library signs the same: ${vector.name}`, () => {
    const at = new Date(vector.headers["webhook-timestamp"] * 1000);
    const sign = (secret) => new Webhook(secret).sign(vector.headers["webhook-id"], at, vector.body);
    assert.equal(vector.signed_with.map(sign).join(" "), vector.headers["webhook-signature"]);
  });
}

test("what the foreign library signs now is read", () => {
  assert.deepEqual(webhooks.readDelivery(Buffer.from(BODY), signed(), SECRET), EVENT);
  assert.deepEqual(webhooks.readDelivery(Buffer.from(BODY), new Headers(signed()), SECRET), EVENT);
});

test("a delivery of ten minutes ago is refused by the machine's clock", () => {
  assert.equal(resultOf(Buffer.from(BODY), signed(BODY, { age: 600 }), SECRET), "timestamp_out_of_tolerance");
  assert.equal(resultOf(Buffer.from(BODY), signed(BODY, { age: 600 }), SECRET, { toleranceSeconds: 900 }), "valid");
});

test("a signed body that is no event is refused", () => {
  assert.throws(() => webhooks.readDelivery(Buffer.from("[]"), signed("[]"), SECRET), webhooks.MalformedEvent);
});

test("a body that is not raw is told what to pass", () => {
  const message = /Pass the raw body/;
  assert.throws(() => webhooks.verifyDelivery(BODY, signed(), SECRET), { name: "TypeError", message });
});

test("headers are all of them, and text", () => {
  for (const headers of [undefined, null, signed()["webhook-signature"], { ...signed(), "webhook-id": ["a"] }]) {
    const verify = () => webhooks.verifyDelivery(Buffer.from(BODY), headers, SECRET);
    assert.throws(verify, { name: "TypeError", message: /header/ });
  }
});

test("a secret that is not base64, or none, verifies nothing", () => {
  for (const secret of ["", undefined, null, "whsec_", "whsec_=", "whsec_a", "whsec_ä", "whsec_not base64!"]) {
    const verify = () => webhooks.verifyDelivery(Buffer.from(BODY), signed(), secret);
    assert.throws(verify, { name: "TypeError", message: /secret/ });
  }
});

test("a hundred thousand spaces in a header take no time", () => {
  const begun = performance.now();
  const headers = { ...signed(), "webhook-signature": "v1," + " ".repeat(100_000) + "x" };
  assert.equal(resultOf(Buffer.from(BODY), headers, SECRET), "malformed_header");
  assert.ok(performance.now() - begun < 500);
});
