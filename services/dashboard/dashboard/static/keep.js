// Keeps what is typed, in this tab, until somebody signs out or another person signs in (forms.js forgets it then). The
// forms work without this script.
//
// A field with data-keep is kept until it is sent: it survives a reload, another page, and an API that is away. The other
// forms are kept until they are answered: if the answer is a page for signing in, or an error after which the form can be
// sent again, their fields come back once the form is shown again. Never kept: passwords, codes, files and hidden fields, so
// that a form which comes back has the token and the key of its new page. The composer keeps its draft itself.

const KEPT = "posthaste-kept-";
const TYPED = "posthaste-typed-";
// Which account or brand one works on; undefined on the pages of those who are not signed in.
const { person, brand } = document.body.dataset;

function restoreFields() {
  for (const field of document.querySelectorAll("[data-keep]")) {
    const kept = sessionStorage.getItem(KEPT + field.dataset.keep);
    if (kept && !field.value) {
      field.value = kept;
      open(field);
    }
  }
  for (const sent of document.querySelectorAll("[data-sent]")) sessionStorage.removeItem(KEPT + sent.dataset.sent);
}

function open(field) {
  for (let it = field.closest("details"); it; it = it.parentElement.closest("details")) it.open = true;
}

const isKept = (form) => Boolean(person) && form?.method === "post" && form.id !== "composer";

// The same form on another page: the same address, about the same post, page or file.
function nameOf(form) {
  const ids = [...form.elements].filter((it) => (it.type === "hidden" || it.hidden) && it.name.endsWith("_id"));
  return `${TYPED}${brand} ${form.getAttribute("action") || location.pathname} ${ids.map((it) => it.value).join(" ")}`;
}

const NEVER = ["hidden", "file", "submit", "button", "fieldset"];
// By name, because a password that is shown is a field of text.
const SECRET = /password|^code$/;

function fieldsOf(form) {
  const isTyped = (it) => it.name && !SECRET.test(it.name) && !NEVER.includes(it.type) && !it.matches("[data-keep]");
  return [...form.elements].filter(isTyped);
}

// A field's name, and what tells it from others of this name: its value if it is a box to tick, else its place.
function named(form) {
  const seen = {};
  return fieldsOf(form).map((it) => {
    const isBox = it.type === "checkbox" || it.type === "radio";
    const which = isBox ? it.value : (seen[it.name] = (seen[it.name] ?? -1) + 1);
    return { field: it, name: `${it.name} ${which}`, isBox };
  });
}

function keep(form) {
  if (!isKept(form) || !fieldsOf(form).length) return;
  const values = Object.fromEntries(named(form).map((it) => [it.name, it.isBox ? it.field.checked : it.field.value]));
  sessionStorage.setItem(nameOf(form), JSON.stringify({ values }));
}

function fill(form) {
  const kept = JSON.parse(sessionStorage.getItem(nameOf(form)) ?? "null");
  if (!kept?.isUnanswered) return null;
  keep(form); // from now on it is as any form that is being filled in
  const changed = named(form).filter(({ field, name, isBox }) => {
    const value = kept.values[name];
    if (value === undefined || value === (isBox ? field.checked : field.value)) return false;
    if (field.options && ![...field.options].some((it) => it.value === value)) return false; // it can no longer be chosen
    if (isBox) field.checked = value;
    else field.value = value;
    return true;
  });
  if (!changed.length) return null;
  for (const { field } of changed) {
    open(field);
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
  }
  const told = document.createElement("p");
  told.className = "note warn";
  told.setAttribute("role", "status");
  told.textContent = "What you typed before is in this form again. Check it, then send it.";
  form.prepend(told);
  return changed[0].field;
}

function fillForms() {
  if (!Object.keys(sessionStorage).some((it) => it.startsWith(TYPED))) return;
  const fields = [...document.forms].filter(isKept).map(fill).filter(Boolean);
  if (document.activeElement === document.body) fields[0]?.focus();
}

// The answer to a form that is not kept any longer is every page but these.
function settle() {
  const isUnanswered = person === undefined || document.querySelector("[data-returns]") !== null;
  for (const name of Object.keys(sessionStorage).filter((it) => it.startsWith(TYPED))) {
    const kept = JSON.parse(sessionStorage.getItem(name));
    if (isUnanswered) sessionStorage.setItem(name, JSON.stringify({ ...kept, isUnanswered }));
    else if (!kept.isUnanswered) sessionStorage.removeItem(name);
  }
}

settle();
document.addEventListener("input", ({ target }) => {
  if (target.dataset.keep) sessionStorage.setItem(KEPT + target.dataset.keep, target.value);
  else keep(target.form);
});
document.addEventListener("submit", ({ target }) => keep(target));
new MutationObserver(() => {
  restoreFields();
  fillForms();
}).observe(document.body, { childList: true, subtree: true });
restoreFields();
fillForms();
