// What the programs for Node share: the way to the simulator, and the report of what worked (see trial.py).
const https = require("node:https");
const path = require("node:path");
const tls = require("node:tls");

const connect = tls.connect;
// Every connection leads to the simulator, whatever the host; the name in the certificate stays the host's.
tls.connect = (options, ...more) => connect({ ...options, host: "127.0.0.1", port: Number(process.env.SIMULATOR_PORT) }, ...more);

function call(method, url, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const request = https.request(url, { method, headers }, (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) }));
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function good(answered, ...statuses) {
  const answer = await answered;
  if (!statuses.includes(answer.status)) throw new Error(`HTTP ${answer.status}: ${answer.body}`);
  return answer;
}

/** Id and secret of our app. */
exports.app = (platform) => process.env[`APP_${platform}`].split(" ");
exports.callback = (name) => `https://app.test/connect/${name}/callback`;
/** Logs a person in; the parameters of the address that the platform sends the browser back to. */
exports.visit = async (url) => new URL((await good(call("GET", url), 302)).headers.location).searchParams;
exports.control = async (name, body) =>
  JSON.parse((await good(call("POST", `https://simulator.test/_sim/${name}`, body), 200, 201)).body);
/** A visitor comments on a post; the comment's id. */
exports.comment = async (platform, post_id, text) =>
  (await exports.control("comments", { platform, post_id, from: "Vera Visitor", text })).id;
exports.sample = async (name) => (await good(call("GET", `https://simulator.test/media/${name}`), 200)).body;

/** Does the steps and prints what came of each; a step that is a text says why the client has no such operation. */
exports.report = async (name, platform, steps) => {
  const { version } = require(path.join(process.env.NODE_PATH, name, "package.json"));
  const seen = { name: `${name} ${version} (${platform})` };
  for (const [operation, step] of Object.entries(steps)) {
    try {
      if (typeof step !== "string") await step();
      seen[operation] = typeof step === "string" ? step : "yes";
    } catch (problem) {
      seen[operation] = `${problem.stack}\n${JSON.stringify(problem.data ?? null)}`;
    }
  }
  console.log(JSON.stringify(seen));
};
