/* Keeps forms in the tab. A submitted form whose id ends with `_form` is kept until the server has taken it, for the case
   that the session has ended: after the login it is shown again as it was, and not saved by itself (`_edit` is `back`).
   Of a form with [data-rules] every change is kept until it is saved, and offered when its page is opened again. A form
   with a file is not sent before the session is known to last. Forms with a password are not kept. */
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

  const token_of = (page) => page.querySelector("[name=csrfmiddlewaretoken]")?.value;

  // Shows the form of this page with these values, rather than saving it.
  function reopen(values, shown) {
    const form = document.createElement("form");
    form.method = "post";
    form.hidden = true;
    const token = token_of(shown);
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
    const shown = document.querySelector("form[id$=_form][method=post]"); // none where only a POST leads to the form
    const from = document.referrer ? new URL(document.referrer) : null;
    const afterLogin = from && from.origin === location.origin && from.pathname.endsWith("/login/");
    if (values && afterLogin && token_of(document)) {
      reopen(values, document);
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

  // --- Files: what was chosen stays chosen, while one signs in elsewhere ---
  const chosen = (form) => [...form.querySelectorAll("[type=file]")].some((field) => field.files.length);

  // Before any other listener, which would take the form for sent.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!chosen(form) || form.method !== "post") return;
    if (form.dataset.signedIn) {
      delete form.dataset.signedIn;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    const token = await token_of_session();
    form.parentElement.querySelector(".session-ended")?.remove();
    if (token === null) {
      form.before(session_ended());
      return;
    }
    if (token) form.querySelector("[name=csrfmiddlewaretoken]").value = token; // each login has another
    form.dataset.signedIn = "1";
    form.requestSubmit(event.submitter);
  }, true);

  // The token of this page as it would be now; null where the session has ended, empty where nobody answers.
  async function token_of_session() {
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (new URL(reply.url).pathname.endsWith("/login/")) return null;
      return token_of(new DOMParser().parseFromString(await reply.text(), "text/html")) || "";
    } catch {
      return "";
    }
  }

  function session_ended() {
    const bar = document.createElement("div");
    bar.className = "unsaved-work session-ended";
    bar.setAttribute("role", "alert");
    const link = Object.assign(document.createElement("a"), { href: location.href, target: "_blank", textContent: "Sign in in another tab" });
    link.className = "text-link";
    bar.append("Your session has ended. ", link, ", and press the button again: the file is still chosen.");
    return bar;
  }
})();
