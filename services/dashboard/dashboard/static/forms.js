// Shows at once that a form was sent, however long its answer takes, and keeps a second press from sending it again.

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
addEventListener("pageshow", release); // a page that the browser kept and shows again, after "back"
addEventListener("keydown", (event) => {
  if (event.key === "Escape") release(); // which stops the loading
});
