// Uploads the files of input[data-upload] one after another, with progress and a way to stop, and adds the answered tile
// to the list that data-list names. The form of the input hears `uploading`, and `uploaded` after the last file. Whoever
// leaves the page before that is asked first. Without this script the files are sent with the form.

let running = 0; // how many calls of `upload` have not ended
const ask = (event) => event.preventDefault();

function row(file) {
  const item = document.createElement("li");
  item.className = "uploading";
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = file.name;
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", `Upload of ${file.name}`);
  const state = document.createElement("span");
  state.className = "faint";
  state.textContent = "Waiting";
  const stop = document.createElement("button");
  stop.type = "button";
  stop.className = "quiet";
  stop.textContent = "Stop";
  stop.setAttribute("aria-label", `Stop the upload of ${file.name}`);
  item.append(name, bar, state, stop);
  return { item, bar, state, stop };
}

function send(file, input, parts) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("POST", input.dataset.upload);
    request.setRequestHeader("X-Form-Token", input.form.elements.form_token.value);
    request.upload.onprogress = (event) => {
      if (!event.lengthComputable) return;
      const part = event.loaded / event.total;
      parts.bar.value = part;
      parts.state.textContent = part < 1 ? `${Math.round(100 * part)} %` : "Storing and checking";
    };
    request.upload.onload = () => parts.bar.removeAttribute("value");
    parts.stop.onclick = () => request.abort();
    request.onabort = () => done(null);
    request.onloadend = () => done(request);
    const body = new FormData();
    body.append("file", file);
    request.send(body);
  });
}

function failed(parts, name, text, again) {
  parts.bar.remove();
  parts.state.textContent = text;
  parts.state.className = "reason";
  parts.state.setAttribute("role", "alert");
  parts.stop.textContent = "Dismiss";
  parts.stop.setAttribute("aria-label", `Dismiss: ${name}`);
  parts.stop.onclick = () => parts.item.remove();
  if (!again) return;
  const retry = document.createElement("button");
  retry.type = "button";
  retry.textContent = "Try again";
  retry.onclick = () => {
    parts.item.remove();
    again();
  };
  parts.item.append(retry);
}

async function upload(files, input) {
  const waiting = document.querySelector(input.dataset.waiting);
  const list = document.querySelector(input.dataset.list);
  const queue = files.map((file) => ({ file, parts: row(file) }));
  waiting.append(...queue.map((one) => one.parts.item));
  for (const one of queue) one.parts.stop.onclick = () => one.parts.item.remove();
  running += 1;
  addEventListener("beforeunload", ask);
  input.form.dispatchEvent(new Event("uploading"));
  for (const { file, parts } of queue) {
    if (!parts.item.isConnected) continue;
    const answer = await send(file, input, parts);
    if (answer === null) {
      parts.item.remove();
    } else if (answer.status === 200) {
      parts.item.remove();
      list.insertAdjacentHTML(input.dataset.place ?? "beforeend", answer.responseText);
    } else {
      const isRefused = [400, 401, 422].includes(answer.status);
      const text = isRefused ? answer.responseText : "The upload did not succeed.";
      failed(parts, file.name, text, isRefused ? null : () => upload([file], input));
    }
  }
  running -= 1;
  if (running) return;
  removeEventListener("beforeunload", ask);
  input.form.dispatchEvent(new Event("uploaded"));
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (!input.matches("input[type=file][data-upload]") || !input.files.length) return;
  const files = [...input.files];
  input.value = ""; // they are not sent a second time with the form
  upload(files, input);
});
