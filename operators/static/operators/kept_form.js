/* Keeps forms in the tab. A submitted form is kept until the server has taken it, for the case that the session has
   ended: after the login it is shown again as it was, and not saved by itself. Of a form with [data-rules] every change
   is kept until it is saved, and offered when its page is opened again. Files, and forms with a password, are not kept. */
"use strict";

(() => {
  const sent = `form:${location.pathname}`;
  const unsaved = `unsaved:${location.pathname}`;
  const buttons = new Set(["_save", "_continue", "_addanother", "_edit", "confirmed"]);
  const passwords = (form) => form.querySelector("[type=password]");
  const entries = (form) =>
    [...new FormData(form)].filter(
      ([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken" && !buttons.has(name),
    );

  function keep(key, value) {
    try {
      sessionStorage.setItem(key, JSON.stringify(value));
    } catch {
      // Without room nothing is kept.
    }
  }

  function kept(key) {
    return JSON.parse(sessionStorage.getItem(key) || "null");
  }

  // Shows the form of this page with these values, rather than saving it.
  function reopen(values, shown) {
    const form = document.createElement("form");
    form.method = "post";
    form.hidden = true;
    const token = shown.querySelector("[name=csrfmiddlewaretoken]").value;
    for (const [name, value] of [...values, ["csrfmiddlewaretoken", token], ["_edit", "back"]]) {
      const field = document.createElement("textarea"); // unlike an input it keeps line ends
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    HTMLFormElement.prototype.submit.call(form);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const id = form.getAttribute("id") || ""; // a field named id would stand before form.id
    if (!id.endsWith("_form") || form.method !== "post" || event.defaultPrevented || passwords(form)) return;
    keep(sent, entries(form));
    const work = kept(unsaved);
    if (work) keep(unsaved, { ...work, sent: true });
  });

  document.addEventListener("DOMContentLoaded", () => {
    if (document.getElementById("login-form")) return;
    const values = kept(sent);
    for (const name of Object.keys(sessionStorage)) if (name.startsWith("form:")) sessionStorage.removeItem(name);
    const shown = document.querySelector("form[id$=_form][method=post]");
    const from = document.referrer ? new URL(document.referrer) : null;
    const afterLogin = from && from.origin === location.origin && from.pathname.endsWith("/login/");
    if (values && shown && !passwords(shown) && afterLogin) {
      reopen(values, shown);
      return;
    }
    work(shown);
  });

  function work(shown) {
    const left = kept(unsaved);
    const editor = shown && shown.querySelector("[data-rules]");
    if (left && (!editor || "sent" in editor.dataset)) {
      keep(unsaved, { ...left, sent: false }); // the answer to what was sent, which is not saved, is another page
    } else if (left && left.sent) {
      sessionStorage.removeItem(unsaved);
    } else if (left) {
      offer(left, shown);
    }
    if (!editor) return;
    let waiting = 0;
    const save = () => keep(unsaved, { entries: entries(shown), at: Date.now(), sent: false });
    for (const name of ["input", "change"]) {
      shown.addEventListener(name, () => {
        clearTimeout(waiting);
        waiting = setTimeout(save, 200);
      });
    }
  }

  function offer(left, shown) {
    const bar = document.createElement("div");
    bar.className = "unsaved-work";
    bar.setAttribute("role", "status");
    const button = (text, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", className: "rules-button", textContent: text });
      made.addEventListener("click", act);
      return made;
    };
    const at = new Date(left.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const told = Object.assign(document.createElement("span"), { textContent: `Your work of ${at} was not saved.` });
    bar.append(
      told,
      button("Bring it back", () => reopen(left.entries, shown)),
      button("Discard it", () => {
        sessionStorage.removeItem(unsaved);
        bar.remove();
      }),
    );
    shown.before(bar);
  }
})();
