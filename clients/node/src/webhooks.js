/**
 * Is this delivery really from Posthaste, and what does it say? No dependencies, no HTTP, no framework.
 *
 *     const event = readEvent(rawBody, request.headers["x-svc-signature"], secret);
 *
 * Everything a stranger can send throws a WebhookError: answer 400 and forget it. What only your own code can get
 * wrong (text instead of bytes, an empty secret) throws a TypeError.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

/** Lower case, as Node's `request.headers` has it. */
export const SIGNATURE_HEADER = "x-svc-signature";

/** Spec "Signature": one of several, separated by commas. Hex in either case; spaces and tabs may stand around it. */
const SIGNATURE = /^[ \t]*sha256=([0-9a-fA-F]{64})[ \t]*$/;
const NOTHING = /^[ \t]*$/;
const EVENT_SHAPE = "The body is not an event {id, event, created_at, data}";

/** The request is not a delivery to trust: answer 400. `reason` is one word, for logs and counters. */
export class WebhookError extends Error {
  reason = "invalid";

  get name() {
    return this.constructor.name;
  }
}

/** There is no X-Svc-Signature header, or it is empty. */
export class MissingSignature extends WebhookError {
  reason = "missing_header";
}

/** The header holds nothing of the form sha256=<64 hex digits>. */
export class MalformedSignature extends WebhookError {
  reason = "malformed_header";
}

/** No signature in the header is that of this body with this secret: another secret, or an altered body. */
export class SignatureMismatch extends WebhookError {
  reason = "no_match";
}

/** The signature is right, but the body is not an event: it was not made by Posthaste's delivery. */
export class MalformedEvent extends WebhookError {
  reason = "malformed_event";
}

/**
 * What a delivery says. `id` stays the same over retries and replays: remember it, and act on it once.
 *
 * @typedef {{id: string, event: string, created_at: string, data: Record<string, unknown>}} WebhookEvent
 */

/**
 * Returns when one of the signatures in the header is that of the body; during the 24 hours after a rotation there
 * are several. Throws MissingSignature, MalformedSignature, SignatureMismatch; TypeError.
 *
 * @param {Uint8Array | ArrayBuffer} body the request's body as it arrived, before any parsing; a Buffer is one
 * @param {string | null | undefined} header the value of X-Svc-Signature
 * @param {string} secret
 */
export function verify(body, header, secret) {
  const expected = createHmac("sha256", checkedSecret(secret)).update(rawBytes(body)).digest();
  const text = header ?? "";
  if (typeof text !== "string") throw new TypeError(`The header's value is text, not ${kindOf(header)}`);
  if (NOTHING.test(text)) throw new MissingSignature("The request has no X-Svc-Signature header");
  const given = text
    .split(",")
    .map((part) => SIGNATURE.exec(part))
    .filter((match) => match !== null)
    .map((match) => Buffer.from(match[1], "hex"));
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
 * The event of a delivery, once its signature is verified. Throws as `verify` does, and MalformedEvent.
 *
 * @param {Uint8Array | ArrayBuffer} body
 * @param {string | null | undefined} header
 * @param {string} secret
 * @returns {WebhookEvent}
 */
export function readEvent(body, header, secret) {
  verify(body, header, secret);
  let said;
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    throw new MalformedEvent(EVENT_SHAPE, { cause: error });
  }
  const { id, event, created_at, data } = said ?? {};
  const texts = [id, event, created_at].every((value) => typeof value === "string");
  if (!texts || Number.isNaN(Date.parse(created_at)) || typeof data !== "object" || !data || Array.isArray(data)) {
    throw new MalformedEvent(EVENT_SHAPE);
  }
  return { id, event, created_at, data };
}

function rawBytes(body) {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError(
    `Pass the raw body, the bytes as they arrived, not ${kindOf(body)}: parsed or decoded and written again it is ` +
      "another text, with another signature (Express: express.raw({ type: 'application/json' }) and request.body; " +
      "fetch API: await request.arrayBuffer())",
  );
}

function checkedSecret(secret) {
  if (typeof secret === "string" && secret !== "") return secret;
  throw new TypeError(
    secret === ""
      ? "The secret is empty: is its setting missing? Anybody could sign with an empty secret"
      : `The secret is the text shown when the subscription was made, not ${kindOf(secret)}`,
  );
}

function kindOf(value) {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? (value.constructor?.name ?? "an object") : typeof value;
}
