/** One call: its request, its tries, and its result or error. */

import { setTimeout as pause } from "node:timers/promises";

import { apiError, type ErrorBody, NoAnswer, PosthasteError, UnexpectedAnswer } from "./errors.js";
import {
  type Answer,
  type Failure,
  pauseBeforeRetry,
  RETRY_POLICY,
  retryAfterSeconds,
  type RetryPolicy,
} from "./retries.js";

export const VERSION = "1.0.0-beta.2";
export const BASE_PATH = "/api/v1";
/** Longer than the longest call of the API: a file that is uploaded in parts is checked for up to 120 s. */
const TIMEOUT_SECONDS = 130;

/** Codes of a failed fetch whose request was certainly not sent: no address, no connection, no TLS. */
const NOT_SENT = new RegExp(
  "^(ECONNREFUSED|ENOTFOUND|EAI_.+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT" +
    "|ERR_TLS_.+|CERT_.+|UNABLE_TO_.+|(DEPTH_ZERO_)?SELF_SIGNED_.+)$",
);

/** Options of a call that takes no idempotency key. */
export interface UnkeyedOptions {
  /** Ends the call; a request that was sent may still take effect. */
  signal?: AbortSignal | undefined;
}

/** Options of a write. */
export interface CallOptions extends UnkeyedOptions {
  /** A key of your own, such as the id of your record, so that your program may repeat the call after a crash. */
  idempotencyKey?: string | undefined;
}

/** A body that is sent while it is read. Each try reads it again from its beginning. */
export interface Content {
  sizeBytes: number;
  /** Empty: no Content-Type is sent. */
  contentType: string;
  blocks(): AsyncIterable<Uint8Array>;
}

/** One operation of the API with its arguments. */
export interface Sent {
  method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  /** The path from the server's root. */
  path: string;
  query?: object;
  body?: object;
  content?: Content;
  /** Whether it takes an Idempotency-Key. */
  keyed?: boolean;
  /** False: the request is sent without the token. */
  authenticated?: boolean;
}

/** The settings that all calls of a client share. */
export interface Settings {
  rootUrl: string;
  token: string | undefined;
  timeoutSeconds: number;
  retries: RetryPolicy;
  fetch: typeof fetch;
  sleep: (seconds: number, signal?: AbortSignal) => Promise<void>;
}

/** The options of a client. */
export interface SettingsOptions {
  /** By default POSTHASTE_TOKEN. */
  token?: string | undefined;
  /** The server's address, such as https://posthaste.example.com; by default POSTHASTE_URL. */
  baseUrl?: string | undefined;
  /** Time limit of one try, by default 130. */
  timeoutSeconds?: number | undefined;
  retries?: Partial<RetryPolicy> | undefined;
  /** Replaces Node's own fetch, for example with one that uses a proxy. */
  fetch?: typeof fetch | undefined;
  /** Replaces the timer of pauses, for tests. */
  sleep?: ((seconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

/** A request to send. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  content: string | Content | undefined;
}

/** Completes the options of a client. Throws PosthasteError if there is no base URL, or it is no http(s) address. */
export function settingsOf(options: SettingsOptions): Settings {
  const url = (options.baseUrl || process.env["POSTHASTE_URL"] || "").replace(/\/+$/, "");
  if (!/^https?:\/\//.test(url)) {
    const given = url === "" ? "" : `; ${JSON.stringify(url)} is no http(s) address`;
    throw new PosthasteError(`Pass baseUrl, such as https://posthaste.example.com, or set POSTHASTE_URL${given}`);
  }
  return {
    rootUrl: url.endsWith(BASE_PATH) ? url.slice(0, -BASE_PATH.length) : url,
    token: options.token || process.env["POSTHASTE_TOKEN"] || undefined,
    timeoutSeconds: options.timeoutSeconds ?? TIMEOUT_SECONDS,
    retries: { ...RETRY_POLICY, ...options.retries },
    fetch: options.fetch ?? globalThis.fetch,
    sleep: options.sleep ?? ((seconds, signal) => pause(seconds * 1000, undefined, signal && { signal })),
  };
}

/**
 * Sends a call, and repeats it as the policy says. Returns the result.
 *
 * Throws NoAnswer if no answer came, ApiError if the server refuses the call, UnexpectedAnswer for an answer that the
 * API does not document, and TypeError or RangeError for an argument that cannot be sent.
 */
export async function exchange<T>(sent: Sent, settings: Settings, options: CallOptions = {}): Promise<T> {
  const key = sent.keyed ? options.idempotencyKey || crypto.randomUUID() : undefined;
  checkKey(key);
  const repeatable = sent.method === "GET" || key !== undefined;
  const answer = await send(outgoing(sent, settings, key), settings, { repeatable, key, signal: options.signal });
  if (answer.status >= 300) {
    throw apiError({
      status: answer.status,
      body: errorBody(answer) ?? {},
      retryAfterSeconds: retryAfterSeconds(answer),
      idempotencyKey: key,
    });
  }
  const result = parsed(answer.text);
  if (typeof result === "object" && result !== null) return result as T;
  throw new UnexpectedAnswer("The answer is not JSON of the API: is baseUrl a Posthaste server?");
}

/** Throws INVALID_IDEMPOTENCY_KEY for a key with characters that a header cannot carry: it could not be sent. */
function checkKey(key: string | undefined): void {
  if (key === undefined || /^[ -~]*$/.test(key)) return;
  const error = "The idempotency key must be printable ASCII characters.";
  const body = { code: "INVALID_IDEMPOTENCY_KEY", error };
  throw apiError({ status: 400, body, retryAfterSeconds: undefined, idempotencyKey: key });
}

/**
 * Sends a request, and repeats it as the policy says. Returns the last answer, whatever its status. Throws NoAnswer if
 * the last try got no answer, or the reason of an aborted signal.
 */
export async function send(
  request: Outgoing,
  settings: Settings,
  { repeatable, key, signal }: { repeatable: boolean; key?: string | undefined; signal?: AbortSignal | undefined },
): Promise<Answer> {
  for (let retries = 0; ; retries += 1) {
    const outcome = await attempt(request, settings, signal);
    const isAnswer = "status" in outcome;
    if (isAnswer && outcome.status < 300) return outcome;
    const code = isAnswer ? errorBody(outcome)?.["code"] : undefined;
    const seconds = pauseBeforeRetry(settings.retries, retries, outcome, code as string | undefined, repeatable);
    if (seconds === undefined) {
      if (isAnswer) return outcome;
      throw new NoAnswer(`${outcome.reason} (tried ${retries + 1} times)`, key, { cause: outcome.cause });
    }
    await settings.sleep(seconds, signal);
    signal?.throwIfAborted();
  }
}

/**
 * Fills the placeholders of a path. Throws TypeError for an empty id, and for the ids `.` and `..`: a URL would drop
 * them, and the path would name another resource.
 */
export function pathOf(template: string, ids: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id: unknown = ids[name];
    if (typeof id !== "string" || id === "") throw new TypeError(`${name} is empty`);
    if (/^\.{1,2}$/.test(id)) throw new TypeError(`${name} is not an id: ${id}`);
    return encodeURIComponent(id);
  });
}

async function attempt(
  request: Outgoing,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Answer | Failure> {
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(settings.timeoutSeconds * 1000);
  const init: RequestInit = {
    method: request.method,
    headers: request.headers,
    redirect: "manual",
    signal: signal ? AbortSignal.any([deadline, signal]) : deadline,
  };
  const reading = new ReadingProblem();
  if (typeof request.content === "string") init.body = request.content;
  else if (request.content) Object.assign(init, { body: reading.watched(request.content.blocks()), duplex: "half" });
  try {
    const response = await settings.fetch(request.url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    signal?.throwIfAborted();
    reading.throwIfAny();
    if (deadline.aborted) {
      const reason = `No answer came within ${settings.timeoutSeconds} seconds`;
      return { reason, reachedServer: true, cause: error };
    }
    return failureOf(error);
  }
}

/** Keeps an error of reading the body, because fetch reports it as a failure of the connection. */
class ReadingProblem {
  private problem: { error: unknown } | undefined;

  async *watched(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    try {
      yield* blocks;
    } catch (error) {
      this.problem = { error };
      throw error;
    }
  }

  throwIfAny(): void {
    if (this.problem) throw this.problem.error;
  }
}

function failureOf(error: unknown): Failure {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = String((cause as { code?: unknown } | null)?.code ?? "");
  const text = (cause instanceof Error && cause.message) || code || String(cause);
  return NOT_SENT.test(code)
    ? { reason: `The server could not be reached: ${text}`, reachedServer: false, cause: error }
    : { reason: `The connection was lost: ${text}`, reachedServer: true, cause: error };
}

/** Returns the API's error in an answer; undefined if the answer has none, for example if it is a proxy's page. */
function errorBody(answer: Answer): ErrorBody | undefined {
  const body = parsed(answer.text);
  const isError = typeof body === "object" && body !== null && "code" in body && typeof body.code === "string";
  return isError ? (body as ErrorBody) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function outgoing(sent: Sent, settings: Settings, key: string | undefined): Outgoing {
  const headers: Record<string, string> = { Accept: "application/json", "User-Agent": `posthaste-node/${VERSION}` };
  if (sent.authenticated !== false) {
    if (settings.token === undefined) {
      throw new PosthasteError("This call needs a token: pass token, or set POSTHASTE_TOKEN");
    }
    headers["Authorization"] = `Bearer ${settings.token}`;
  }
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (sent.body !== undefined) headers["Content-Type"] = "application/json";
  return {
    method: sent.method,
    url: settings.rootUrl + sent.path + queryText(sent.query ?? {}),
    headers: { ...headers, ...contentHeaders(sent.content) },
    content: sent.body === undefined ? sent.content : JSON.stringify(withoutInvalidDates(sent.body)),
  };
}

/** Returns the headers of a streamed body. Storages refuse a body without Content-Length. */
export function contentHeaders(content: Content | undefined): Record<string, string> {
  if (content === undefined) return {};
  const headers = { "Content-Length": String(content.sizeBytes) };
  return content.contentType ? { ...headers, "Content-Type": content.contentType } : headers;
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return parameters.size > 0 ? `?${parameters}` : "";
}

/** Throws RangeError for an invalid Date, which JSON would write as null, and null clears a field. */
function withoutInvalidDates<T>(value: T): T {
  if (value instanceof Date) value.toISOString();
  else if (typeof value === "object" && value !== null) Object.values(value).forEach(withoutInvalidDates);
  return value;
}
