// The rule editor without round trips: rules are added, duplicated, removed and moved, by drag and by keys, and each
// sentence follows its form. Without this file the same buttons ask the server.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const editor = document.querySelector("[data-rules]");
    const list = editor && editor.querySelector("[data-rules-list]");
    if (!list) return;
    const form = editor.closest("form");
    const template = editor.querySelector("[data-rules-template]");
    const status = editor.querySelector("[data-rules-status]");
    const rules = () => [...list.querySelectorAll(":scope > [data-rule]")];
    const numberOf = (rule) => rules().indexOf(rule) + 1;
    const sentence = (rule) => rule.querySelector("[data-sentence]");

    // Names, ids and buttons carry the rule's index: `rules-3-action`, `up-3`. People count from 1.
    function renumber() {
        rules().forEach((rule, index) => {
            for (const element of rule.querySelectorAll("[name], [id], [for], [aria-describedby], [value]")) {
                for (const attribute of ["name", "id", "for", "aria-describedby"]) {
                    const text = element.getAttribute(attribute);
                    if (text) element.setAttribute(attribute, text.replace(/rules-(\d+|__n__)-/, `rules-${index}-`));
                }
                if (element.dataset.step) element.value = `${element.dataset.step}-${index}`;
            }
            for (const number of rule.querySelectorAll("[data-rule-number]")) number.textContent = index + 1;
        });
        const empty = editor.querySelector("[data-rules-empty]");
        if (empty) empty.hidden = rules().length > 0;
    }

    function say(text) {
        status.textContent = text;
        form.dispatchEvent(new Event("change", { bubbles: true })); // unsaved changes
    }

    function hasRoom() {
        if (rules().length < Number(editor.dataset.most)) return true;
        say(`A policy has at most ${editor.dataset.most} rules.`);
        return false;
    }

    function add() {
        if (!hasRoom()) return;
        const last = rules().at(-1);
        const catchAll = last && last.querySelector("input[name$=-default]").checked ? last : null;
        list.insertBefore(template.content.cloneNode(true), catchAll); // one that matches everything stays the last
        renumber();
        const added = catchAll ? catchAll.previousElementSibling : rules().at(-1);
        show(added);
        added.querySelector("select").focus();
        say(`Rule ${numberOf(added)} added.`);
    }

    function duplicate(rule) {
        if (!hasRoom()) return;
        const copy = rule.cloneNode(true);
        const fields = (one) => [...one.querySelectorAll("input, select, textarea")];
        fields(rule).forEach((field, index) => { // a clone has the values of the page as it came
            const own = fields(copy)[index];
            if (field.type === "checkbox") own.checked = field.checked;
            else own.value = field.value;
        });
        copy.querySelector("[data-priority]").value = "";
        copy.querySelector("[name$=-original]").value = "";
        copy.querySelector("[data-form]").open = true;
        rule.after(copy);
        renumber();
        copy.querySelector("select").focus();
        say(`Rule ${numberOf(rule)} duplicated as rule ${numberOf(copy)}.`);
    }

    function remove(rule) {
        const all = rules();
        const index = all.indexOf(rule);
        const next = all[index + 1] || all[index - 1];
        rule.remove();
        renumber();
        (next ? next.querySelector("[data-step=remove]") : editor.querySelector("[value=add]")).focus();
        say(`Rule ${index + 1} removed.`);
    }

    function moved(rule) {
        rule.querySelector("[data-priority]").value = ""; // the server gives it another, by its place
        renumber();
        say(`Moved to place ${numberOf(rule)}.`);
    }

    function move(rule, step, focused) {
        const other = step === "up" ? rule.previousElementSibling : rule.nextElementSibling;
        if (!other) return;
        if (step === "up") other.before(rule);
        else other.after(rule);
        focused.focus();
        moved(rule);
    }

    // What only an allow rule can have is shown for allow rules alone.
    function show(rule) {
        const allows = rule.querySelector("select[name$=-action]").value === "allow";
        for (const field of rule.querySelectorAll("[data-allow]")) {
            const filled = [...field.querySelectorAll("textarea, input, select")].some((one) => one.value);
            field.hidden = !allows && !filled;
        }
    }

    editor.addEventListener("click", (event) => {
        const button = event.target.closest("button[name=_edit]");
        if (!button) return;
        const rule = button.closest("[data-rule]");
        if (button.value !== "add" && !button.dataset.step) return; // the server's
        event.preventDefault();
        if (button.value === "add") add();
        else if (button.dataset.step === "remove") remove(rule);
        else if (button.dataset.step === "copy") duplicate(rule);
        else move(rule, button.dataset.step, button);
    });
    list.addEventListener("keydown", (event) => {
        const step = { ArrowUp: "up", ArrowDown: "down" }[event.key];
        const rule = event.target.closest("[data-rule]");
        if (!event.altKey || !step || !rule) return;
        event.preventDefault();
        move(rule, step, event.target);
    });
    list.addEventListener("change", (event) => show(event.target.closest("[data-rule]")));

    // --- Dragging: the rule follows the pointer from place to place ---
    list.addEventListener("pointerdown", (event) => {
        const handle = event.target.closest("[data-handle]");
        if (!handle || event.button !== 0) return;
        const rule = handle.closest("[data-rule]");
        const from = rules().indexOf(rule);
        event.preventDefault(); // no text is selected on the way
        rule.classList.add("rule-dragged");

        const follow = (now) => {
            const others = rules().filter((one) => one !== rule);
            const below = others.find((one) => {
                const box = one.getBoundingClientRect();
                return now.clientY < box.top + box.height / 2;
            });
            if (below ? rule.nextElementSibling !== below : list.lastElementChild !== rule) list.insertBefore(rule, below || null);
        };
        const end = () => {
            for (const name of ["pointermove", "pointerup", "pointercancel"]) document.removeEventListener(name, name === "pointermove" ? follow : end);
            rule.classList.remove("rule-dragged");
            if (rules().indexOf(rule) !== from) moved(rule);
        };
        document.addEventListener("pointermove", follow);
        document.addEventListener("pointerup", end);
        document.addEventListener("pointercancel", end);
    });

    // --- Sentences, and what lint finds, by the server's own words ---
    let asking = null;
    let waiting = 0;
    async function tell() {
        if (asking) asking.abort();
        asking = new AbortController();
        const asked = rules();
        let told;
        try {
            const reply = await fetch(editor.dataset.words, { method: "POST", body: new FormData(form), signal: asking.signal });
            told = reply.ok && !reply.redirected ? (await reply.json()).rules : null;
        } catch {
            return; // a later question is under way, or nobody answers: the server says it all when it is saved
        }
        if (!told || told.length !== asked.length) return;
        asked.forEach((rule, index) => {
            sentence(rule).textContent = told[index].sentence;
            rule.querySelector("[data-place]").textContent = told[index].place;
            const findings = rule.querySelector("[data-findings]");
            findings.replaceChildren(...told[index].findings.map((text) => Object.assign(document.createElement("li"), { textContent: text, className: "warning" })));
            findings.hidden = told[index].findings.length === 0;
        });
    }
    form.addEventListener("change", () => {
        clearTimeout(waiting);
        waiting = setTimeout(tell, 150);
    });
    rules().forEach(show);
    if (rules().length) tell();
});
