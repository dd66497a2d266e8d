/**
 * Verifies that a webhook delivery comes from Posthaste, and parses its event. No dependencies, no HTTP, no framework.
 *
 *     const event = readDelivery(rawBody, request.headers, secret);
 *
 * A delivery carries two kinds of signatures. `readDelivery` and `verifyDelivery` take the headers of Standard
 * Webhooks. These headers sign a timestamp, so a recorded delivery that somebody sends again later is refused.
 * `readEvent` and `verify` take X-Svc-Signature, which has no timestamp.
 *
 * A forged or damaged request throws a WebhookError: answer 400. A mistake in your own code (text instead of bytes, an
 * empty secret) throws a TypeError.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

/** All headers of a request: Node's `request.headers`, or those of the fetch API. */
export type DeliveryHeaders = Headers | Record<string, string | string[] | undefined>;

/** Options of the check of a delivery's timestamp. */
export interface DeliveryOptions {
  /** How far the timestamp may be from `now`, by default 300. */
  toleranceSeconds?: number;
  /** The receiver's clock in Unix seconds, by default the machine's. */
  now?: number;
}

/** The header in lower case, as in Node's `request.headers`. */
export const SIGNATURE_HEADER = "x-svc-signature";
/** The headers of Standard Webhooks. */
export const ID_HEADER = "webhook-id";
export const TIMESTAMP_HEADER = "webhook-timestamp";
export const STANDARD_SIGNATURE_HEADER = "webhook-signature";
/** How far the signed timestamp may be from the receiver's clock: the figure of the standardwebhooks libraries. */
export const TOLERANCE_SECONDS = 300;

/** Spec "Signature": one of several, separated by commas. Hex in either case; spaces and tabs may stand around it. */
const SIGNATURE = /^[ \t]*sha256=([0-9a-fA-F]{64})[ \t]*$/;
/** Of webhook-signature: one of several, separated by spaces; those of other versions are passed over. */
const STANDARD_SIGNATURE = /^v1,([A-Za-z0-9+/]{43}=)$/;
/** Visible ASCII without the full stop, which separates the parts that are signed. */
const MESSAGE_ID = /^[!-\-/-~]+$/;
const TIMESTAMP = /^[0-9]{1,12}$/;
const STANDARD_SECRET = /^(?:whsec_)?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?)={0,2}$/;
const NOTHING = /^[ \t]*$/;
const EVENT_SHAPE = "The body is not an event {id, event, created_at, data}";

/** The request is not a delivery to trust: answer 400. `reason` is one word, for logs and counters. */
export class WebhookError extends Error {
  readonly reason: string = "invalid";

  override get name(): string {
    return this.constructor.name;
  }
}

/** A header is missing or empty: X-Svc-Signature, or one of the three headers of Standard Webhooks. */
export class MissingSignature extends WebhookError {
  override readonly reason = "missing_header";
}

/** A header is not of its form, such as sha256=<64 hex digits>, v1,<base64> or Unix seconds. */
export class MalformedSignature extends WebhookError {
  override readonly reason = "malformed_header";
}

/** No signature in the header fits this body and this secret. The secret is another one, or the body was altered. */
export class SignatureMismatch extends WebhookError {
  override readonly reason = "no_match";
}

/**
 * The signature is right, but its timestamp is too old or in the future: somebody sends a recorded delivery again, or a
 * clock is wrong.
 */
export class TimestampOutOfTolerance extends WebhookError {
  override readonly reason = "timestamp_out_of_tolerance";
}

/** The signature is right, but the body is not an event: it was not made by Posthaste's delivery. */
export class MalformedEvent extends WebhookError {
  override readonly reason = "malformed_event";
}

/**
 * The event in a delivery. `id` stays the same over retries and replays: store it, and act on it once.
 *
 * `event as KnownEvent` has the fields of `data` for each event that this version knows.
 */
export interface WebhookEvent {
  id: string;
  /** The name of the event, such as `post.published`. */
  event: string;
  created_at: string;
  data: Record<string, any>;
}

/**
 * Verifies a delivery by its header X-Svc-Signature. Returns if one of the header's signatures is that of the body; for
 * 24 hours after the secret was rotated, there are two.
 *
 * Throws MissingSignature, MalformedSignature or SignatureMismatch for a request that may be forged, and TypeError for
 * a mistake of the calling code.
 *
 * @param body the request's body as it arrived, before any parsing; a Buffer is one
 * @param header the value of X-Svc-Signature
 */
export function verify(body: Uint8Array | ArrayBuffer, header: string | null | undefined, secret: string): void {
  const expected = createHmac("sha256", checkedSecret(secret)).update(rawBytes(body)).digest();
  const text = header ?? "";
  if (typeof text !== "string") throw new TypeError(`The header's value is text, not ${kindOf(header)}`);
  if (NOTHING.test(text)) throw new MissingSignature("The request has no X-Svc-Signature header");
  const given = text
    .split(",")
    .map((part) => SIGNATURE.exec(part))
    .flatMap((match) => (match?.[1] ? [Buffer.from(match[1], "hex")] : []));
  if (given.length === 0) {
    throw new MalformedSignature("X-Svc-Signature holds no signature of the form sha256=<64 hex digits>");
  }
  const matches = given.filter((one) => timingSafeEqual(expected, one)); // all are compared, whichever matches
  if (matches.length === 0) {
    throw new SignatureMismatch(
      "No signature in X-Svc-Signature is that of this body: is the secret this subscription's, and the body " +
        "exactly the bytes that arrived?",
    );
  }
}

/**
 * Verifies a delivery by the headers of Standard Webhooks. Returns if one signature in webhook-signature is that of id,
 * timestamp and body, and the timestamp is at most `toleranceSeconds` from `now`.
 *
 * Throws MissingSignature, MalformedSignature, SignatureMismatch or TimestampOutOfTolerance for a request that may be
 * forged, and TypeError for a mistake of the calling code.
 *
 * @param body the request's body as it arrived, before any parsing; a Buffer is one
 * @param headers all headers of the request; upper or lower case does not matter
 */
export function verifyDelivery(
  body: Uint8Array | ArrayBuffer,
  headers: DeliveryHeaders,
  secret: string,
  options: DeliveryOptions = {},
): void {
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() / 1000 } = options;
  const key = standardKey(secret);
  const raw = rawBytes(body);
  const [id, timestamp, signatures] = standardHeaders(headers);
  const given = signatures
    .split(" ")
    .map((part) => STANDARD_SIGNATURE.exec(part))
    .flatMap((match) => (match?.[1] ? [Buffer.from(match[1], "base64")] : []));
  if (given.length === 0) {
    throw new MalformedSignature(`${STANDARD_SIGNATURE_HEADER} holds no signature of the form v1,<base64>`);
  }
  if (!MESSAGE_ID.test(id) || !TIMESTAMP.test(timestamp)) {
    throw new MalformedSignature(`${ID_HEADER} is not an id, or ${TIMESTAMP_HEADER} is not a number of Unix seconds`);
  }
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(raw).digest();
  const matches = given.filter((one) => timingSafeEqual(expected, one)); // all are compared, whichever matches
  if (matches.length === 0) {
    throw new SignatureMismatch(
      `No signature in ${STANDARD_SIGNATURE_HEADER} is that of this body, ${ID_HEADER} and ${TIMESTAMP_HEADER}: is the ` +
        "secret this subscription's, and the body exactly the bytes that arrived?",
    );
  }
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new TimestampOutOfTolerance(
      `The delivery was signed at ${timestamp} (Unix seconds), more than ${toleranceSeconds} seconds from now: is this ` +
        "machine's clock right?",
    );
  }
}

/** Verifies a delivery with `verifyDelivery`, and returns its event. Throws the same errors, and MalformedEvent. */
export function readDelivery(
  body: Uint8Array | ArrayBuffer,
  headers: DeliveryHeaders,
  secret: string,
  options: DeliveryOptions = {},
): WebhookEvent {
  verifyDelivery(body, headers, secret, options);
  return eventOf(body);
}

/** Verifies a delivery with `verify`, and returns its event. Throws the same errors, and MalformedEvent. */
export function readEvent(
  body: Uint8Array | ArrayBuffer,
  header: string | null | undefined,
  secret: string,
): WebhookEvent {
  verify(body, header, secret);
  return eventOf(body);
}

function eventOf(body: Uint8Array | ArrayBuffer): WebhookEvent {
  let said: Partial<WebhookEvent> | null;
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    throw new MalformedEvent(EVENT_SHAPE, { cause: error });
  }
  const { id, event, created_at, data } = said ?? {};
  if (typeof id !== "string" || typeof event !== "string" || typeof created_at !== "string") {
    throw new MalformedEvent(EVENT_SHAPE);
  }
  if (Number.isNaN(Date.parse(created_at)) || typeof data !== "object" || !data || Array.isArray(data)) {
    throw new MalformedEvent(EVENT_SHAPE);
  }
  return { id, event, created_at, data };
}

function rawBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError(
    `Pass the raw body, the bytes as they arrived, not ${kindOf(body)}: parsed or decoded and written again it is ` +
      "another text, with another signature (Express: express.raw({ type: 'application/json' }) and request.body; " +
      "fetch API: await request.arrayBuffer())",
  );
}

/** Returns id, timestamp and signatures. Throws MissingSignature if one of these headers is missing. */
function standardHeaders(headers: DeliveryHeaders): [string, string, string] {
  if (typeof headers !== "object" || headers === null) {
    throw new TypeError(`Pass all of the request's headers, not ${kindOf(headers)}`);
  }
  const entries: Iterable<[string, unknown]> =
    headers instanceof Headers || typeof headers["entries"] === "function"
      ? (headers as Headers).entries()
      : Object.entries(headers);
  const given = new Map([...entries].map(([name, value]) => [name.toLowerCase(), value]));
  const textOf = (name: string): string => {
    const text = given.get(name) ?? "";
    if (typeof text !== "string") throw new TypeError(`The header's value is text, not ${kindOf(text)}`);
    if (NOTHING.test(text)) throw new MissingSignature(`The request has no ${name} header`);
    return text;
  };
  return [textOf(ID_HEADER), textOf(TIMESTAMP_HEADER), textOf(STANDARD_SIGNATURE_HEADER)];
}

/** Decodes a secret: base64, with or without the prefix `whsec_` and the padding. */
function standardKey(secret: unknown): Buffer {
  const match = STANDARD_SECRET.exec(checkedSecret(secret));
  if (!match?.[1]) {
    throw new TypeError("The secret is not the text shown when the subscription was made: whsec_ and base64");
  }
  return Buffer.from(match[1], "base64");
}

function checkedSecret(secret: unknown): string {
  if (typeof secret === "string" && secret !== "") return secret;
  throw new TypeError(
    secret === ""
      ? "The secret is empty: is its setting missing? Anybody could sign with an empty secret"
      : `The secret is the text shown when the subscription was made, not ${kindOf(secret)}`,
  );
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? (value.constructor?.name ?? "an object") : typeof value;
}
