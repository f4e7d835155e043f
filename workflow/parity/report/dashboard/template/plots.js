// What both plots share. Their colours are the page's own, so they follow light and dark.

const PLOT_ROW = 26;
const SYMBOLS = {
  supported: "circle", "holds-in-part": "circle-cross-open", contradicted: "x", "order-ok": "triangle-up", differs: "square",
  inconclusive: "circle-open", "not-tested": "line-ns-open",
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A plot with what it shows in words; the table beside it says the same in numbers.
function figure(caption, draw) {
  const place = element("div", { class: "plot", role: "img", "aria-label": caption });
  redraw.push(() => draw(place));
  return element("figure", {}, place, element("figcaption", {}, caption));
}

function layoutOf(height, more) {
  const axis = {
    color: colour("soft"), gridcolor: colour("line"), linecolor: colour("line"),
    zeroline: false, fixedrange: true, automargin: true,
  };
  const layout = {
    height,
    font: { family: "inherit", size: 12.5, color: colour("text") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 8, b: 44 },
    showlegend: false,
    hovermode: "closest",
    dragmode: false,
    hoverlabel: {
      bgcolor: colour("raised"), bordercolor: colour("line"), align: "left",
      font: { color: colour("text"), family: "inherit" },
    },
    ...more,
  };
  for (const key of Object.keys(layout)) if (/^[xy]axis/.test(key)) layout[key] = { ...axis, ...layout[key] };
  return layout;
}

// A point's `customdata` is the address that it leads to; empty if there is none.
function paint(place, traces, layout) {
  window.Plotly.react(place, traces, layout, { displayModeBar: false });
  place.removeAllListeners("plotly_click");
  place.on("plotly_click", ({ points }) => {
    if (points[0].customdata) location.hash = points[0].customdata;
  });
}

// A margin as an interval on the axis, symmetric on the log scale for a cost ratio; a side
// without a bound is left out.
function bandOf({ unit, margin }) {
  if (margin == null) return null;
  if (unit === "ratio") return [1 / (1 + margin), 1 + margin];
  return { below: [null, margin], "at least": [margin, null] }[BOUNDS[unit]] ?? [-margin, margin];
}

// A stretch of one axis over the whole of the other.
function stretch(axis, from, to) {
  const [own, other] = axis.startsWith("x") ? ["x", "y"] : ["y", "x"];
  return {
    layer: "below", [`${own}ref`]: axis, [`${own}0`]: from, [`${own}1`]: to,
    [`${other}ref`]: "paper", [`${other}0`]: 0, [`${other}1`]: 1,
  };
}

const band = (axis, [from, to], fillcolor) =>
  ({ type: "rect", ...stretch(axis, from, to), fillcolor, line: { width: 0 } });
const rule = (axis, at, stroke, dash = "solid") =>
  ({ type: "line", ...stretch(axis, at, at), line: { color: stroke, width: 1, dash } });

// Round ratios for an axis: a log axis labels hardly anything near 1 by itself.
function ratioTicks(low, high, most) {
  if (high / low > 8) return { nticks: most, tickformat: "~r" };
  const steps = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
  const step = steps.find((each) => (high - low) / each <= most) ?? 2;
  const first = Math.ceil(low / step);
  const tickvals = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return { tickvals, ticktext: tickvals.map((value) => value.toFixed(digits)) };
}
