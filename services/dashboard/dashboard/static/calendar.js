// The calendar: posts that wait are dragged to another day, where they keep the time of day of their brand's zone, or moved
// by "Move to…" in a dialog. A refusal is told at the post. Without this script "Move to…" leads to a page with the same form.

const TOLD = { 0: "No answer came. Load the page again to see where the post is.", 401: "You were signed out. Load the page again." };

function listOf(day) {
  const cell = document.querySelector(`.day[data-day="${CSS.escape(day)}"]`);
  if (!cell) return null;
  let list = cell.querySelector("ul");
  if (!list) {
    list = document.createElement("ul");
    cell.append(list);
  }
  cell.classList.remove("free");
  return list;
}

function place(slot, day) {
  const from = slot.closest(".day");
  const list = listOf(day);
  if (list) {
    const later = [...list.children].find((it) => it !== slot && it.dataset.at > slot.dataset.at);
    list.insertBefore(slot, later ?? null);
  } else {
    slot.remove(); // it is in another month now
  }
  if (from && !from.querySelector(".slot")) {
    from.querySelector("ul")?.remove();
    from.classList.add("free");
  }
}

function say(html) {
  document.getElementById("told").innerHTML = html;
}

async function post(body) {
  try {
    const answer = await fetch(document.getElementById("calendar").dataset.move, {
      method: "POST",
      headers: { "HX-Request": "true", "X-Form-Token": document.getElementById("calendar").dataset.token },
      body: new URLSearchParams(body),
    });
    if (answer.headers.has("HX-Redirect")) return { status: 401, text: "" };
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

// The date of a post in its brand's zone, moved by as many days as the post is dragged in the calendar.
function dateThere(slot, day) {
  const days = Date.parse(day) - Date.parse(slot.closest(".day").dataset.day);
  return new Date(Date.parse(slot.dataset.date) + days).toISOString().slice(0, 10);
}

// Moves a post to this time in `zone`. Until the answer comes it is shown on `day`.
async function move(slot, date, time, zone, day = date) {
  const entry = slot.querySelector(".entry");
  const home = slot.closest(".day").dataset.day;
  slot.querySelector(".reason")?.remove();
  place(slot, day);
  entry.classList.add("busy");
  const shown_in = document.getElementById("calendar").dataset.zone;
  const body = { post_id: slot.id.slice("slot-".length), seen_at: slot.dataset.at, zone, date, time, shown_in };
  const answer = await post(body);
  if (answer.status === 200) {
    const made = document.createElement("template");
    made.innerHTML = answer.text;
    const fresh = made.content.querySelector(".slot");
    const told = made.content.querySelector(".moved");
    say(told.outerHTML);
    slot.replaceWith(fresh);
    place(fresh, told.dataset.day);
    fresh.querySelector?.(".entry")?.focus();
    return "";
  }
  entry.classList.remove("busy");
  if (!slot.isConnected) listOf(home).append(slot);
  place(slot, home);
  const reason = document.createElement("p");
  reason.className = "reason";
  reason.setAttribute("role", "alert");
  reason.textContent = TOLD[answer.status] ?? (answer.text.length < 500 && !answer.text.includes("<") ? answer.text : "The post was not moved. Try again in a moment.");
  slot.append(reason);
  return reason.textContent;
}

let dragged = null;
document.addEventListener("dragstart", (event) => {
  const entry = event.target.closest?.(".entry[draggable=true]");
  if (!entry) return;
  dragged = entry.closest(".slot");
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.id);
  document.querySelector(".month").classList.add("dragging");
});
document.addEventListener("dragover", (event) => {
  const day = event.target.closest?.(".day");
  for (const one of document.querySelectorAll(".day.over")) if (one !== day) one.classList.remove("over");
  if (!dragged || !day) return;
  event.preventDefault();
  day.classList.add("over");
});
document.addEventListener("drop", (event) => {
  const day = event.target.closest?.(".day");
  if (!dragged || !day) return;
  event.preventDefault();
  const slot = dragged;
  if (day !== slot.closest(".day")) move(slot, dateThere(slot, day.dataset.day), slot.dataset.time, slot.dataset.zone, day.dataset.day);
});
document.addEventListener("dragend", () => {
  if (!dragged) return;
  dragged = null;
  document.querySelector(".month").classList.remove("dragging");
  for (const one of document.querySelectorAll(".day.over")) one.classList.remove("over");
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a.move");
  const dialog = document.getElementById("mover");
  if (event.target.closest?.("[data-close]")) dialog.close();
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.classList.contains("busy")) return;
  link.classList.add("busy");
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  link.classList.remove("busy");
  if (!answer?.ok) return location.assign(link.href);
  dialog.innerHTML = await answer.text();
  dialog.showModal();
});

// Below the fields, which have the browser's own format, the chosen time is written as everywhere else.
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form");
  const told = form?.querySelector("#moves-to");
  if (!told) return;
  const at = new Date(`${form.elements.date.value}T${form.elements.time.value}`);
  const day = { weekday: "short", day: "numeric", month: "short", year: "numeric" };
  const isTime = !Number.isNaN(at.getTime());
  const { language, zone } = told.dataset;
  const text = () => `Moves to ${at.toLocaleDateString(language, day)}, ${at.toLocaleTimeString(language, { timeStyle: "short" })} ${zone}`;
  told.textContent = isTime ? text() : `Time in ${zone}`;
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-moves]")) return;
  const slot = document.getElementById(`slot-${form.elements.post_id.value}`);
  if (!slot) return;
  event.preventDefault();
  document.getElementById("mover").close();
  await move(slot, form.elements.date.value, form.elements.time.value, form.elements.zone.value);
});
