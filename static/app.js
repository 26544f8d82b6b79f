"use strict";

/* Enter twice is once; htmx sees to its own forms. */
let sent = {};
addEventListener("pageshow", () => (sent = {}));
addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  if (event.target === sent.target && event.timeStamp - sent.timeStamp < 5000) return event.preventDefault();
  sent = event;
});

/* Ctrl+Enter runs the cell, or sends the text. */
addEventListener("keydown", (event) => {
  const form = htmx.find(".cell:focus-within .cell-form, form:has(textarea:focus)");
  if (!form || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});

/* Back asks anew for a page that answered a form. */
history.replaceState(history.state, "");

/* A double click is one click. */
addEventListener("click", (event) => {
  if (event.detail < 2 || !event.target.closest("button:not([data-by])")) return;
  event.preventDefault();
  event.stopPropagation();
}, true);

/* The colours change at once, then by the cookie. */
addEventListener("click", (event) => {
  const { name, value, form } = event.target;
  if (name !== "appearance") return;
  event.preventDefault();
  htmx.find("html").dataset.appearance = value;
  document.cookie = form.dataset.cookie.replace("=", `=${value}`);
  for (const other of form.appearance) other.ariaPressed = other === event.target;
  dispatchEvent(new Event("resize"));
});

/* Moments in the reader's zone. What is new is told. */
addEventListener("htmx:load", ({ detail: { elt } }) => {
  for (const time of htmx.findAll(elt, "html:not(.zoned) time")) {
    time.title = new Date(time.dateTime).toLocaleString([], { dateStyle: "full", timeStyle: "long" });
  }
  const told = htmx.find(elt, "[role=status]");
  setTimeout(() => told?.append(...told.childNodes), 500);
});

/* A slider says where it is; what Back brings, what it is based on. */
addEventListener("input", ({ target }) => {
  const slider = target.closest(".slider"), base = target.form?.based_on;
  if (slider) slider.querySelector("output").value = target.value;
  if (base) base.value = base.value.trim() + " ";
});

/* The server is away. */
addEventListener("htmx:sendError", () => (htmx.find("#flash").innerHTML = htmx.find("#away").innerHTML));

/* What went wrong is over once something went right. */
addEventListener("htmx:afterRequest", ({ detail: { requestConfig, xhr } }) => {
  refocus(xhr.before);
  if (xhr.status < 400 && requestConfig.triggeringEvent?.isTrusted) htmx.find("#flash>.notice-error")?.remove();
});

/* What was entered and not sent stays. */
let active, typed;
addEventListener("htmx:beforeSwap", ({ detail: { requestConfig: { elt, formData } } }) => {
  active = document.activeElement;
  typed = [...htmx.findAll("input, select, textarea")]
    .filter((each) => each.type === "checkbox"
      ? each.checked !== (each.form?.contains(elt) ? formData.getAll(each.name).includes(each.value) : each.defaultChecked)
      : each.value !== (formData.get(each.name) ?? each.defaultValue ?? each.value));
});
addEventListener("htmx:afterSwap", () => {
  for (const each of typed) {
    const field = document.getElementById(each.id);
    if (!field || each.isConnected) continue;
    field.replaceWith(each);
    each.ariaInvalid = null;
    each.closest("details")?.setAttribute("open", "");
    if (each !== active) continue;
    each.focus();
    /* An autofocus follows. */
    setTimeout(() => each.focus());
  }
});

/* The focus goes to what is wrong, or back. */
const WRONG = "[aria-invalid=true]";
htmx.find(WRONG)?.focus();
/* What is folded leaves it to what unfolds it. */
const refocus = (each) => document.activeElement === document.body
  && (each?.closest("details:not([open])")?.querySelector("summary") ?? each)?.focus({ preventScroll: true });
addEventListener("htmx:beforeRequest", ({ detail: { xhr } }) => (xhr.before = document.activeElement));
addEventListener("htmx:afterSettle", ({ detail: { elt, xhr } }) => {
  const before = xhr?.before;
  if (before?.isConnected ?? true) return;
  const next = [WRONG, ".cell-form button", ".desk-pick input, button, a[href], [tabindex]"].map((each) => elt.querySelector(each)).find(Boolean);
  refocus(document.getElementById(before.id) ?? next);
});
