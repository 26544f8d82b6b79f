"use strict";

/* Enter twice is Enter once; htmx sees to its own forms. */
let sent = new WeakMap();
addEventListener("pageshow", () => (sent = new WeakMap()));
addEventListener("submit", (event) => {
  const { defaultPrevented, target, timeStamp } = event;
  if (defaultPrevented) return;
  if (timeStamp - sent.get(target) < 5000) return event.preventDefault();
  sent.set(target, timeStamp);
});

/* A double click is one click. */
addEventListener("click", (event) => {
  if (event.detail < 2 || !event.target.closest("button:not([data-by])")) return;
  event.preventDefault();
  event.stopPropagation();
}, true);

/* The colours change at once, and by the cookie on the next page. */
addEventListener("click", (event) => {
  const button = event.target.closest("button[name=appearance]");
  if (!button) return;
  event.preventDefault();
  document.documentElement.dataset.appearance = button.value;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `appearance=${button.value}; path=/; max-age=31536000; SameSite=Lax${secure}`;
  for (const other of button.form.elements.appearance) other.setAttribute("aria-pressed", other === button);
});

/* Moments in the reader's zone. */
addEventListener("htmx:load", ({ detail }) => {
  for (const time of detail.elt.querySelectorAll("html:not(.zoned) time")) {
    const moment = new Date(time.dateTime);
    if (moment.getTime()) time.title = moment.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
});

/* The server is away. */
addEventListener("htmx:sendError", () => {
  const said = "The server does not answer. Perhaps nothing was changed; try again.";
  document.getElementById("flash").innerHTML = `<div class="notice notice-error">${said}</div>`;
});

/* What went wrong is forgotten once something went right. */
addEventListener("htmx:afterRequest", ({ detail: { requestConfig, xhr } }) => {
  if (xhr.status < 400 && requestConfig.triggeringEvent?.isTrusted) document.querySelector("#flash > .notice-error")?.remove();
});

/* The focus goes to what is wrong, and back to what was disabled or replaced. */
const WRONG = "[aria-invalid=true]";
document.querySelector(WRONG)?.focus();
const held = new WeakMap();
/* What is folded away leaves the focus to what unfolds it. */
const seen = (each) => each?.closest("details:not([open])")?.querySelector("summary") ?? each;
addEventListener("htmx:beforeRequest", ({ detail: { xhr } }) => held.set(xhr, document.activeElement));
addEventListener("htmx:afterSettle", ({ detail: { elt, xhr } }) => {
  const before = held.get(xhr);
  if (!before || document.activeElement !== document.body) return;
  const next = [WRONG, ".cell-form button", "button, a[href], [tabindex]"].map((each) => elt.querySelector(each)).find(Boolean);
  (seen(before.isConnected ? before : document.getElementById(before.id)) ?? next)?.focus({ preventScroll: true });
});
