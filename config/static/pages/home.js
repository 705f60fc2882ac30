// Asks anew with each choice. Without this file the form's button does.
"use strict";

(() => {
  const form = document.querySelector("form[data-live]");
  if (!form) return;
  let last = 0;

  async function ask() {
    const number = ++last;
    const query = new URLSearchParams(new FormData(form));
    const reply = await fetch(`/?${query}`).catch(() => null);
    if (number !== last) return; // another choice was made meanwhile
    if (!reply || !reply.ok) {
      form.submit(); // the page itself says what is wrong
      return;
    }
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const answer = page.getElementById("answer");
    if (!answer) {
      location.reload();
      return;
    }
    document.getElementById("answer").replaceChildren(...answer.childNodes);
    history.replaceState(null, "", `/?${query}#check`);
  }

  form.addEventListener("change", ask);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
})();
