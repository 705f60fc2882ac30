/* Sends the steps of a long change, and shows its progress. Without this file its button sends them one by one. */
"use strict";

(async () => {
  let shown = document.getElementById("bulk");
  while (shown && "steps" in shown.dataset) {
    const form = shown.querySelector("form");
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    let reply;
    try {
      reply = await fetch(location.href, { method: "POST", body: new FormData(form) });
    } catch {
      reply = null;
    }
    const page = reply && reply.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
    const next = page && page.getElementById("bulk");
    if (!next) {
      for (const button of form.querySelectorAll("button")) button.disabled = false; // to try again by hand
      return;
    }
    shown.replaceWith(next);
    shown = next;
  }
})();
