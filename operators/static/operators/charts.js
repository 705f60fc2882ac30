/* Charts, drawn by uPlot from the tables below them: bars stacked by the columns that have a kind. The pointer and the
 * arrow keys tell the figures of a bar, in the words of its row. */
"use strict";

const CHART_HEIGHT = 220;
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const FONT = "12px Inter, sans-serif";

function readTable(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = [...table.tHead.rows[0].cells].slice(1).map((head, index) => {
    const texts = rows.map((row) => row.cells[index + 1].textContent.trim());
    const values = texts.map((text) => Number(text.replaceAll(",", "")) || 0); // a dash is no bar
    return { name: head.textContent.trim(), kind: head.dataset.kind, texts, values };
  });
  const names = rows.map((row) => row.cells[0].textContent.trim());
  return { names, ticks: rows.map((row) => row.cells[0].dataset.tick), columns };
}

function made(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

function legendOf(columns) {
  const keys = columns.map(({ name, kind }) => made("li", "", made("i", kind), name));
  return made("ul", "chart-legend", ...keys);
}

/* Each with the sums up to it, the highest first: what is drawn later covers what is below it. */
function stacked(columns) {
  let below = columns[0].values.map(() => 0);
  return columns
    .map(({ kind, values }) => {
      below = values.map((value, index) => below[index] + value);
      return { kind, tops: below };
    })
    .reverse();
}

function optionsOf(plot, table, bars, unit, hooks) {
  const colour = (name) => () => getComputedStyle(plot).getPropertyValue(`--${name}`).trim();
  const count = table.names.length;
  const whole = bars.every(({ tops }) => tops.every(Number.isInteger));
  const axis = { stroke: colour("quiet"), font: FONT, labelFont: FONT };
  return {
    width: Math.max(plot.clientWidth, 100), // nothing is wide before it is shown
    height: CHART_HEIGHT,
    legend: { show: false },
    select: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
    scales: {
      x: { time: false, range: () => [-0.5, count - 0.5] },
      y: { range: (_, low, high) => uPlot.rangeNum(Math.min(low, 0), Math.max(high, 0), 0.05, true) },
    },
    series: [
      {},
      ...bars.map(({ kind }) => ({
        fill: colour(kind),
        width: 0,
        fillTo: 0,
        paths: uPlot.paths.bars({ size: [0.8, 48] }),
        points: { show: false },
      })),
    ],
    axes: [
      {
        ...axis,
        incrs: [1, 2, 5, 7, 10, 14, 30, 60, 90],
        values: (_, places) => places.map((place) => table.ticks[place] ?? ""),
        space: 56,
        size: 28,
        grid: { show: false },
        ticks: { stroke: colour("line"), width: 1, size: 4 },
      },
      {
        ...axis,
        ...(whole ? { incrs: STEPS } : {}),
        label: unit,
        labelSize: 20,
        values: (_, places) => places.map((place) => SHORT.format(place)),
        size: (_, values) => 12 + 7 * Math.max(...(values ?? []).map((text) => text.length), 2),
        space: 36,
        grid: { stroke: colour("line"), width: 1 },
        ticks: { show: false },
      },
    ],
    hooks,
  };
}

/* What the arrow keys lead to: the place of a bar, from the one that is told. */
const MOVES = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  PageDown: (at) => at - 7,
  PageUp: (at) => at + 7,
  Home: () => 0,
  End: (_, last) => last,
};

function drawChart(figure) {
  const source = figure.querySelector("table");
  const table = readTable(source);
  const shown = table.columns.filter(({ kind }) => kind);
  const bars = stacked(shown);
  const last = table.names.length - 1;
  const plot = figure.querySelector(".chart-plot");
  const tip = made("div", "chart-tip");
  const mark = made("div", "chart-mark");
  tip.hidden = mark.hidden = true;
  let told = last;

  function tell(index) {
    told = index;
    const lines = table.columns.map(({ name, kind, texts }) =>
      made("li", "", made("i", kind ?? ""), `${name} `, made("b", "", texts[index])),
    );
    tip.replaceChildren(made("strong", "", table.names[index]), made("ul", "", ...lines));
    const figures = table.columns.map(({ name, texts }) => `${name} ${texts[index]}`);
    plot.setAttribute("aria-valuenow", index + 1);
    plot.setAttribute("aria-valuetext", `${table.names[index]}: ${figures.join(", ")}`);
  }

  function follow(chart) {
    const index = chart.cursor.idx;
    tip.hidden = mark.hidden = index == null || chart.cursor.left < 0;
    if (tip.hidden) return;
    tell(index);
    const [from, to] = [index - 0.5, index + 0.5].map((place) => chart.valToPos(place, "x"));
    Object.assign(mark.style, { left: `${from}px`, width: `${to - from}px` });
    const room = chart.over.clientWidth;
    const isLeft = (from + to) / 2 > room / 2; // of the bar
    Object.assign(tip.style, { left: isLeft ? "auto" : `${to + 8}px`, right: isLeft ? `${room - from + 8}px` : "auto" });
  }

  const name = source.parentElement.getAttribute("aria-label");
  for (const [attribute, value] of Object.entries({
    role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 1, "aria-valuemax": last + 1,
  })) {
    plot.setAttribute(attribute, value);
  }
  tell(last);
  if (shown.length > 1) plot.before(legendOf(shown));
  const data = [table.names.map((_, index) => index), ...bars.map(({ tops }) => tops)];
  const chart = new uPlot(optionsOf(plot, table, bars, figure.dataset.unit, { setCursor: [follow] }), data, plot);
  chart.over.append(mark, tip);

  const point = (index) => chart.setCursor({ left: chart.valToPos(index, "x"), top: 0 });
  const leave = () => chart.setCursor({ left: -10, top: -10 });
  plot.addEventListener("keydown", (event) => {
    const move = event.ctrlKey || event.metaKey || event.altKey ? null : MOVES[event.key];
    if (event.key === "Escape") leave();
    if (!move) return;
    event.preventDefault();
    point(tip.hidden && !event.key.match(/Home|End/) ? told : Math.min(Math.max(move(told, last), 0), last));
  });
  plot.addEventListener("blur", leave);
  new ResizeObserver(() => {
    if (plot.clientWidth && plot.clientWidth !== chart.width) {
      chart.setSize({ width: plot.clientWidth, height: CHART_HEIGHT });
      leave();
    }
  }).observe(plot);
  return chart;
}

document.addEventListener("DOMContentLoaded", () => {
  const charts = [...document.querySelectorAll(".bar-chart")].map(drawChart);
  const themes = new MutationObserver(() => charts.forEach((chart) => chart.redraw()));
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
});
