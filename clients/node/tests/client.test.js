// Requests, records, errors, lists and uploads, as a program sees them.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as posthaste from "@posthaste/client";

import { answered, error, LOST, started } from "./kit/misbehaving.js";

const { InvalidRequest, NoAnswer, Posthaste, PosthasteError, ResourceError, UnexpectedAnswer } = posthaste;
const jsonOf = ({ body }) => JSON.parse(body);
const FILE = { media_id: "med_1", filename: "a.jpg" };

test("an argument that is not given is not sent, and null is null", async (test) => {
  const { server, client } = await started(test);
  await client.editPost("pst_1", { message: null, first_comment: undefined });
  const [request] = server.requests;
  assert.deepEqual(jsonOf(request), { message: null });
  assert.deepEqual([request.method, request.path], ["PATCH", "/api/v1/posts/scheduled/pst_1"]);
  assert.equal(request.headers.authorization, "Bearer svc_live_x");
  assert.match(request.headers["user-agent"], /^posthaste-node\//);
});

test("a Date is sent with its zone, and an invalid one is refused, because null would clear a field", async (test) => {
  const { server, client } = await started(test);
  await client.schedulePost({ page_id: "pag_1", scheduled_at: new Date(Date.UTC(2026, 11, 1, 9)) });
  await client.listLogs({ since: new Date(0), status: 404, errors_only: false, code: undefined });
  assert.equal(jsonOf(server.requests[0]).scheduled_at, "2026-12-01T09:00:00.000Z");
  assert.equal(server.requests[1].url, "/api/v1/logs?since=1970-01-01T00%3A00%3A00.000Z&status=404&errors_only=false");
  const never = new Date("never");
  await assert.rejects(client.schedulePost({ page_id: "pag_1", scheduled_at: never }), RangeError);
  await assert.rejects(client.listLogs({ since: never }), RangeError);
  assert.equal(server.requests.length, 2);
});

test("an id is quoted, and one that would name another resource refused", async (test) => {
  const { server, client } = await started(test);
  await client.getPage("../me?x=1");
  assert.equal(server.requests[0].url, "/api/v1/pages/..%2Fme%3Fx%3D1");
  for (const id of ["", undefined, "..", "."]) await assert.rejects(client.getPage(id), TypeError);
});

test("a key that a header cannot carry is refused before any request", async (test) => {
  const { server, client } = await started(test);
  for (const idempotencyKey of ["a\0", "a\n", "a\n\n", "a\x1f", "a\x7f", "ключ"]) {
    await assert.rejects(client.publishPost({ page_id: "pag_1" }, { idempotencyKey }), (error) => {
      assert.ok(error instanceof posthaste.IdempotencyError);
      return error.status === 400 && error.code === "INVALID_IDEMPOTENCY_KEY";
    });
  }
  assert.equal(server.requests.length, 0);
});

for (const ending of ["/", "/api/v1", "/api/v1/"]) {
  test(`the base URL may end with ${ending}`, async (test) => {
    const { server } = await started(test);
    await new Posthaste({ token: "t", baseUrl: server.url + ending }).publishPost({ page_id: "pag_1" });
    assert.equal(server.requests[0].path, "/api/v1/posts/publish");
  });
}

test("address and token may come from the environment", async (test) => {
  const { server } = await started(test);
  Object.assign(process.env, { POSTHASTE_URL: server.url, POSTHASTE_TOKEN: "svc_live_env" });
  test.after(() => ["POSTHASTE_URL", "POSTHASTE_TOKEN"].forEach((name) => delete process.env[name]));
  await new Posthaste().publishPost({ page_id: "pag_1" });
  assert.equal(server.requests[0].headers.authorization, "Bearer svc_live_env");
});

test("a client without an address, and a call without a token, say what is missing", async () => {
  assert.throws(() => new Posthaste({ token: "t" }), /Pass baseUrl.*POSTHASTE_URL/);
  assert.throws(() => new Posthaste({ token: "t", baseUrl: "posthaste.example.com" }), /is no http\(s\) address/);
  const client = new Posthaste({ baseUrl: "http://127.0.0.1:9" });
  await assert.rejects(client.getMe(), (problem) => {
    assert.ok(problem instanceof PosthasteError);
    assert.match(problem.message, /needs a token/);
    return true;
  });
});

test("a token is not shown when a client is printed", async () => {
  const { inspect } = await import("node:util");
  const client = new Posthaste({ token: "svc_live_secret", baseUrl: "http://127.0.0.1:9" });
  assert.doesNotMatch(inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client), /svc_live_secret/);
});

test("a call without authentication sends no token", async (test) => {
  const { server, client } = await started(test);
  await client.logIn({ email: "ada@example.test", password: "secret" });
  assert.equal(server.requests[0].headers.authorization, undefined);
});

for (const [status, code, family] of [
  [404, "NOT_FOUND", "ResourceError"],
  [403, "MISSING_SCOPE", "PermissionDenied"],
  [401, "INVALID_TOKEN", "AuthenticationError"],
  [402, "INSUFFICIENT_CREDITS", "AiError"],
  [413, "FILE_TOO_LARGE", "MediaError"],
  [422, "PLATFORM_REJECTED", "PlatformError"],
  [409, "IDEMPOTENCY_KEY_MISMATCH", "IdempotencyError"],
  [502, "PLATFORM_OUTCOME_UNKNOWN", "OutcomeUnknown"],
  [409, "A_NEWER_CODE", "ResourceError"],
  [418, "toString", "InvalidRequest"],
]) {
  test(`${status} ${code} is ${family}`, async (test) => {
    const { server, client } = await started(test, { maxRetries: 0 });
    server.next.push(error(status, code, { post_id: "pst_9", required_scope: "write:posts" }));
    await assert.rejects(client.publishPost({ page_id: "pag_1" }), (problem) => {
      assert.equal(problem.constructor, posthaste[family]);
      assert.equal(problem.name, family);
      assert.ok(problem instanceof posthaste.ApiError && problem instanceof PosthasteError);
      assert.deepEqual([problem.status, problem.code, problem.requestId], [status, code, "req_1"]);
      assert.equal(problem.message, `${code}: What happened. (req_1)`);
      assert.equal(problem.body.required_scope, "write:posts");
      if (family === "OutcomeUnknown") assert.equal(problem.postId, "pst_9");
      return true;
    });
  });
}

test("every category of the API has a family", async () => {
  const { CATEGORIES } = await import("../dist/error-codes.js");
  const { apiError } = await import("../dist/errors.js");
  const families = Object.keys(CATEGORIES).map((code) => apiError({ status: 418, body: { code } }).constructor.name);
  assert.ok(families.length > 40);
  assert.ok(!families.includes("ApiError"));
  const categories = new Set(Object.values(CATEGORIES));
  assert.equal(new Set(families).size, categories.size + 1); // OutcomeUnknown is a family of its own
});

test("the broken fields are named, however many they are", async (test) => {
  const { server, client } = await started(test);
  const errors = [{ field: "message", message: "too long" }, { field: "page_id", message: "missing" }];
  server.next.push(error(400, "VALIDATION_ERROR", { errors }), error(400, "MISSING_FIELD", { field: "page_id" }));
  const isInvalid = (fields) => (problem) => {
    assert.ok(problem instanceof InvalidRequest);
    assert.deepEqual(problem.fields, fields);
    return true;
  };
  await assert.rejects(client.publishPost({}), isInvalid(errors));
  await assert.rejects(client.publishPost({}), isInvalid([{ field: "page_id", message: "What happened." }]));
});

test("an answer that is not the API's is said to be unexpected", async (test) => {
  const { server, client } = await started(test);
  for (const body of [Buffer.from("<h1>Welcome</h1>"), null, "text"]) {
    server.next.push(answered(200, body));
    await assert.rejects(client.getMe(), UnexpectedAnswer);
  }
  server.next.push(answered(200, { other: [] }));
  await assert.rejects(client.iteratePages().next(), /no list pages/);
  server.next.push(answered(302, Buffer.from(""), { Location: "/elsewhere" }));
  await assert.rejects(client.getMe(), (problem) => problem.status === 302 && problem.code === "");
});

test("an iterator goes through all pages of a list as they are needed", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/pages", ({ url }) => {
    const cursor = new URL(url, server.url).searchParams.get("cursor");
    const [ids, next] = { null: [["1", "2"], "a"], a: [["3"], "b"], b: [[], null] }[cursor];
    return answered(200, { pages: ids.map((id) => ({ id })), next_cursor: next });
  });
  const ids = [];
  for await (const page of client.iteratePages({ platform: "FB", limit: 2 })) ids.push(page.id);
  assert.deepEqual(ids, ["1", "2", "3"]);
  assert.deepEqual(
    server.requests.map(({ url }) => url.split("?")[1]),
    ["platform=FB&limit=2", "platform=FB&limit=2&cursor=a", "platform=FB&limit=2&cursor=b"],
  );
  for await (const page of client.iteratePages()) if (page.id === "1") break;
  assert.equal(server.requests.length, 4);
});

test("a cursor that leads back to the same page is no endless loop", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/pages", () => answered(200, { pages: [{ id: "1" }], next_cursor: "a" }));
  const all = async () => {
    for await (const page of client.iteratePages()) assert.equal(page.id, "1");
  };
  await assert.rejects(all(), /leads back/);
  assert.equal(server.requests.length, 2);
});

test("a file goes in one request, with its name, its type, its length and its progress", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/media/upload", () => answered(201, FILE));
  const folder = await mkdtemp(join(tmpdir(), "posthaste-"));
  test.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "a.jpg");
  await writeFile(path, "bytes");
  const told = [];
  const made = await client.upload(path, { onProgress: (...now) => told.push(now) });
  assert.equal(made.media_id, "med_1");
  const [{ headers, body }] = server.requests;
  assert.match(String(body), /name="file"; filename="a\.jpg"\r\nContent-Type: image\/jpeg\r\n\r\nbytes\r\n--/);
  assert.equal(headers["content-length"], String(body.length));
  assert.equal(headers["transfer-encoding"], undefined);
  assert.deepEqual(told, [[5, 5]]);
});

test("bytes, a Blob and a File are uploaded too, and a name cannot break the form", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/media/upload", () => answered(201, FILE));
  const bytes = new TextEncoder().encode("bytes");
  await client.upload(bytes, { filename: 'a"\r\n.png' });
  await client.upload(bytes.buffer, { filename: "b.bin", mimeType: "video/mp4" });
  await client.upload(new Blob([bytes], { type: "image/webp" }), { filename: "c" });
  await client.upload(new File([bytes], "d.gif"));
  const heads = server.requests.map(({ body }) => /filename=.*\r\n.*/.exec(body)[0]);
  assert.deepEqual(heads, [
    'filename="a%22%0D%0A.png"\r\nContent-Type: image/png',
    'filename="b.bin"\r\nContent-Type: video/mp4',
    'filename="c"\r\nContent-Type: image/webp',
    'filename="d.gif"\r\nContent-Type: image/gif',
  ]);
  await assert.rejects(client.upload(bytes), /Pass filename/);
  await assert.rejects(client.upload("no such file.jpg"), /ENOENT|Unable to open/);
  assert.equal(server.requests.length, 4);
});

test("an upload in one request is repeated only when it was refused", async (test) => {
  const { server, client } = await started(test);
  server.routes.set("/api/v1/media/upload", () => answered(201, FILE));
  server.next.push(error(429, "RATE_LIMITED", { retryAfter: 1 }));
  const bytes = Buffer.from("bytes");
  await client.upload(bytes, { filename: "a.jpg" });
  assert.deepEqual(server.requests.map(({ body }) => body.includes("bytes")), [true, true]);
  server.next.push(LOST);
  await assert.rejects(client.upload(bytes, { filename: "a.jpg" }), NoAnswer);
  assert.equal(server.requests.length, 3);
});

test("a file in parts survives lost answers and sends no token to the storage", async (test) => {
  const { server, client } = await started(test);
  const content = Buffer.from(Array.from({ length: 2_560 }, (_, number) => number % 256));
  const parts = [1, 2, 3].map((number) => ({ number, url: `${server.url}/storage/${number}` }));
  const stored = new Map();
  const begun = { upload_id: "upl_1", part_size_bytes: 1_000, parts };
  server.routes.set("/api/v1/media/uploads", () => answered(201, begun));
  server.routes.set("/api/v1/media/uploads/upl_1/complete", () => answered(201, FILE));
  for (const { number } of parts) {
    server.routes.set(`/storage/${number}`, ({ body }) => {
      stored.set(number, body);
      return answered(200, Buffer.from(""), { ETag: `"${number}"` });
    });
  }
  server.next.push(LOST, LOST, undefined, LOST);
  const told = [];
  await client.upload(content, { filename: "a.jpg", inParts: true, onProgress: (...now) => told.push(now) });
  assert.deepEqual(Buffer.concat([1, 2, 3].map((number) => stored.get(number))), content);
  const sent = server.requests.filter(({ path }) => path.startsWith("/storage/"));
  assert.equal(sent.length, 4);
  for (const { headers } of sent) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers["transfer-encoding"], undefined);
    assert.equal(headers["content-type"], undefined);
  }
  const tags = [1, 2, 3].map((number) => ({ number, etag: `"${number}"` }));
  assert.deepEqual(jsonOf(server.requests.at(-1)), { parts: tags });
  assert.deepEqual(told.at(-1), [2_560, 2_560]);
});

test("a part that the storage refuses ends the upload", async (test) => {
  const { server, client } = await started(test);
  const parts = [{ number: 1, url: `${server.url}/storage/1` }];
  const begun = { upload_id: "upl_1", part_size_bytes: 1_000, parts };
  server.routes.set("/api/v1/media/uploads", () => answered(201, begun));
  server.routes.set("/storage/1", () => answered(403, Buffer.from("<Error/>")));
  await assert.rejects(client.upload(Buffer.from("x"), { filename: "a.jpg", inParts: true }), posthaste.UploadFailed);
});

test("the version is that of the package", async () => {
  const { version, dependencies } = JSON.parse(await readFile(new URL("../package.json", import.meta.url)));
  assert.equal(posthaste.VERSION, version);
  assert.equal(dependencies, undefined);
});
