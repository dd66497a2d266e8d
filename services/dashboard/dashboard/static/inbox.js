// The inbox: marks and counts comments that came since this browser last looked, shows them alone on demand, and lets new
// ones appear by themselves. Each look asks about one post, because it costs the account one read: the posts in view, and
// those that hide because all their comments are answered, in turn, and only while the page is in front.

const SEEN = "posthaste-comments-seen";
const LOOK_MS = 30_000;
const seenAt = Date.parse(localStorage.getItem(SEEN) ?? new Date().toISOString());
let turn = 0;

function remember() {
  localStorage.setItem(SEEN, new Date().toISOString());
}

function mark(comments, isNew) {
  for (const one of comments) {
    one.dataset.marked = "";
    if (isNew(one) && !one.hasAttribute("data-own")) one.querySelector(".new-mark").hidden = false;
  }
}

const NEW = ".conversations > li:has(> p > .new-mark:not([hidden]))";
const title = document.title;

function showNew() {
  const inbox = document.getElementById("inbox");
  const button = document.getElementById("only-new");
  for (const it of inbox.querySelectorAll("li:has([data-sent]) > p > .new-mark")) it.hidden = true; // answered: it was read
  const count = inbox.querySelectorAll(NEW).length;
  if (count === 0) button.setAttribute("aria-pressed", "false");
  if (button.hidden !== (count === 0)) button.hidden = count === 0;
  const told = document.getElementById("new-count");
  if (told.textContent !== `${count}`) told.textContent = count;
  inbox.classList.toggle("only-new", button.getAttribute("aria-pressed") === "true");
  showUnanswered(inbox);
  document.title = count ? `(${count}) ${title}` : title;
}

// How many comments wait for an answer, of the posts that were asked about: a + says that others were not.
function showUnanswered(inbox) {
  const hidden = [...inbox.querySelectorAll("[data-others]")].map((it) => Number(it.dataset.others));
  const count = inbox.querySelectorAll("li[data-unanswered]:not(:has([data-sent]))").length + hidden.reduce((a, b) => a + b, 0);
  const isPart = inbox.querySelector(".threads .with-script, .pager a[href*='after=']") !== null;
  const text = count ? `(${count}${isPart ? "+" : ""})` : "";
  const told = document.getElementById("unanswered");
  if (told.textContent !== text) told.textContent = text;
}

function markAll() {
  const unmarked = document.querySelectorAll(".conversations > li[data-at]:not([data-marked])");
  mark(unmarked, (one) => Date.parse(one.dataset.at) > seenAt);
}

function isAskedAbout(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  return height === 0 || (bottom > 0 && top < innerHeight);
}

async function look() {
  const asked = [...document.querySelectorAll("#inbox .talk")].filter(isAskedAbout);
  if (document.visibilityState !== "visible" || asked.length === 0) return;
  const card = asked[turn++ % asked.length];
  const place = card.querySelector(".threads");
  const answer = await fetch(place.getAttribute("hx-get"), { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok || answer.headers.has("HX-Redirect")) return;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  const there = new Set([...card.querySelectorAll("li[data-id]")].map((it) => it.dataset.id));
  const fresh = [...made.content.querySelectorAll(".conversations > li[data-id]")].filter((it) => !there.has(it.dataset.id));
  if (fresh.length === 0) return;
  mark(fresh, () => true); // whatever the platform's clock says
  const list = card.querySelector(".conversations");
  if (list) {
    list.prepend(...fresh);
    for (const it of fresh) htmx.process(it);
  } else {
    place.replaceChildren(made.content);
    place.removeAttribute("hx-trigger");
    htmx.process(place);
  }
  document.getElementById("news").textContent = fresh.length === 1 ? "A new comment has come." : `${fresh.length} new comments have come.`;
}

document.querySelector("main").addEventListener("click", (event) => {
  const button = event.target.closest("#only-new");
  if (!button) return;
  button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
  showNew();
});
new MutationObserver(() => {
  markAll();
  showNew();
}).observe(document.querySelector("main"), { childList: true, subtree: true });
markAll();
showNew();
remember();
addEventListener("pagehide", remember);
setInterval(look, LOOK_MS);
document.addEventListener("visibilitychange", look);
