/** Client library of the Posthaste API. So far: the verifier of webhook deliveries. */

export * from "./webhooks.js";
