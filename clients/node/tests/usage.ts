// Compiled against the installed package: what the types permit, and what they refuse.

import {
  ApiError,
  type inputs,
  type KnownEvent,
  LimitReached,
  OutcomeUnknown,
  Posthaste,
  readDelivery,
  type records,
} from "@posthaste/client";
import { readEvent } from "@posthaste/client/webhooks";

const client = new Posthaste({ token: "svc_live_x", baseUrl: "https://posthaste.example.com", retries: { maxRetries: 2 } });

export async function posts(): Promise<string | null> {
  const published: records.PublishResult = await client.publishPost({ page_id: "pag_1", message: "Hello" });
  const settings: inputs.FacebookPostSettings = { link: "https://example.com" };
  await client.schedulePost({ page_id: "pag_1", scheduled_at: new Date(), facebook_settings: settings });
  await client.schedulePosts({ page_ids: ["pag_1"], scheduled_at: "2026-12-01T09:00:00Z" }, { idempotencyKey: "mine" });
  await client.editPost("pst_1", { message: null }, { signal: AbortSignal.timeout(1000) });
  for await (const page of client.iteratePages({ platform: "FB" })) {
    const name: string = page.name;
    if (name) return published.permalink;
  }
  const uploaded = await client.upload("bread.jpg", { onProgress: (sent, size) => console.log(sent / size) });
  return uploaded.media_id;
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error: a field is missing
  await client.publishPost({ message: "Hello" });
  // @ts-expect-error: misspelt
  await client.publishPost({ page_id: "pag_1", mesage: "Hello" });
  // @ts-expect-error: a setting is misspelt
  await client.publishPost({ page_id: "pag_1", linkedin_settings: { visiblity: "PUBLIC" } });
  // @ts-expect-error: no platform
  await client.listPages({ platform: "MYSPACE" });
  // @ts-expect-error: a read takes no key
  await client.getMe({ idempotencyKey: "mine" });
  // @ts-expect-error: records have the fields of the API
  (await client.getMe()).authenticated_as.name;
  // @ts-expect-error: what operations are made of is not public
  await client.call({ method: "GET", path: "/me" });
}

export function refused(error: unknown): string | number | undefined {
  if (error instanceof OutcomeUnknown) return error.postId;
  if (error instanceof LimitReached) return error.retryAfterSeconds;
  return error instanceof ApiError ? error.code + error.requestId + (error.fields[0]?.field ?? "") : undefined;
}

export function received(body: Buffer, headers: Record<string, string | string[] | undefined>): string | null {
  const event = readDelivery(body, headers, "whsec_x") as KnownEvent;
  if (event.event === "post.published") return event.data.post.permalink ?? null;
  if (event.event === "post.failed") return event.data.error.code;
  return readEvent(body, "sha256=…", "whsec_x").id;
}
