// The journey of a post, over the installed package. Prints what it saw, as JSON.

import { writeFile } from "node:fs/promises";

import { InvalidRequest, Posthaste, ResourceError } from "@posthaste/client";

const { FB, IG, JPEG, MP4 } = process.env;
const client = new Posthaste();
const tomorrow = (hours = 0) => new Date(Math.ceil(Date.now() / 1000) * 1000 + (24 + hours) * 3_600_000);
const all = (items) => Array.fromAsync(items);

async function refusal(call) {
  try {
    await call;
  } catch (error) {
    const family = [InvalidRequest, ResourceError].find((one) => error instanceof one)?.name;
    return { family, code: error.code, hasRequestId: error.requestId !== "", fields: error.fields.map((one) => one.field) };
  }
  return null;
}

const me = await client.getMe();
const pages = await all(client.iteratePages({ limit: 1 }));
const photo = await client.upload(new URL(JPEG));
const published = await client.publishPost({ page_id: FB, message: "Fresh bread", media_ids: [photo.media_id] });
const listed = await all(client.iteratePublishedPosts());

const at = tomorrow();
const planned = await client.schedulePost({ page_id: FB, message: "Tomorrow's", scheduled_at: at });
const id = planned.scheduled_post.id;
const edited = await client.editPost(id, { message: "Tomorrow's bread", scheduled_at: tomorrow(1) });
const cancelled = await client.cancelPost(id);
const several = await client.schedulePosts({ page_ids: [FB], message: "one", scheduled_at: tomorrow() });
const validation = await client.validatePost({ page_id: IG, message: "text without a picture" });

const told = [];
const film = await client.upload(new URL(MP4), { inParts: true, onProgress: (...now) => told.push(now) });
const hook = await client.createWebhook({ name: "mine", url: "http://127.0.0.1:9/hooks", events: ["post.published"] });
const hooks = await all(client.iterateWebhooks());

const seen = {
  email: me.authenticated_as.email,
  pages: pages.map((page) => page.id).toSorted(),
  was_published: published.was_published,
  is_listed: listed.map((post) => post.id).join() === published.post_id,
  is_at: Date.parse(planned.scheduled_post.scheduled_at) === at.getTime(),
  message: edited.scheduled_post.message,
  cancelled: [cancelled.success, (await client.getScheduledPost(id)).scheduled_post.status],
  statuses: several.results.map((result) => result.status),
  valid: [validation.valid, typeof validation.errors[0].code],
  film: [film.filename, film.mime_type, ...told.at(-1)],
  hook: [hook.secret.startsWith("whsec_"), hooks.length, (await client.deleteWebhook(hook.id)).success],
  missing: await refusal(client.getScheduledPost("pst_nothing")),
  invalid: await refusal(client.publishPost({ page_id: FB, message: "x".repeat(5_001) })),
};
await writeFile("seen.json", JSON.stringify(seen));
