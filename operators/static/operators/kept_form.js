/* Keeps a submitted form in the tab until the server has taken it, for the case that the session has ended: after the
   login it is shown again as it was, and not saved by itself. Files, and forms with a password, are not kept. */
"use strict";

(() => {
  const key = (path) => `form:${path}`;
  const buttons = new Set(["_save", "_continue", "_addanother", "_edit", "confirmed"]);
  const passwords = (form) => form.querySelector("[type=password]");

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const id = form.getAttribute("id") || ""; // a field named id would stand before form.id
    if (!id.endsWith("_form") || form.method !== "post" || event.defaultPrevented || passwords(form)) return;
    const entries = [...new FormData(form)].filter(
      ([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken" && !buttons.has(name),
    );
    try {
      sessionStorage.setItem(key(location.pathname), JSON.stringify(entries));
    } catch {
      // Without room nothing is kept.
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    if (document.getElementById("login-form")) return;
    const kept = sessionStorage.getItem(key(location.pathname));
    for (const name of Object.keys(sessionStorage)) if (name.startsWith("form:")) sessionStorage.removeItem(name);
    const shown = document.querySelector("form[id$=_form][method=post]");
    const from = document.referrer ? new URL(document.referrer) : null;
    if (!kept || !shown || passwords(shown) || !from || from.origin !== location.origin || !from.pathname.endsWith("/login/")) return;
    const form = document.createElement("form");
    form.method = "post";
    form.hidden = true;
    const token = shown.querySelector("[name=csrfmiddlewaretoken]").value;
    for (const [name, value] of [...JSON.parse(kept), ["csrfmiddlewaretoken", token], ["_edit", "back"]]) {
      const field = document.createElement("textarea"); // unlike an input it keeps line ends
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    HTMLFormElement.prototype.submit.call(form);
  });
})();
