/* Suggestions for the fields that name an address to ask, as a combobox (ARIA 1.2). A field with a value on each line
   gets a search field above it, which adds lines. Without this file they are fields to type into. */
"use strict";

(() => {
  const WAIT = 200; // milliseconds after the last key

  function attach(field) {
    const many = field.matches("textarea");
    const label = document.querySelector(`label[for="${field.id}"]`)?.textContent.replace("*", "").trim() ?? field.name;
    const box = many ? searchField(field, label) : field;
    const list = Object.assign(document.createElement("ul"), { id: `${field.id}_suggestions`, hidden: true });
    list.className = "suggestions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    const around = document.createElement("div");
    around.className = "suggesting";
    box.before(around);
    around.append(box, list);
    const told = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id };
    for (const [name, value] of Object.entries(told)) box.setAttribute(name, value);
    box.autocomplete = "off";

    let timer = 0, asked = 0, current = -1;
    const options = () => [...list.querySelectorAll("[role=option]")];

    function close() {
      clearTimeout(timer);
      asked++;
      list.hidden = true;
      current = -1;
      box.setAttribute("aria-expanded", "false");
      box.removeAttribute("aria-activedescendant");
    }

    function mark(index) {
      const all = options();
      current = (index + all.length) % all.length;
      all.forEach((option, number) => option.setAttribute("aria-selected", String(number === current)));
      box.setAttribute("aria-activedescendant", all[current].id);
      all[current].scrollIntoView({ block: "nearest" });
    }

    function choose(value) {
      if (many) {
        const lines = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
        if (!lines.includes(value)) lines.push(value);
        field.value = lines.join("\n");
        box.value = "";
      } else {
        field.value = value;
      }
      close();
      field.dispatchEvent(new Event("input", { bubbles: true }));
      box.focus();
    }

    async function ask() {
      const number = ++asked;
      const account = field.dataset.account || field.form.elements.account?.value || "";
      const address = new URL(field.dataset.suggest, location.href);
      address.searchParams.set("account", account);
      address.searchParams.set("term", box.value.trim());
      let reply;
      try {
        reply = await (await fetch(address)).json();
      } catch {
        return; // signed out, or the server is gone: what is typed counts all the same
      }
      if (number !== asked || document.activeElement !== box) return;
      list.replaceChildren(...reply.suggestions.map((one, index) => {
        const option = document.createElement("li");
        option.id = `${list.id}_${index}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        option.dataset.value = one.value;
        option.textContent = one.label;
        return option;
      }));
      current = -1;
      list.hidden = reply.suggestions.length === 0;
      box.setAttribute("aria-expanded", String(!list.hidden));
    }

    box.addEventListener("input", (event) => {
      if (event.isTrusted) {
        clearTimeout(timer);
        timer = setTimeout(ask, WAIT);
      }
    });
    box.addEventListener("keydown", (event) => {
      const open = !list.hidden;
      if (event.key === "ArrowDown" && !open) ask();
      else if (event.key === "ArrowDown") mark(current + 1);
      else if (event.key === "ArrowUp" && open) mark(current < 0 ? -1 : current - 1);
      else if (event.key === "Enter" && open && current >= 0) choose(options()[current].dataset.value);
      else if (event.key === "Enter" && many && box.value.trim()) choose(box.value.trim());
      else if (event.key === "Escape" && open) close();
      else return;
      event.preventDefault();
    });
    box.addEventListener("blur", close);
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) choose(option.dataset.value);
    });
  }

  function searchField(field, label) {
    const box = document.createElement("input");
    box.type = "search";
    box.id = `${field.id}_search`;
    box.className = field.className.replace("vLargeTextField", "");
    box.placeholder = "Type to find and add";
    box.setAttribute("aria-label", `Find and add: ${label}`);
    field.before(box);
    return box;
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-suggest]").forEach(attach));
})();
