/** The Posthaste API for Node.js: `Posthaste`, its errors, the verifier of webhooks, and the types of all records. */

export { Posthaste, type PosthasteOptions } from "./client.js";
export {
  AiError,
  ApiError,
  AuthenticationError,
  type ErrorBody,
  type FieldError,
  IdempotencyError,
  InvalidRequest,
  LimitReached,
  MediaError,
  NoAnswer,
  OutcomeUnknown,
  PermissionDenied,
  PlatformError,
  PosthasteError,
  ResourceError,
  ServerError,
  UnexpectedAnswer,
  UploadFailed,
} from "./errors.js";
export type * as events from "./events.js";
export type { KnownEvent } from "./events.js";
export { type CallOptions, type UnkeyedOptions, VERSION } from "./exchange.js";
export type * as inputs from "./inputs.js";
export type * as records from "./records.js";
export type { RetryPolicy } from "./retries.js";
export { type Progress, type UploadOptions, type Uploadable } from "./uploads.js";
export * from "./webhooks.js";
