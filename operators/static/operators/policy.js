// Adds, removes and moves rules without a round trip. Without this file the same buttons ask the server.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const editor = document.querySelector("[data-rules]");
    const list = editor && editor.querySelector("[data-rules-list]");
    if (!list) return;
    const template = editor.querySelector("[data-rules-template]");
    const status = editor.querySelector("[data-rules-status]");
    const rules = () => [...list.querySelectorAll(":scope > [data-rule]")];

    // Names, ids and buttons carry the rule's number: `rules-3-action`, `up-3`.
    function renumber() {
        rules().forEach((rule, index) => {
            for (const element of rule.querySelectorAll("[name], [id], [for], [aria-describedby], [value]")) {
                for (const attribute of ["name", "id", "for", "aria-describedby"]) {
                    const text = element.getAttribute(attribute);
                    if (text) element.setAttribute(attribute, text.replace(/rules-(\d+|__n__)-/, `rules-${index}-`));
                }
                if (element.dataset.step) element.value = `${element.dataset.step}-${index}`;
            }
            rule.querySelector("[data-rule-number]").textContent = index;
        });
    }

    function say(text) {
        status.textContent = text;
        editor.closest("form").dispatchEvent(new Event("change", { bubbles: true })); // unsaved changes
    }

    function add() {
        if (rules().length >= Number(editor.dataset.most)) {
            say(`A policy has at most ${editor.dataset.most} rules.`);
            return;
        }
        const last = rules().at(-1);
        const catchAll = last && last.querySelector("input[name$=-default]").checked ? last : null;
        list.insertBefore(template.content.cloneNode(true), catchAll); // one that matches everything stays the last
        renumber();
        const added = catchAll ? catchAll.previousElementSibling : rules().at(-1);
        show(added);
        added.querySelector("select").focus();
        say(`Rule ${rules().indexOf(added)} added.`);
    }

    function remove(rule) {
        const all = rules();
        const index = all.indexOf(rule);
        const next = all[index + 1] || all[index - 1];
        rule.remove();
        renumber();
        (next ? next.querySelector("[data-step=remove]") : editor.querySelector("[value=add]")).focus();
        say(`Rule ${index} removed.`);
    }

    function move(rule, step, focused) {
        const other = step === "up" ? rule.previousElementSibling : rule.nextElementSibling;
        if (!other) return;
        if (step === "up") other.before(rule);
        else other.after(rule);
        rule.querySelector("[data-priority]").value = ""; // the server gives it another, by its place
        renumber();
        focused.focus();
        say(`Moved to place ${rules().indexOf(rule)}.`);
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
    rules().forEach(show);
});
