/* Copies the key, tells the service that it was shown, and makes a reload open the key's own page, which does not show it. */
"use strict";

const page = document.getElementById("one-time-key");
const text = document.getElementById("key-text");
const result = document.getElementById("copy-result");

const seen = document.getElementById("key-seen");
fetch(seen.action, { method: "POST", body: new FormData(seen), keepalive: true });
history.replaceState(null, "", page.dataset.next);

document.getElementById("copy-key").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(text.textContent);
    result.textContent = "Copied.";
  } catch {
    // Without HTTPS, or where the browser forbids it, there is no clipboard to write to.
    getSelection().selectAllChildren(text);
    result.textContent = "The key is selected: copy it with Ctrl+C.";
  }
});
