// The composer: checks while one types, uploads with progress, a draft that survives a reload. Without this script the
// form works too: files are sent with it, and a button checks it.

const form = document.getElementById("composer");
const KEPT = "posthaste-draft";

function uploadNote(text) {
  document.getElementById("upload-state").textContent = text;
}

function check() {
  clearTimeout(check.timer);
  check.timer = setTimeout(() => form.dispatchEvent(new Event("check")), 400);
}

function showWhen() {
  const isLater = form.elements.when.value === "later";
  document.getElementById("later").hidden = !isLater;
  document.getElementById("send").textContent = isLater ? "Schedule" : "Publish now";
}

function showLength() {
  const length = [...form.elements.message.value].length;
  document.getElementById("length").textContent = length ? `${length} characters` : "";
}

function showOwnTexts() {
  const chosen = new Set([...form.querySelectorAll("[name=page_id]:checked")].map((it) => it.value));
  for (const own of form.querySelectorAll(".own")) {
    const area = own.querySelector("textarea");
    own.hidden = !chosen.has(area.name.slice("text_of_".length)) && !area.value;
  }
}

function keep() {
  const fields = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "form_token");
  sessionStorage.setItem(KEPT, JSON.stringify(fields.filter(([name]) => name !== "media_id")));
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  for (const [name, value] of kept) {
    for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
      if (field.type === "checkbox" || field.type === "radio") {
        if (field.value === value && !field.disabled) field.checked = true;
      } else {
        field.value = value;
      }
    }
  }
}

function upload(file, input) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("POST", input.dataset.upload);
    request.setRequestHeader("X-Form-Token", form.elements.form_token.value);
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) uploadNote(`${file.name}: ${Math.round((100 * event.loaded) / event.total)} %`);
    };
    request.onloadend = () => {
      if (request.status === 200) {
        document.getElementById("files").insertAdjacentHTML("beforeend", request.responseText);
        done("");
      } else {
        const isOurs = request.status === 400 || request.status === 422;
        done(`${file.name}: ${isOurs ? request.responseText : "The upload did not succeed. Try again."}`);
      }
    };
    const body = new FormData();
    body.append("file", file);
    request.send(body);
  });
}

async function uploadAll(input) {
  const files = [...input.files];
  input.value = ""; // they are not sent a second time with the form
  const send = document.getElementById("send");
  send.disabled = true;
  const problems = [];
  for (const file of files) {
    uploadNote(`${file.name}: 0 %`);
    const problem = await upload(file, input);
    if (problem) problems.push(problem);
  }
  send.disabled = false;
  uploadNote(problems.join(" ") || "");
  check();
}

if (document.querySelector("#sent[data-done]")) sessionStorage.removeItem(KEPT);

if (form) {
  const isFresh = !form.elements.message.value && !form.querySelector("[name=page_id]:checked");
  if (isFresh) restore();
  form.addEventListener("input", (event) => {
    if (event.target.type === "file") return;
    showWhen();
    showLength();
    showOwnTexts();
    keep();
    check();
  });
  document.getElementById("files-input").addEventListener("change", (event) => uploadAll(event.target));
  form.addEventListener("click", (event) => {
    if (!event.target.classList.contains("remove")) return;
    event.target.closest("li").remove();
    document.getElementById("files-input").focus();
    check();
  });
  form.addEventListener("submit", () => {
    document.getElementById("send").classList.add("busy");
  });
  showWhen();
  showLength();
  showOwnTexts();
  if (form.querySelector("[name=page_id]:checked")) check();
}
