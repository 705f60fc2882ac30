/* Buttons that copy an id. Without HTTPS, or where the browser forbids it, the id is selected instead. */
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
  }
});
