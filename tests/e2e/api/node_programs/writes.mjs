// Schedules posts for several accounts at once while answers are lost. Prints a line per write, and writes what was made.

import { readFile, writeFile } from "node:fs/promises";

import { Posthaste } from "@posthaste/client";

/** accounts: {token, page_id} of each client; share: the writes of each. */
const { accounts, share, lost_percent } = JSON.parse(await readFile("work.json", "utf8"));
let lost = 0;
let requests = 0;

/** Loses some answers after the server has sent them. Which ones is the same in every run with the same requests. */
async function lossyFetch(url, init) {
  const response = await fetch(url, init);
  if ((requests++ * 37) % 100 >= lost_percent) return response;
  await response.arrayBuffer();
  lost += 1;
  throw new TypeError("lost by the test");
}

async function write({ token, page_id }, number) {
  const options = { token, timeoutSeconds: 20, retries: { maxRetries: 30 }, fetch: lossyFetch };
  const client = new Posthaste(options);
  const made = {};
  for (let post = 0; post < share; post += 1) {
    const scheduled_at = new Date(Date.now() + (24 + post + 1) * 3_600_000);
    const message = `client ${number} post ${post}`;
    made[message] = (await client.schedulePost({ page_id, message, scheduled_at })).scheduled_post.id;
    console.log(message);
  }
  return made;
}

const made = await Promise.all(accounts.map(write));
await writeFile("made.json", JSON.stringify({ made, lost }));
