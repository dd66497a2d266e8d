// The library: the actions wait until files are selected, and files can be dropped on the page. Without this script the
// actions are always there, and files are chosen with the field.

function showChosen() {
  const count = document.querySelectorAll("#library :checked").length;
  const told = document.getElementById("chosen-count");
  const text = count ? `${count} selected` : "Select files";
  if (told.textContent !== text) told.textContent = text;
  for (const button of document.querySelectorAll(".chosen button")) button.disabled = count === 0;
}

const main = document.querySelector("main");
main.addEventListener("change", showChosen);
new MutationObserver(showChosen).observe(main, { childList: true, subtree: true });
addEventListener("pageshow", showChosen); // after "back", boxes may be ticked

const area = document.querySelector(".drop");
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  area.classList.add("over");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) area.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  area.classList.remove("over");
  const input = document.getElementById("files-input");
  input.files = event.dataTransfer.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});
