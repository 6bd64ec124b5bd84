// Keys of the inbox: a digit answers, s skips with a reason, u takes the last answer back. Everything works without them.
"use strict";

const keys = document.getElementById("keys");
keys.checked = localStorage.getItem("keys") !== "off";
keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));

const heading = document.getElementById("case");
if (heading) heading.focus({ preventScroll: true }); // screen readers begin with the case

const skip = document.getElementById("skip");
const openSkip = () => {
  skip.open = true;
  document.getElementById("note").focus();
};

document.addEventListener("keydown", (event) => {
  const writing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && skip && skip.open) {
    skip.open = false;
    heading.focus();
    return;
  }
  if (writing || !keys.checked || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  const undo = document.getElementById("undo");
  if (button) button.click();
  else if (event.key === "s" && skip) openSkip();
  else if (event.key === "u" && undo) undo.click();
  else return;
  event.preventDefault();
});

let sent = false;
document.addEventListener("submit", (event) => {
  if (sent) event.preventDefault(); // a second press of a key would answer the same case again
  sent = true;
});
window.addEventListener("pageshow", () => { sent = false; });

const undo = document.getElementById("undo");
if (undo) setTimeout(() => undo.remove(), 1000 * Number(undo.dataset.seconds));

if (document.getElementById("empty")) {
  setInterval(async () => {
    if (document.hidden) return;
    const reply = await fetch("/v1/questions?limit=1").catch(() => null); // the service may be away for a moment
    if (reply === null) return;
    if (reply.status === 401) location.reload(); // the page then says how to sign in again
    else if (reply.ok && (await reply.json()).questions.length) location.assign("/inbox");
  }, 5000);
}
