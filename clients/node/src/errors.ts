/**
 * The errors of this library: one class for each category of the API's errors, and those for calls without an answer.
 *
 * Every error is a `PosthasteError`. An `ApiError` has the API's `code` and `requestId`; GET /errors lists the codes.
 */

import { CATEGORIES } from "./error-codes.js";

/** Every error of this library except those of webhooks, and TypeErrors for mistakes of the calling code. */
export class PosthasteError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * No answer came: the server could not be reached, took too long, or the connection was lost.
 *
 * A write may have taken effect. Repeat it with `idempotencyKey`, which makes sure that it takes effect once.
 */
export class NoAnswer extends PosthasteError {
  /** Undefined: the call takes no key. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, idempotencyKey: string | undefined, options?: ErrorOptions) {
    super(message, options);
    this.idempotencyKey = idempotencyKey;
  }
}

/** The answer is not what the API documents, as when a proxy answers for it, or baseUrl is another server. */
export class UnexpectedAnswer extends PosthasteError {}

/** The storage refused a part of a file. Start the upload again. */
export class UploadFailed extends PosthasteError {}

/** One broken rule of a request's field. */
export interface FieldError {
  field: string;
  message: string;
}

/** The body of an API's error, with the extra fields of some codes, such as `required_scope`. */
export type ErrorBody = Record<string, unknown>;

/** What is known about a refused call. */
export interface Refusal {
  status: number;
  body: ErrorBody;
  retryAfterSeconds: number | undefined;
  idempotencyKey: string | undefined;
}

/** The API refused the call. Its text says what happened; GET /errors says for each code what to do. */
export class ApiError extends PosthasteError {
  readonly status: number;
  /** Such as `NOT_FOUND`; empty when the answer is not one of the API's. */
  readonly code: string;
  /** Identifies the request in the server's logs. */
  readonly requestId: string;
  readonly fields: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  /** The idempotency key with which the call can be repeated; undefined: the call takes no key. */
  readonly idempotencyKey: string | undefined;
  readonly body: ErrorBody;

  constructor({ status, body, retryAfterSeconds, idempotencyKey }: Refusal) {
    const code = textOf(body["code"]);
    const requestId = textOf(body["request_id"]);
    const message = textOf(body["error"]) || `HTTP status ${status}`;
    super((code ? `${code}: ` : "") + message + (requestId ? ` (${requestId})` : ""));
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.fields = fieldErrors(body);
    this.retryAfterSeconds = retryAfterSeconds;
    this.idempotencyKey = idempotencyKey;
    this.body = body;
  }
}

/** The request breaks a rule; `fields` names the fields. */
export class InvalidRequest extends ApiError {}

/** The token is missing, unknown, expired or revoked, or the password is wrong. */
export class AuthenticationError extends ApiError {}

/** The token lacks a scope, or may not reach the brand. */
export class PermissionDenied extends ApiError {}

/** There is no such thing, or its state does not permit the call. */
export class ResourceError extends ApiError {}

/** A rate limit, quota or guardrail refuses the call for now. */
export class LimitReached extends ApiError {}

/** The file is refused, or the storage is full. */
export class MediaError extends ApiError {}

/** An image, video or caption could not be made, or credits are missing. */
export class AiError extends ApiError {}

/** The social platform, or the page's connection to it, refuses the call. */
export class PlatformError extends ApiError {}

/**
 * The platform did not say whether it published. Posthaste is finding out: read the post `postId` later, or repeat the
 * call with `idempotencyKey`. With another key it might be published twice.
 */
export class OutcomeUnknown extends PlatformError {
  get postId(): string | undefined {
    const id = this.body["post_id"];
    return typeof id === "string" ? id : undefined;
  }
}

/** The idempotency key was used for another request, or that request is still running. */
export class IdempotencyError extends ApiError {}

/** The server failed, or a part of it did not answer in time. */
export class ServerError extends ApiError {}

type Family = new (refusal: Refusal) => ApiError;

/** Category of an error (GET /errors) → its class. */
const FAMILIES: Readonly<Record<string, Family>> = {
  request: InvalidRequest,
  authentication: AuthenticationError,
  permission: PermissionDenied,
  resource: ResourceError,
  limits: LimitReached,
  media: MediaError,
  ai: AiError,
  platform: PlatformError,
  idempotency: IdempotencyError,
  server: ServerError,
};

/** HTTP status → class of an error whose code this version does not know. */
const BY_STATUS: Readonly<Record<number, Family>> = {
  401: AuthenticationError,
  403: PermissionDenied,
  404: ResourceError,
  409: ResourceError,
  429: LimitReached,
};

/** Builds the error for a refused call. The code decides its class or, if the code is unknown, the HTTP status. */
export function apiError(refusal: Refusal): ApiError {
  return new (familyOf(refusal.status, textOf(refusal.body["code"])))(refusal);
}

function familyOf(status: number, code: string): Family {
  if (code === "PLATFORM_OUTCOME_UNKNOWN") return OutcomeUnknown;
  const category = Object.hasOwn(CATEGORIES, code) ? CATEGORIES[code] : undefined;
  const family = category === undefined ? BY_STATUS[status] : FAMILIES[category];
  return family ?? (status >= 500 ? ServerError : InvalidRequest);
}

function fieldErrors(body: ErrorBody): FieldError[] {
  const listed = Array.isArray(body["errors"]) ? (body["errors"] as unknown[]) : [];
  const found = listed
    .filter((one): one is Record<string, unknown> => typeof one === "object" && one !== null)
    .map((one) => ({ field: textOf(one["field"]), message: textOf(one["message"]) }));
  if (found.length > 0 || typeof body["field"] !== "string") return found;
  return [{ field: body["field"], message: textOf(body["error"]) }];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
