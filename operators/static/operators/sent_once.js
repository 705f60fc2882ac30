/* A form that is on its way is not sent again by a second click, which would break off the reply to the first. The way
   back to a page that replied to a form opens its address, and does not send the form again. */
"use strict";

(() => {
  history.replaceState(history.state, "", location.href);

  const buttons = (form) => [...form.elements].filter((element) => element.type === "submit");

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    // Afterwards: a button that is disabled already is not among what is sent.
    setTimeout(() => buttons(form).forEach((button) => (button.disabled = true)), 0);
  });

  // The way back can show the page as it was left.
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      buttons(form).forEach((button) => (button.disabled = false));
    }
  });
})();
