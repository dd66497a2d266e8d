// Shows at once that a form was sent, however long its answer takes, keeps a second press from sending it again, and
// says so if no answer comes.

// What somebody has typed and not sent is kept in the tab, also when the session ends by itself. It is forgotten in all
// tabs once somebody signs out, and in a tab in which somebody else has signed in: they must not find it.
const SIGNED_OUT = "posthaste-signed-out";
const PERSON = "posthaste-person";
const { person } = document.body.dataset;
if (document.querySelector("[data-signed-out]")) localStorage.setItem(SIGNED_OUT, `${Date.now()}`);
const signedOutAt = localStorage.getItem(SIGNED_OUT);
const isSignedOut = signedOutAt !== null && sessionStorage.getItem(SIGNED_OUT) !== signedOutAt;
if (isSignedOut || (person && ![null, person].includes(sessionStorage.getItem(PERSON)))) {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith("posthaste-")) sessionStorage.removeItem(name);
  if (signedOutAt !== null) sessionStorage.setItem(SIGNED_OUT, signedOutAt);
}
if (person) sessionStorage.setItem(PERSON, person);

function release() {
  for (const form of document.querySelectorAll("form[data-busy]")) {
    form.removeAttribute("data-busy");
    form.removeAttribute("aria-busy");
  }
  for (const button of document.querySelectorAll("button.busy")) button.classList.remove("busy");
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.matches("[hx-post], [data-moves]")) return; // they show it themselves
  if (form.hasAttribute("data-busy")) return event.preventDefault();
  form.setAttribute("data-busy", "");
  form.setAttribute("aria-busy", "true");
  event.submitter?.classList.add("busy");
});
// A part of a page that htmx asked for: the network or this server is away.
document.addEventListener("htmx:error", ({ target }) => {
  if (!target.isConnected || target.nextElementSibling?.matches(".no-answer")) return;
  const told = document.createElement("p");
  told.className = "no-answer finding bad";
  told.setAttribute("role", "alert");
  told.textContent = "No answer came. What you typed is still here: try again in a moment.";
  target.after(told);
});
document.addEventListener("htmx:after:request", ({ target }) => {
  if (target.nextElementSibling?.matches(".no-answer")) target.nextElementSibling.remove();
});
addEventListener("pageshow", release); // a page that the browser kept and shows again, after "back"
addEventListener("keydown", (event) => {
  if (event.key === "Escape") release(); // which stops the loading
});

// A button with data-copy copies a text, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (!button) return;
  const label = (button.dataset.label ??= button.textContent);
  const done = await navigator.clipboard.writeText(button.dataset.copy).then(() => true, () => false);
  button.textContent = done ? "Copied" : "Select it and copy";
  setTimeout(() => (button.textContent = label), 2_000);
});
document.addEventListener("change", ({ target }) => {
  for (const id of target.dataset.shows?.split(" ") ?? []) document.getElementById(id).type = target.checked ? "text" : "password";
});
// On a phone, nobody can scan its own screen.
if (matchMedia("(pointer: coarse)").matches) document.querySelector(".qr-code")?.removeAttribute("open");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("[data-browsers-zone]")) {
  if (!field.options || [...field.options].some((it) => it.value === here)) field.value = here;
}
