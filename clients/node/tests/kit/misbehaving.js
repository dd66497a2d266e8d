// An HTTP server that takes writes once per Idempotency-Key, and misbehaves as a test says.

import { once } from "node:events";
import { createServer } from "node:http";

import { Posthaste } from "@posthaste/client";

/**
 * What comes instead of an answer. LOST: the request is executed. UNREAD: it is not. SILENT: executed, and no byte
 * follows. TRICKLED: the answer comes a byte at a time.
 */
export const [LOST, UNREAD, SILENT, TRICKLED] = ["lost", "unread", "silent", "trickled"].map((how) => ({ how }));

export const answered = (status, body, headers = {}) => ({ status, body, headers });

export function error(status, code, { retryAfter, ...extras } = {}) {
  const body = { error: "What happened.", code, request_id: "req_1", ...extras };
  return answered(status, body, retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) });
}

export class MisbehavingServer {
  /** The replies to come; after them requests are answered properly. */
  next = [];
  requests = [];
  /** How often each message was posted; a repeated key posts nothing. */
  effects = new Map();
  routes = new Map();
  /** Chooses a reply when `next` is empty; undefined: a proper answer. */
  mood = () => undefined;
  #answers = new Map();
  #server = createServer((request, response) => this.#take(request, response));

  static async start() {
    const server = new MisbehavingServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    server.url = `http://127.0.0.1:${server.#server.address().port}`;
    return server;
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request, response) {
    const blocks = [];
    try {
      for await (const block of request) blocks.push(block);
    } catch {
      return; // the client gave up while it was sending
    }
    const body = Buffer.concat(blocks);
    const [path] = request.url.split("?");
    const taken = { method: request.method, path, url: request.url, headers: request.headers, body };
    this.requests.push(taken);
    const reply = this.next.shift() ?? this.mood();
    if (reply?.how === "unread") return request.socket.destroy();
    if (reply?.status !== undefined) return send(response, reply);
    const proper = this.routes.get(path)?.(taken) ?? answered(201, this.#publish(taken));
    if (reply === undefined) return send(response, proper);
    if (reply.how === "lost") return request.socket.destroy();
    if (reply.how === "trickled") trickle(response, proper);
  }

  #publish({ headers, body }) {
    const key = headers["idempotency-key"];
    if (this.#answers.has(key)) return this.#answers.get(key);
    const { message = "" } = body.length > 0 ? JSON.parse(body) : {};
    this.effects.set(message, (this.effects.get(message) ?? 0) + 1);
    const answer = { post_id: `pst_${this.effects.size}`, message, status: "published" };
    if (key) this.#answers.set(key, answer);
    return answer;
  }
}

function send(response, { status, body, headers }) {
  const content = Buffer.isBuffer(body) ? body : JSON.stringify(body);
  response.writeHead(status, { "Content-Length": Buffer.byteLength(content), ...headers }).end(content);
}

function trickle(response, { status, body }) {
  const content = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Length": content.length });
  let sent = 0;
  const timer = setInterval(() => response.write(content.subarray(sent, ++sent)), 50);
  response.on("close", () => clearInterval(timer));
}

/** A server, and a client of it that does not really sleep; both end with the test. */
export async function started(test, { maxRetries = 7, timeoutSeconds = 5, ...options } = {}) {
  const server = await MisbehavingServer.start();
  test.after(() => server.stop());
  const pauses = [];
  const client = new Posthaste({
    token: "svc_live_x",
    baseUrl: server.url,
    retries: { maxRetries },
    timeoutSeconds,
    sleep: async (seconds) => void pauses.push(seconds),
    ...options,
  });
  return { server, client, pauses };
}
