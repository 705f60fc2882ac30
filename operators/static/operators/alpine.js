/* Alpine's CSP build, which operators/static has in the place of unfold's, reads expressions itself in place of eval. It
 * knows neither globals nor arrow functions; the few of unfold's expressions that use some get them from here. */
"use strict";

document.addEventListener("alpine:init", () => {
  for (const component of [theme, searchForm, searchDropdown]) {
    Alpine.data(component.name, component);
  }
  Alpine.data("searchCommand", () => ({
    ...searchCommand(),
    enter(event) {
      if (this.totalItems === 0) return;
      this.currentIndex = this.currentIndex || 1;
      this.selectItem(false, event.metaKey || event.ctrlKey);
    },
  }));

  const body = document.body;
  const firstTab = /activeTab: '([^']*)'/.exec(body.getAttribute("x-data") || "")?.[1] ?? "";
  Alpine.data("shell", () => ({
    activeTab: (firstTab && getCurrentTab()) || firstTab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem("sidebarDesktopOpen") !== "0",
    sortRecords,
    moveRecords,
    init() {
      this.$watch("sidebarDesktopOpen", (open) => localStorage.setItem("sidebarDesktopOpen", open ? "1" : "0"));
    },
    get formAction() {
      const tab = this.activeTab && this.activeTab !== "general" ? `#${this.activeTab}` : "";
      return window.location.pathname + window.location.search + tab;
    },
  }));
  body.setAttribute("x-data", "shell");
  body.removeAttribute("x-init");

  for (const form of document.querySelectorAll("form[x-bind\\:action*=window]")) {
    form.setAttribute("x-bind:action", "formAction");
  }
  for (const button of document.querySelectorAll("[x-on\\:click*=localStorage]")) {
    button.setAttribute("x-on:click", "sidebarDesktopOpen = !sidebarDesktopOpen");
  }
});
