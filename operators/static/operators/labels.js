/* Names and keys for what unfold draws with icons alone: a screen reader would read "dock_to_right", and a span with a
 * click handler cannot be reached by keyboard. */
"use strict";

const ICON_NAMES = {
  arrow_back: "Back",
  close: "Close",
  computer: "Theme",
  dark_mode: "Theme",
  dock_to_right: "Menu",
  filter_list: "Filters",
  light_mode: "Theme",
  more_vert: "More",
  unfold_more: "Menu",
};

function makeButton(element, name) {
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "0");
  element.setAttribute("aria-label", element.title || name || "Open");
}

function nameIcons(root) {
  for (const icon of root.querySelectorAll(".material-symbols-outlined")) {
    const name = ICON_NAMES[icon.textContent.trim()];
    if (icon.hasAttribute("x-on:click")) {
      makeButton(icon, name);
      continue;
    }
    const control = icon.closest("a, button");
    if (control?.matches("a:not([href])[x-on\\:click]")) {
      makeButton(control, name);
    }
    if (control && !control.title && control.textContent.trim() === icon.textContent.trim()) {
      control.setAttribute("aria-label", name ?? "Open");
    }
    icon.setAttribute("aria-hidden", "true");
  }
}

function nameSearchingFields(root) {
  for (const field of root.querySelectorAll("select.admin-autocomplete")) {
    const label = document.querySelector(`label[for="${field.id}"]`)?.textContent.replace("*", "").trim() ?? field.name;
    for (const part of field.parentElement.querySelectorAll(".select2 [role]:not([role=presentation]), .select2 input")) {
      part.setAttribute("aria-label", label);
    }
  }
}

window.addEventListener("load", () => {
  nameIcons(document);
  setTimeout(nameSearchingFields, 0, document); // after those who make these fields at the same event
  window.django?.jQuery?.(document).on("select2:open", () => {
    document.querySelector(".select2-container--open input.select2-search__field")?.setAttribute("aria-label", "Search");
  });
});

document.addEventListener("htmx:afterSettle", (event) => nameIcons(event.target));

document.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && event.target.matches("span[role=button], a[role=button]:not([href])")) {
    event.preventDefault();
    event.target.click();
  }
});
