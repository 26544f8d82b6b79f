"use strict";

/* What is asked of a busy cell is done after that, in turn, unless refused. */
const queue = [];
addEventListener("htmx:confirm", (event) => {
  const elt = event.target;
  if (!elt.matches(".cell:has(.htmx-request) :is(.cell-tools *, .cell-note form)")) return;
  event.preventDefault();
  queue.push(`#${elt.id}:is(form, [title="${elt.title}"])`);
});
addEventListener("htmx:afterRequest", () => setTimeout(() => {
  while (queue[0] && !htmx.find(".htmx-request")) {
    const elt = htmx.find(`.cell:not(:has(.error)) ${queue.shift()}`);
    elt?.requestSubmit?.();
    elt?.click();
  }
}));

/* All cells in turn, as typed, until one does not fit; what is done waits for new text. */
addEventListener("click", async (event) => {
  const button = event.target.closest("[data-run-all]");
  if (!button) return;
  event.preventDefault();
  button.disabled = true;
  for (const { dataset } of htmx.findAll(".cell")) {
    const find = () => htmx.find(`[data-cell="${dataset.cell}"]`);
    const later = find()?.getAttribute("hx-get");
    if (later) await htmx.ajax("GET", later, { target: find(), swap: "outerHTML" });
    const form = find()?.querySelector(".cell-form:not([data-done]:not(:has(textarea:not(:placeholder-shown))))");
    if (!form) continue;
    if (!form.reportValidity()) return (button.disabled = false);
    await htmx.ajax("POST", form.getAttribute("hx-post"), { source: form }).catch(() => {});
  }
  button.disabled = false;
  button.focus();
});

/* Cells move where they stand. */
addEventListener("htmx:afterRequest", ({ detail: { elt, successful } }) => {
  const { by } = elt.dataset, cell = by && successful && elt.closest(".cell");
  if (!cell) return;
  const others = [...htmx.findAll(".cell")];
  others[others.indexOf(cell) + +by]?.[by < 0 ? "before" : "after"](cell);
  elt.focus();
});

/* What is changed in one cell is so in all; what is typed stays. */
addEventListener("htmx:beforeSwap", ({ detail: { isError, requestConfig: { elt, parameters, path } } }) => {
  const commanded = elt.closest(".cell-command");
  if (isError || !(parameters.act || (commanded && path.includes("/run")))) return;
  const told = commanded ? "" : `[data-memories~="${path.split("/").pop()}"]`;
  for (const output of htmx.findAll(`.output[data-memories*="-"]${told}`)) {
    const cell = output.closest(".cell");
    if (path.includes(cell.dataset.cell)) continue;
    const target = cell.matches(".cell-remember:not(:has(textarea:not(:placeholder-shown)))") ? cell : output;
    htmx.ajax("GET", cell.dataset.move.slice(0, -5), { target, select: `#${target.id}`, swap: "outerHTML" });
  }
});

let dragged;
addEventListener("dragstart", ({ target, dataTransfer: data }) => {
  dragged = target.closest?.(".drag")?.closest(".cell");
  if (!dragged) return;
  data.effectAllowed = "move";
  data.setData("text/plain", "");
  data.setDragImage(dragged, 10, 10);
});
addEventListener("dragover", (event) => {
  const over = dragged && event.target.closest?.(".cell");
  if (!over) return;
  event.preventDefault();
  if (over === dragged) return;
  const { top, height } = over.getBoundingClientRect();
  over[event.clientY < top + height / 2 ? "before" : "after"](dragged);
});
addEventListener("drop", (event) => dragged && event.preventDefault());
addEventListener("dragend", () => {
  if (!dragged) return;
  const before = htmx.find(`#${dragged.id} ~ .cell`)?.dataset.cell ?? "";
  htmx.ajax("POST", dragged.dataset.move, { swap: "none", values: { before } });
  dragged = null;
});

/* Charts show the numbers beneath them. */
function draw(table) {
  const plot = table.closest(".chart").querySelector(".plot");
  plot.replaceChildren();
  const rows = [...table.tBodies[0].rows], style = getComputedStyle(table), off = { show: false };
  const ink = { stroke: style.color, grid: { stroke: style.borderTopColor, width: 1 }, ticks: off };
  const kind = table.dataset.chart, places = rows.map((row) => +row.cells[0].dataset.at), data = [places], series = [{}];
  [...table.tHead.rows[0].cells].slice(1).forEach((head, number) => {
    const { drawn } = head.dataset;
    if (drawn === "none") return;
    const colour = getComputedStyle(head.firstElementChild).backgroundColor;
    const bars = drawn === "bars", points = drawn === "points" || !rows[1];
    data.push(rows.map((row) => +row.cells[number + 1].textContent));
    series.push({
      stroke: colour, width: 2, fill: bars && colour,
      paths: bars ? uPlot.paths.bars({ size: [0.6, 60] }) : points && (() => null),
      points: { show: points && !bars, size: 8, fill: colour },
    });
  });
  const span = places.at(-1) - places[0], edge = (span / (rows.length - 1) || 1) * (series.some((each) => each.fill) || !rows[1] ? 0.6 : 0);
  const least = kind === "time" && (span * 90) / (plot.clientWidth - 90), turned = kind === "names" && rows[6] && { rotate: -45, size: 70 };
  new uPlot({
    width: plot.clientWidth, height: 240, series, legend: off, cursor: off,
    scales: {
      x: { time: false, range: () => [places[0] - edge, places.at(-1) + edge] },
      y: { range: (_, low, high) => [0, high * 1.08 || 1] },
    },
    axes: [
      /* The table's words: its days are those of another zone. */
      kind === "number" ? ink : {
        ...ink, ...turned,
        splits: () => places.reduce((kept, at) => (at - kept.at(-1) < least ? kept : [...kept, at]), []),
        values: (_, at) => at.map((each) => rows[places.indexOf(each)].cells[0].textContent.trim()),
      },
      { ...ink, size: 55 },
    ],
  }, data, plot);
}
const redraw = () => htmx.findAll("[data-chart]").forEach(draw);
addEventListener("htmx:load", redraw);
matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
addEventListener("resize", redraw);
