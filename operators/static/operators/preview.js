/* Says what saving will do, while the form is filled in. Without this file the page that asks says it. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const shown = document.getElementById("license-preview");
  const form = shown?.closest("form");
  if (!form) return;
  let timer = 0, asked = 0;

  async function tell() {
    const number = ++asked;
    try {
      const reply = await fetch(shown.dataset.address, { method: "POST", body: new FormData(form) });
      const page = reply.ok && !reply.redirected ? await reply.text() : "";
      if (number === asked && page !== shown.innerHTML) shown.innerHTML = page;
    } catch {
      // The page that asks says it.
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(tell, 300);
  }

  // A template's link opens the form anew: it takes along who the licence is for.
  document.querySelector(".operators-chips")?.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    const query = new URLSearchParams(link.search);
    for (const name of ["account", "requester_own_id", "requester_name"]) {
      const value = form.elements[name]?.value;
      if (value) query.set(name, value);
    }
    link.search = query;
  });

  form.addEventListener("input", later);
  window.django?.jQuery?.(form).on("change", later); // select2 tells jQuery alone
  tell();
});
