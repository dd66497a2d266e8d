/** `Posthaste`: the client, with a method for each operation of the API. */

import { UnexpectedAnswer } from "./errors.js";
import { type CallOptions, exchange, type Sent, type Settings, type SettingsOptions, settingsOf } from "./exchange.js";
import { Operations } from "./operations.js";
import type * as records from "./records.js";
import { opened, upload, type Uploadable, type UploadOptions } from "./uploads.js";

/** The options of a client. By default `token` and `baseUrl` are POSTHASTE_TOKEN and POSTHASTE_URL. */
export interface PosthasteOptions extends SettingsOptions {}

/**
 * A client with a token.
 *
 *     const client = new Posthaste({ token: "svc_live_…", baseUrl: "https://posthaste.example.com" });
 *     await client.publishPost({ page_id: "pag_…", message: "Hello" });
 */
export class Posthaste extends Operations {
  readonly #settings: Settings;

  /** Throws PosthasteError if there is no base URL. */
  constructor(options: PosthasteOptions = {}) {
    super();
    this.#settings = settingsOf(options);
  }

  /**
   * Uploads a file: a path, bytes or a Blob. By default a file of more than 8 MiB is sent in parts; `inParts` decides
   * otherwise.
   *
   * Throws the errors of every call, UploadFailed, and the errors of reading the file.
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
