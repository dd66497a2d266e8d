// The inbox: marks and counts comments that came since this person last looked, on whatever device, shows them alone on
// demand, and lets new ones appear by themselves. Each look costs the account one read: every second one asks for the list
// of posts, which says what Posthaste has received under any of them, the others ask the platform about one post: the posts
// in view, and those that hide because all their comments are answered, in turn. It looks only while the page is in front.

const LOOK_MS = 30_000;
const NEWS_AT_ONCE = 3;
let [turn, talk] = [0, 0];

// When the server made this page and when it last listed the posts, and what of that it was told: all times are its own.
const openedAt = document.getElementById("inbox").dataset.now;
let [listedAt, toldAt] = [openedAt, ""];
// Brand → until when its comments had been read before they were shown here; NaN: nobody has looked.
const seen = new Map();

// What Posthaste received after the last look is new, however late it heard of it. Of a brand at which nobody has looked, only
// what is written from now on is new.
function isUnread(one) {
  const { brand, readUntil } = one.closest(".talk").dataset;
  if (!seen.has(brand)) seen.set(brand, Date.parse(readUntil));
  const until = seen.get(brand);
  const { at, received } = one.dataset;
  return Number.isNaN(until) ? Date.parse(at) > Date.parse(openedAt) : Date.parse(received) > until;
}

// Tells the server how far the person has read. If that fails, the comments are new once more.
function remember() {
  const { read, token, brand } = document.getElementById("inbox").dataset;
  if (!read || toldAt === listedAt || document.querySelector("#inbox .talk") === null) return;
  toldAt = listedAt;
  const headers = { "HX-Request": "true", "X-Form-Token": token };
  const body = new URLSearchParams({ read_until: listedAt, brand_id: brand });
  fetch(read, { method: "POST", keepalive: true, headers, body }).catch(() => null);
}

function mark(comments, isNew) {
  for (const one of comments) {
    one.dataset.marked = "";
    if (isNew(one) && one.dataset.heard !== "0") one.querySelector(".new-mark").hidden = false;
  }
}

// Conversations that were answered, or marked as "No reply needed".
const DONE = "li:has([data-sent], [data-settled])";
const NEW = ".conversations > li:has(> p > .new-mark:not([hidden]))";
const title = document.title;

function showNew() {
  const inbox = document.getElementById("inbox");
  const button = document.getElementById("only-new");
  for (const it of inbox.querySelectorAll(`${DONE} > p > .new-mark`)) it.hidden = true; // it was read
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
  const count = inbox.querySelectorAll(`li[data-unanswered]:not(${DONE})`).length + hidden.reduce((a, b) => a + b, 0);
  const isPart = inbox.querySelector(".threads .with-script, .pager a[href*='after=']") !== null;
  const text = count ? `(${count}${isPart ? "+" : ""})` : "";
  const told = document.getElementById("unanswered");
  if (told.textContent !== text) told.textContent = text;
}

function markAll() {
  const unmarked = document.querySelectorAll(".conversations > li[data-at]:not([data-marked])");
  mark(unmarked, isUnread);
}

function isAskedAbout(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  return height === 0 || (bottom > 0 && top < innerHeight);
}

async function ask(address) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok || answer.headers.has("HX-Redirect")) return null;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  return made.content;
}

function tell(count) {
  document.getElementById("news").textContent = count === 1 ? "A new comment has come." : `${count} new comments have come.`;
}

// Adds what a visitor has written in a conversation that is shown.
function goOn(there, now) {
  const [shown, replies] = [there, now].map((it) => it.querySelector("ul.replies"));
  if (shown) shown.replaceWith(replies);
  else there.querySelector(".said").after(replies);
  Object.assign(there.dataset, { at: now.dataset.at, received: now.dataset.received, heard: now.dataset.heard });
  there.toggleAttribute("data-unanswered", now.hasAttribute("data-unanswered"));
  const form = now.querySelector("form.reply");
  if (form) takeForm(there, there.querySelector("[data-sent], form.reply"), form);
  mark([there], () => true);
}

// The answer that was just sent is among the replies now; its place is taken by a form for the next one, as is that of a form
// which is closed. A form in which somebody may be typing or sending stays, and is about the newest comment.
function takeForm(there, mine, form) {
  if (mine === null) there.append(form);
  else if (mine.matches("[data-sent], :has(details:not([open]))")) mine.replaceWith(form);
  else {
    mine.elements.latest_id.value = form.elements.latest_id.value;
    mine.removeAttribute("data-settled");
    for (const it of mine.querySelectorAll("[name=settled], :scope > p[role=status]")) it.remove();
    if (!mine.querySelector(".line [id^=settle-]")) mine.querySelector(".line").append(...form.querySelectorAll(".line [id^=settle-]"));
  }
  htmx.process(there);
}

// Shows what is new under one post.
async function lookAt(card) {
  const place = card.querySelector(".threads");
  const found = await ask(place.getAttribute("hx-get"));
  if (!found) return;
  const there = new Map([...card.querySelectorAll("li[data-id]")].map((it) => [it.dataset.id, it]));
  const all = [...found.querySelectorAll(".conversations > li[data-id]")];
  const longer = all.filter((it) => Number(it.dataset.heard) > Number(there.get(it.dataset.id)?.dataset.heard));
  for (const it of longer) goOn(there.get(it.dataset.id), it);
  if (longer.length > 0) tell(longer.length);
  const fresh = all.filter((it) => !there.has(it.dataset.id));
  if (fresh.length === 0) return;
  const wasRead = place.querySelector(".with-script") === null;
  if (wasRead) mark(fresh, () => true); // whatever the platform's clock says
  const list = card.querySelector(".conversations");
  if (list) {
    list.prepend(...fresh);
    for (const it of fresh) htmx.process(it);
  } else {
    place.replaceChildren(found);
    place.removeAttribute("hx-trigger");
    htmx.process(place);
  }
  if (wasRead) tell(fresh.length + longer.length);
}

// Asks for the list of posts, which begins with the newest comments of all: shows posts that are not here, and looks at those
// that have a newer comment than when they were shown. Each of these costs a read: the others have their turn at the next look.
async function lookForPosts() {
  const found = await ask(location.pathname + location.search);
  listedAt = found?.querySelector("#inbox")?.dataset.now ?? listedAt;
  const isNews = (it) => document.getElementById(it.id)?.dataset.commented !== it.dataset.commented;
  const news = [...(found?.querySelectorAll(".talk[data-commented]") ?? [])].filter(isNews);
  for (const card of news.slice(0, NEWS_AT_ONCE).reverse()) {
    const there = document.getElementById(card.id);
    const first = document.querySelector("#inbox .talk");
    if (there === null && first !== null) {
      card.querySelector(".threads").setAttribute("hx-trigger", "load");
      first.before(card);
      htmx.process(card);
      tell(1);
    } else if (there !== null) {
      there.dataset.commented = card.dataset.commented;
      await lookAt(there);
    }
  }
}

async function look() {
  if (document.visibilityState !== "visible") return;
  const asked = [...document.querySelectorAll("#inbox .talk")].filter(isAskedAbout);
  const isNewest = !new URLSearchParams(location.search).has("after");
  if (isNewest && turn++ % 2 === 0) {
    await lookForPosts();
    // Comments that this inbox read first were received after the time that it last sent.
    const shown = [...document.querySelectorAll("li[data-received]")];
    if (shown.some((it) => Date.parse(it.dataset.received) > Date.parse(toldAt))) remember();
  }
  else if (asked.length > 0) await lookAt(asked[talk++ % asked.length]);
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
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") remember();
  look();
});
