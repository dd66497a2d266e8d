/**
 * Uploads of files: in one request, or in parts straight into the storage.
 *
 * In parts an upload takes effect once, whatever answers are lost. One request is not repeated when its answer is lost,
 * because the API takes no idempotency key for it.
 */

import { openAsBlob } from "node:fs";
import { basename, extname } from "node:path";
import { fileURLToPath } from "node:url";

import { UploadFailed } from "./errors.js";
import { BASE_PATH, type Content, contentHeaders, exchange, pathOf, send, type Settings } from "./exchange.js";
import type { BeginUpload, CompleteUpload } from "./inputs.js";
import type { UploadedMedia, UploadParts } from "./records.js";

/** Larger files go in parts: a lost connection then costs one part. */
const PARTS_FROM_BYTES = 8 * 2 ** 20;
/** The types that the API takes. */
const MIME_TYPES: Readonly<Record<string, string>> = {
  ".gif": "image/gif",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".mov": "video/quicktime",
  ".mp4": "video/mp4",
  ".png": "image/png",
  ".webm": "video/webm",
  ".webp": "image/webp",
};

/** A file to upload: a path or its file: URL, the bytes, or a Blob or File. */
export type Uploadable = string | URL | Uint8Array | ArrayBuffer | Blob;

/** Called with the bytes sent so far and the size of the file. */
export type Progress = (sentBytes: number, sizeBytes: number) => void;

export interface UploadOptions {
  /** Needed for bytes and for a Blob, which have no name. */
  filename?: string | undefined;
  /** By default the type that belongs to the ending of the filename. */
  mimeType?: string | undefined;
  inParts?: boolean | undefined;
  onProgress?: Progress | undefined;
  /** Ends the upload. */
  signal?: AbortSignal | undefined;
}

/** A file to upload, with its name and type for the API. */
interface Source {
  blob: Blob;
  filename: string;
  mimeType: string;
}

/** Opens a file to upload. Throws TypeError if the file has no name, and the errors of the file system. */
export async function opened(file: Uploadable, options: UploadOptions): Promise<Source> {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const isPath = typeof path === "string";
  const filename = options.filename || (isPath ? basename(path) : path instanceof File ? path.name : "");
  if (!filename) throw new TypeError("Pass filename: the bytes have no name");
  const blob = isPath ? await openAsBlob(path) : path instanceof Blob ? path : new Blob([path]);
  const guessed = MIME_TYPES[extname(filename).toLowerCase()] ?? "application/octet-stream";
  return { blob, filename, mimeType: options.mimeType || blob.type || guessed };
}

/** Uploads a file. Throws the errors of `exchange`, and UploadFailed if the storage refuses a part. */
export function upload(source: Source, settings: Settings, options: UploadOptions): Promise<UploadedMedia> {
  const inParts = options.inParts ?? source.blob.size > PARTS_FROM_BYTES;
  return inParts ? uploadInParts(source, settings, options) : uploadStraight(source, settings, options);
}

function uploadStraight(source: Source, settings: Settings, options: UploadOptions): Promise<UploadedMedia> {
  const content = multipart(source, options.onProgress);
  return exchange({ method: "POST", path: `${BASE_PATH}/media/upload`, content }, settings, options);
}

async function uploadInParts(source: Source, settings: Settings, options: UploadOptions): Promise<UploadedMedia> {
  const { blob, filename, mimeType } = source;
  const { signal } = options;
  const body: BeginUpload = { filename, mime_type: mimeType, size_bytes: blob.size };
  const begin = { method: "POST", path: `${BASE_PATH}/media/uploads`, body, keyed: true } as const;
  const begun = await exchange<UploadParts>(begin, settings, { signal });
  const parts = [];
  for (const { number, url } of begun.parts) {
    const start = (number - 1) * begun.part_size_bytes;
    const content = partOf(blob, start, start + begun.part_size_bytes, options.onProgress);
    // The storage gets the bytes alone: its addresses are signed without a token and a content type.
    const request = { method: "PUT", url, headers: contentHeaders(content), content };
    const answer = await send(request, settings, { repeatable: true, signal });
    const etag = answer.headers.get("etag");
    if (answer.status !== 200 || etag === null) {
      throw new UploadFailed(`The storage answered ${answer.status} to part ${number} of the file`);
    }
    parts.push({ number, etag });
  }
  const path = pathOf(`${BASE_PATH}/media/uploads/{id}/complete`, { id: begun.upload_id });
  const complete: CompleteUpload = { parts };
  return exchange({ method: "POST", path, body: complete, keyed: true }, settings, { signal });
}

function partOf(blob: Blob, start: number, end: number, onProgress: Progress | undefined): Content {
  const part = blob.slice(start, end);
  return {
    sizeBytes: part.size,
    contentType: "",
    async *blocks() {
      let sent = start;
      for await (const block of part.stream() as unknown as AsyncIterable<Uint8Array>) {
        yield block;
        sent += block.length;
        onProgress?.(sent, blob.size);
      }
    },
  };
}

/** The body of POST /media/upload. */
function multipart(source: Source, onProgress: Progress | undefined): Content {
  const boundary = crypto.randomUUID();
  const escapes: Record<string, string> = { '"': "%22", "\r": "%0D", "\n": "%0A" };
  const name = source.filename.replace(/["\r\n]/g, (found) => escapes[found] ?? "");
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n` +
      `Content-Type: ${source.mimeType}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const part = partOf(source.blob, 0, source.blob.size, onProgress);
  return {
    sizeBytes: head.length + part.sizeBytes + tail.length,
    contentType: `multipart/form-data; boundary=${boundary}`,
    async *blocks() {
      yield head;
      yield* part.blocks();
      yield tail;
    },
  };
}
