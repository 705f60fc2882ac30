/* Offers the browser's time zone on the page where operators choose theirs. */
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const field = document.querySelector("select[name=time_zone]");
const button = document.querySelector("#browser_zone");

if (field.value !== zone && [...field.options].some((option) => option.value === zone)) {
  button.textContent = `Choose ${zone}, as in this browser`;
  button.hidden = false;
  button.addEventListener("click", () => {
    field.value = zone;
    field.form.requestSubmit();
  });
}
