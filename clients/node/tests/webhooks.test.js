// The verifier: every shared vector, mistakes of the calling code, and what a verified body says.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as webhooks from "@posthaste/client";

const file = new URL("../../vectors/webhook_signatures.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8"));
const SECRET = "whsec_test";

const bodyOf = (vector) =>
  vector.body_base64 === undefined ? Buffer.from(vector.body) : Buffer.from(vector.body_base64, "base64");
const sign = (body) => "sha256=" + createHmac("sha256", SECRET).update(body).digest("hex");
const said = (changes = {}) =>
  Buffer.from(
    JSON.stringify({
      id: "evt_1",
      event: "post.failed",
      created_at: "2026-11-20T11:58:09.847Z",
      data: { attempts: 4 },
      ...changes,
    }),
  );
const arrayBufferOf = (buffer) => new Uint8Array(buffer).buffer;

function resultOf(body, header, secret) {
  try {
    webhooks.verify(body, header, secret);
    return "valid";
  } catch (error) {
    assert.ok(error instanceof webhooks.WebhookError, String(error));
    assert.notEqual(error.message, "");
    return error.reason;
  }
}

test("the vectors are of every kind", () => {
  const results = new Set(vectors.map((vector) => vector.result));
  assert.deepEqual(results, new Set(["valid", "missing_header", "malformed_header", "no_match"]));
  assert.ok(vectors.length >= 40);
});

for (const vector of vectors) {
  test(`vector: ${vector.name}`, () => {
    const body = bodyOf(vector);
    for (const form of [body, new Uint8Array(body), arrayBufferOf(body)]) {
      assert.equal(resultOf(form, vector.header, vector.secret), vector.result);
    }
  });
}

test("a header that is not there is missing", () => {
  assert.equal(resultOf(Buffer.from(""), undefined, SECRET), "missing_header");
});

test("an error is told by its name", () => {
  assert.throws(() => webhooks.verify(Buffer.from(""), "x", SECRET), { name: "MalformedSignature" });
});

test("a body that is not raw is told what to pass", () => {
  for (const body of ['{"id": "evt_1"}', { id: "evt_1" }, null, undefined, [1]]) {
    assert.throws(() => webhooks.verify(body, sign("{}"), SECRET), { name: "TypeError", message: /Pass the raw body/ });
  }
});

test("an empty secret, or none, verifies nothing", () => {
  for (const secret of ["", undefined, null, Buffer.from(SECRET)]) {
    assert.throws(() => webhooks.verify(Buffer.from(""), sign(""), secret), { name: "TypeError", message: /secret/ });
  }
});

test("a header is text", () => {
  assert.throws(() => webhooks.verify(Buffer.from(""), [sign("")], SECRET), { name: "TypeError", message: /header/ });
});

test("a hundred thousand spaces in a header take no time", () => {
  const begun = performance.now();
  const header = "sha256=" + " ".repeat(100_000) + "x," + " ".repeat(100_000) + "x";
  assert.equal(resultOf(Buffer.from(""), header, SECRET), "malformed_header");
  assert.ok(performance.now() - begun < 500);
});

test("a verified body is an event", () => {
  const expected = { id: "evt_1", event: "post.failed", created_at: "2026-11-20T11:58:09.847Z", data: { attempts: 4 } };
  assert.deepEqual(webhooks.readEvent(said(), sign(said()), SECRET), expected);
  assert.deepEqual(webhooks.readEvent(arrayBufferOf(said()), sign(said()), SECRET), expected);
});

test("an event with fields of a later version is read", () => {
  const body = said({ later: 1 });
  assert.equal(webhooks.readEvent(body, sign(body), SECRET).id, "evt_1");
});

test("a body that is not verified is not read", () => {
  assert.throws(() => webhooks.readEvent(Buffer.from("not JSON"), sign("other"), SECRET), webhooks.SignatureMismatch);
});

test("a signed body that is no event is refused", () => {
  const changed = [{ id: 7 }, { event: null }, { created_at: "soon" }, { created_at: 1 }, { data: [] }, { data: null }];
  const bodies = ["", "[]", "null", "{}", Buffer.from([0xff]), ...changed.map(said)].map((body) => Buffer.from(body));
  for (const body of bodies) {
    assert.throws(() => webhooks.readEvent(body, sign(body), SECRET), webhooks.MalformedEvent);
  }
});
