// The composer: checks while one types, and a draft that survives a reload. Without this script the form works too: a
// button checks it.

const form = document.getElementById("composer");
const sent = document.querySelector("#sent[data-done]");
// A form that the server sent back holds what was typed.
const isTyped = form?.hasAttribute("data-typed");
// A draft that was begun from a post, a page or files is kept beside the one that was begun from nothing: neither
// overwrites the other. The form takes its name along, so that it is known when the server sends the form back.
const asked = new URLSearchParams(location.search);
const begunFrom = ["copy", "page", "media_id"].flatMap((name) => asked.getAll(name).map((value) => `${name}=${value}`));
if (form && !isTyped) form.elements.draft.value = asked.get("draft") ?? begunFrom.join("&");
const KEPT = ["posthaste-draft", form?.elements.draft.value ?? sent?.dataset.draft].filter(Boolean).join("-");
// What was discarded, until something else is written.
const DISCARDED = `${KEPT}-discarded`;
// What belongs to a page as it was loaded, not to the draft.
const TRANSIENT = /^(form_token|draft|caption_key|image_key|film_key)$/;
// A day that was chosen in the calendar is newer than the time of the draft.
const SETTLED = asked.has("date") ? /^(when|date|time|zone)$/ : /^$/;

// Asks the server what each platform will take, once nobody has typed for a moment.
function check(pause = 400) {
  const unchecked = document.getElementById("unchecked");
  if (unchecked && chosenPages().length) unchecked.textContent = "Checking…";
  clearTimeout(check.timer);
  check.timer = setTimeout(() => form.dispatchEvent(new Event("check")), pause);
}

function showWhen() {
  const isLater = form.elements.when.value === "later";
  document.getElementById("later").hidden = !isLater;
  document.getElementById("send").textContent = isLater ? `Schedule${chosenTime()}` : "Publish now";
}

// The chosen time: " for Fri, 4 Dec, 11:00", as the line above the button writes it.
function chosenTime() {
  const { date, time } = form.elements;
  const at = new Date(`${date.value}T${time.value}`);
  if (Number.isNaN(at.getTime())) return "";
  const language = document.getElementById("send").dataset.language;
  const day = at.toLocaleDateString(language, { weekday: "short", day: "numeric", month: "short" });
  return ` for ${day}, ${at.toLocaleTimeString(language, { timeStyle: "short" })}`;
}

// How each unit of the API's `length_unit` is counted; a unit that is not here is counted in characters, about.
const UNITS = {
  characters: (text) => [...text].length,
  "UTF-16 units": (text) => text.length,
  bytes: (text) => new TextEncoder().encode(text).length,
};

function chosenPages() {
  return [...form.querySelectorAll("[name=page_id]:checked")];
}

function showCounts() {
  const hasFiles = form.querySelector("#files [name=media_id]") !== null;
  for (const list of form.querySelectorAll("[data-counts]")) {
    const area = document.getElementById(list.dataset.counts);
    const pages = chosenPages().filter((page) => {
      const own = document.getElementById(`own-${page.value}`).value.trim();
      return area.id === "message" ? !own : area.id === `own-${page.value}` && own;
    });
    const platforms = new Set(pages.map((page) => page.dataset.platform));
    for (const item of list.children) {
      item.hidden = !platforms.has(item.dataset.platform);
      const limit = Number(hasFiles ? item.dataset.photoLimit : item.dataset.limit);
      const count = (UNITS[item.dataset.unit] ?? UNITS.characters)(area.value.trim());
      const about = item.dataset.unit in UNITS ? "" : "about ";
      const over = count > limit ? `, ${(count - limit).toLocaleString("en")} too many` : "";
      item.querySelector(".number").textContent = `${about}${count.toLocaleString("en")} of ${limit.toLocaleString("en")}${over}`;
      item.classList.toggle("over", count > limit);
    }
  }
}

function showSettings() {
  const platforms = new Set(chosenPages().map((page) => page.dataset.platform));
  for (const one of form.querySelectorAll(".settings")) one.hidden = !platforms.has(one.dataset.platform);
}

// The previews come from the server, which does not read the files again: their pictures are those of the form.
function showPictures() {
  const tiles = [...form.querySelectorAll("#files img, #files .film")];
  for (const place of document.querySelectorAll(".preview .pictures")) {
    if (!tiles.length || place.dataset.shown) continue;
    place.dataset.shown = "yes";
    const shown = tiles.slice(0, place.hasAttribute("data-carousel") ? 1 : 4);
    place.replaceChildren(...shown.map((it) => it.cloneNode(true)));
    if (tiles.length > shown.length) place.append(shown.length === 1 ? `1/${tiles.length}` : `+${tiles.length - shown.length}`);
  }
}

// A finding opens the part of the form that hides it, once: the person may close the part again.
function showFindings() {
  for (const part of form.querySelectorAll("details")) {
    const isTold = part.querySelector(".beside .finding.bad") !== null;
    if (isTold && !part.hasAttribute("data-told")) part.open = true;
    part.toggleAttribute("data-told", isTold);
  }
}

let isUploading = false;

// While a page cannot take the post, the button that sends to all pages waits; what is wrong stands above it.
function showSend() {
  const send = document.getElementById("send");
  const isBlocked = document.querySelector("#ready button") !== null;
  send.disabled = isUploading || isBlocked;
  if (isBlocked) send.setAttribute("aria-describedby", "findings-end");
  else send.removeAttribute("aria-describedby");
}

function showOwnTexts() {
  const chosen = new Set(chosenPages().map((it) => it.value));
  for (const own of form.querySelectorAll(".own")) {
    const area = own.querySelector("textarea");
    own.hidden = !chosen.has(area.name.slice("text_of_".length)) && !area.value;
  }
}

// Another wish is another request: only the same one, sent again, is made and paid once.
function renew(assist) {
  const random = crypto.getRandomValues(new Uint8Array(16));
  assist.querySelector("input[type=hidden]").value = [...random].map((it) => it.toString(16).padStart(2, "0")).join("");
}

// A caption that was asked for is there again after the page was left: it is asked for with the same key, so it is
// written and paid once. The API knows a key for 24 hours. Another person in this tab has another form token.
const CAPTION = "posthaste-caption";
const CAPTION_MS = 23 * 3_600_000;
const WISH = ["form_token", "ai_brand", "ai_instruction", "ai_words", "caption_key"];

function askedCaption() {
  const asked = JSON.parse(sessionStorage.getItem(CAPTION) ?? "null");
  const isOurs = asked?.wish.form_token === form.elements.form_token.value;
  return isOurs && Date.now() - asked.at < CAPTION_MS ? asked.wish : null;
}

function keepCaption() {
  const wish = Object.fromEntries(WISH.map((name) => [name, form.elements[name].value]));
  if (askedCaption()?.caption_key !== wish.caption_key) sessionStorage.setItem(CAPTION, JSON.stringify({ at: Date.now(), wish }));
}

function askForCaptionAgain() {
  const wish = askedCaption();
  if (!wish) return;
  for (const name of WISH) form.elements[name].value = wish[name];
  form.querySelector("button[hx-post$='/caption']").click();
}

// What AI was to make is kept with the draft, whose form had no fields for it yet when the page was loaded.
function restoreWishes(part) {
  for (const [name, value] of JSON.parse(sessionStorage.getItem(KEPT) ?? "[]")) {
    const field = part.querySelector(`[name="${CSS.escape(name)}"]:not([type=hidden])`);
    if (!field || (field.options && ![...field.options].some((it) => it.value === value))) continue;
    field.value = value;
    if (field.matches("textarea") && value) field.closest("details").open = true;
  }
}

// The forms of AI are loaded when their part of the form is opened, which htmx can do once it has seen the part.
function restoreCaption() {
  const part = document.getElementById("with-ai");
  if (!part) return;
  const open = () => (part.closest("details").open = askedCaption() !== null || part.closest("details").open);
  if (part.hasAttribute("data-htmx-powered")) open();
  else part.addEventListener("htmx:after:init", open, { once: true });
  part.addEventListener("htmx:after:swap", ({ target }) => {
    if (target !== part) return;
    restoreWishes(part);
    askForCaptionAgain();
  });
  const isCaption = ({ target }) => target.matches("button[hx-post$='/caption']");
  part.addEventListener("htmx:before:request", (event) => isCaption(event) && keepCaption());
  part.addEventListener("htmx:response:error", (event) => {
    // What may still come is asked for again, what was refused is not.
    const mayCome = [409, 429, 503].includes(event.detail.ctx.response.status);
    if (isCaption(event) && !mayCome) sessionStorage.removeItem(CAPTION);
  });
}

function showAll() {
  showCounts();
  showSettings();
  showOwnTexts();
}

function keep() {
  const fields = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !TRANSIENT.test(name));
  sessionStorage.setItem(KEPT, JSON.stringify(fields));
  sessionStorage.removeItem(DISCARDED);
  showKept();
}

function showKept() {
  document.getElementById("kept").hidden = sessionStorage.getItem(KEPT) === null;
  document.getElementById("discarded").hidden = sessionStorage.getItem(DISCARDED) === null;
}

function discard() {
  const parts = [KEPT, CAPTION].map((name) => [name, sessionStorage.getItem(name)]);
  sessionStorage.setItem(DISCARDED, JSON.stringify(parts));
  for (const [name] of parts) sessionStorage.removeItem(name);
  const again = `${form.action}?${new URLSearchParams({ draft: form.elements.draft.value })}`;
  location.assign(isTyped ? again : location.pathname + location.search);
}

function undiscard() {
  for (const [name, value] of JSON.parse(sessionStorage.getItem(DISCARDED))) if (value !== null) sessionStorage.setItem(name, value);
  sessionStorage.removeItem(DISCARDED);
  location.reload();
}

// Fills the form with the draft that the browser kept, has it checked, and tells whether there was one.
function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]").filter(([name]) => !SETTLED.test(name));
  if (!kept.length) return false;
  // What the form began with may have been taken out since.
  const names = new Set(kept.map(([name]) => name)).add("page_id");
  for (const box of form.querySelectorAll("[type=checkbox]")) if (names.has(box.name)) box.checked = false;
  document.getElementById("files").replaceChildren();
  const files = kept.filter(([name]) => name === "media_id");
  for (const [name, value] of kept.filter((field) => !files.includes(field))) {
    for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
      if (field.type === "checkbox" || field.type === "radio") {
        if (field.value === value && !field.disabled) field.checked = true;
      } else if (field.type !== "hidden" || name === "key") {
        field.value = value; // the hidden "no" of a checkbox stays
      }
    }
  }
  document.getElementById("goes-out").textContent = ""; // it told the time of the empty form
  if (files.length) restoreFiles(new URLSearchParams(files));
  else check(0);
  return true;
}

// The server draws the tiles of files, because only it knows which still exist.
async function restoreFiles(chosen) {
  const list = document.getElementById("files");
  await htmx.ajax("GET", `${list.dataset.restore}?${chosen}`, { target: list, swap: "beforeend" });
  showCounts();
  check(0);
}

if (sent) {
  sessionStorage.removeItem(KEPT);
  sessionStorage.removeItem(CAPTION);
}

if (form) {
  const isRestored = !isTyped && restore();
  showKept();
  form.addEventListener("input", (event) => {
    if (event.target.type === "file") return;
    const assist = event.target.closest(".assist");
    if (assist) {
      renew(assist);
      return keep(); // what AI is asked for is not part of the post
    }
    showWhen();
    showAll();
    keep();
    check();
  });
  form.addEventListener("uploading", () => {
    isUploading = true;
    showSend();
  });
  form.addEventListener("uploaded", () => {
    isUploading = false;
    showSend();
    showCounts();
    keep();
    check();
  });
  form.addEventListener("click", (event) => {
    if (!event.target.classList.contains("remove")) return;
    event.target.closest("li").remove();
    document.getElementById("files-input").focus();
    showCounts();
    keep();
    check();
  });
  form.addEventListener("click", (event) => {
    const use = event.target.dataset.use;
    if (!use) return;
    const result = event.target.closest(".result");
    if (use === "text") {
      sessionStorage.removeItem(CAPTION);
      form.elements.message.value = result.querySelector(".text").textContent;
      form.elements.message.focus();
    } else {
      document.getElementById("files").append(result.querySelector("template").content);
      document.getElementById("files-input").focus();
    }
    renew(result.closest(".assist"));
    result.remove();
    form.elements.message.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.getElementById("discard").addEventListener("click", discard);
  document.getElementById("undiscard").addEventListener("click", undiscard);
  restoreCaption();
  showWhen();
  showAll();
  showSend();
  const show = () => (showPictures(), showFindings());
  new MutationObserver(show).observe(document.getElementById("previews"), { childList: true });
  new MutationObserver(showSend).observe(document.getElementById("ready"), { childList: true });
  if (!isRestored && form.querySelector("[name=page_id]:checked")) check(0);
}
