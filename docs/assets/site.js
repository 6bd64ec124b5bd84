// Code that scrolls sideways can be reached with the Tab key; wide tables can already (website/tables.py).
function reachable() {
  for (const code of document.querySelectorAll(".md-typeset pre > code")) {
    if (code.scrollWidth > code.clientWidth) {
      code.tabIndex = 0;
      code.setAttribute("role", "group"); // no landmark: a page has dozens of them
      code.setAttribute("aria-label", "Code");
    }
  }
}
// The theme makes a landmark of each button that copies code: dozens of them would hide the real ones.
function noLandmarks() {
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "presentation");
}
document.addEventListener("DOMContentLoaded", () => {
  reachable();
  noLandmarks();
  new MutationObserver(noLandmarks).observe(document.body, { childList: true, subtree: true });
});
window.addEventListener("resize", reachable);
