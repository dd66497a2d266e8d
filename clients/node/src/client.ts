/** `Posthaste`: the API, a method per operation. */

import { UnexpectedAnswer } from "./errors.js";
import { type CallOptions, exchange, type Sent, type Settings, type SettingsOptions, settingsOf } from "./exchange.js";
import { Operations } from "./operations.js";
import type * as records from "./records.js";
import { opened, upload, type Uploadable, type UploadOptions } from "./uploads.js";

/** Without `token` and `baseUrl` they are POSTHASTE_TOKEN and POSTHASTE_URL. */
export interface PosthasteOptions extends SettingsOptions {}

/**
 * A client with a token.
 *
 *     const client = new Posthaste({ token: "svc_live_…", baseUrl: "https://posthaste.example.com" });
 *     await client.publishPost({ page_id: "pag_…", message: "Hello" });
 */
export class Posthaste extends Operations {
  readonly #settings: Settings;

  /** Throws PosthasteError without an address. */
  constructor(options: PosthasteOptions = {}) {
    super();
    this.#settings = settingsOf(options);
  }

  /**
   * Uploads a file: its path, its bytes or a Blob. Larger ones than 8 MiB go in parts, unless `inParts` says.
   *
   * Throws as every call does, and UploadFailed; what reading the file throws.
   */
  async upload(file: Uploadable, options: UploadOptions = {}): Promise<records.UploadedMedia> {
    return await upload(await opened(file, options), this.#settings, options);
  }

  protected override call<T>(sent: Sent, options?: CallOptions): Promise<T> {
    return exchange(sent, this.#settings, options);
  }

  protected override async *iterate<T>(sent: Sent, field: string, options?: CallOptions): AsyncGenerator<T, void> {
    let cursor: unknown;
    do {
      const query = cursor === undefined ? sent.query : { ...sent.query, cursor };
      const page = await this.call<Record<string, unknown>>({ ...sent, ...(query && { query }) }, options);
      const items = page[field];
      if (!Array.isArray(items)) {
        throw new UnexpectedAnswer(`The answer has no list ${field}: is baseUrl a Posthaste server?`);
      }
      yield* items as T[];
      if (page["next_cursor"] && page["next_cursor"] === cursor) {
        throw new UnexpectedAnswer("The list's next_cursor leads back to the same page");
      }
      cursor = page["next_cursor"];
    } while (cursor);
  }
}
