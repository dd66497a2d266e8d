/**
 * Decides whether a call is repeated, and after which pause. No I/O.
 *
 * Only calls that cannot take effect twice are repeated: reads, writes with an idempotency key, and calls that
 * certainly had no effect, because they did not reach the server or were refused with 429. The figures are those of
 * the Python client.
 */

/** Pauses grow from the first to the last, doubling each time. */
const FIRST_PAUSE_SECONDS = 0.5;
const LAST_PAUSE_SECONDS = 8;
/** Codes of 503 for which a repetition would fail too. */
const PERMANENT: ReadonlySet<string> = new Set(["AI_NOT_CONFIGURED"]);
/** Statuses of a proxy's answer, and of a server that failed during the request. */
const SERVER_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504]);
/** A Retry-After in seconds; otherwise it is a date. */
const SECONDS = /^\d+(\.\d+)?$/;

/** How often a call is repeated, and the longest Retry-After for which the client waits. */
export interface RetryPolicy {
  /** 7 by default. */
  maxRetries: number;
  /** 60 by default. A longer Retry-After, such as that of a daily limit, is thrown at once as LimitReached. */
  maxWaitSeconds: number;
}

export const RETRY_POLICY: RetryPolicy = { maxRetries: 7, maxWaitSeconds: 60 };

/** A complete HTTP answer. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** A call without an answer. */
export interface Failure {
  reason: string;
  /** Whether the request may have arrived, so that it may have taken effect. */
  reachedServer: boolean;
  cause: unknown;
}

/**
 * Returns the seconds to wait before the next try, or undefined if there is to be none.
 *
 * @param retries repetitions so far
 * @param code of the API's error in the answer; undefined if the answer is not one of the API's
 * @param repeatable whether the call may run twice without a second effect
 */
export function pauseBeforeRetry(
  policy: RetryPolicy,
  retries: number,
  outcome: Answer | Failure,
  code: string | undefined,
  repeatable: boolean,
): number | undefined {
  if (retries >= policy.maxRetries) return undefined;
  const jitter = 0.75 + Math.random() / 4;
  const backoff = Math.min(FIRST_PAUSE_SECONDS * 2 ** retries, LAST_PAUSE_SECONDS) * jitter;
  if (!("status" in outcome)) return repeatable || !outcome.reachedServer ? backoff : undefined;
  if (!isWorthRepeating(outcome.status, code, repeatable)) return undefined;
  const asked = retryAfterSeconds(outcome);
  if (asked === undefined) return outcome.status === 429 ? undefined : backoff; // without Retry-After: a long limit
  return asked <= policy.maxWaitSeconds ? Math.max(asked, backoff) : undefined;
}

function isWorthRepeating(status: number, code: string | undefined, repeatable: boolean): boolean {
  if (status === 429) return true;
  if (!repeatable) return false;
  if (!SERVER_STATUSES.has(status)) return code === "IDEMPOTENCY_IN_PROGRESS";
  return code === undefined || code === "SERVER_ERROR" || (status === 503 && !PERMANENT.has(code));
}

/** Reads Retry-After: seconds, or a date. */
export function retryAfterSeconds(answer: Answer): number | undefined {
  const text = answer.headers.get("retry-after")?.trim() ?? "";
  if (SECONDS.test(text)) return Number(text);
  const at = text === "" ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}
