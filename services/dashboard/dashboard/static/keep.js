// Keeps what is typed into [data-keep] fields until it is sent: it survives a reload, another page, and an API that is
// away. The form works without this script.

const KEPT = "posthaste-kept-";

function restore(root) {
  for (const field of root.querySelectorAll("[data-keep]")) {
    const kept = sessionStorage.getItem(KEPT + field.dataset.keep);
    if (kept && !field.value) {
      field.value = kept;
      const around = field.closest("details");
      if (around) around.open = true;
    }
  }
  for (const sent of root.querySelectorAll("[data-sent]")) sessionStorage.removeItem(KEPT + sent.dataset.sent);
}

document.addEventListener("input", (event) => {
  const name = event.target.dataset.keep;
  if (name) sessionStorage.setItem(KEPT + name, event.target.value);
});
new MutationObserver(() => restore(document)).observe(document.body, { childList: true, subtree: true });
restore(document);
