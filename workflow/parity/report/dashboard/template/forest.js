// The forest of a test: every cell with its intervals, the margin, and the A/A pair of each case.

const controlOf = (cell) => ({
  estimate: cell.control_estimate, low95: cell.control_low95, high95: cell.control_high95, unit: cell.unit,
});
const isDrawn = (cell) => cell.estimate != null && cell.low95 != null && cell.high95 != null;

function armLabel(cell) {
  const other = cell.against && cell.against !== dataset.reference;
  return armTitle(cell.arm) + (other ? ` against ${armTitle(cell.against)}` : "");
}

// From top to bottom: for each case and metric a heading, its A/A pair, and its cells.
function forestRows(cells) {
  const rows = [];
  for (const name of new Set(cells.map(cellName))) {
    const own = cells.filter((cell) => cellName(cell) === name);
    rows.push({ heading: name });
    const control = own.find((cell) => cell.control_estimate != null);
    if (control) {
      const look = { symbol: "diamond-open", ink: colour("soft"), href: "" };
      rows.push({ ...controlOf(control), ...look, label: "A/A pair", verdict: control.control });
    }
    for (const cell of own) {
      const look = { symbol: SYMBOLS[cell.verdict], ink: colour(cell.verdict), href: addressOfCell(cell) };
      rows.push({ ...cell, ...look, label: armLabel(cell) });
    }
  }
  return rows.map((each, at) => ({ ...each, y: -at }));
}

const whisker = (each, from, to, width) => ({
  type: "scatter", mode: "lines", hoverinfo: "skip",
  x: [each[from], each[to]], y: [each.y, each.y], line: { width, color: each.ink },
});

const marks = (shown) => ({
  type: "scatter", mode: "markers",
  x: shown.map((each) => each.estimate),
  y: shown.map((each) => each.y),
  customdata: shown.map((each) => each.href),
  text: shown.map((each) => `<b>${each.label}</b>: ${words(each.verdict)}<br>${estimateText(each)}`),
  hovertemplate: "%{text}<extra></extra>",
  marker: {
    size: 11, opacity: 1, symbol: shown.map((each) => each.symbol), color: shown.map((each) => each.ink),
    line: { width: 2, color: shown.map((each) => each.ink) },
  },
});

function forestAxis(ratio, values, unit, ticks) {
  const ends = values.filter((value) => Number.isFinite(value) && (!ratio || value > 0))
    .map((value) => (ratio ? Math.log10(value) : value));
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const pad = (high - low || 1) * 0.06;
  return {
    type: ratio ? "log" : "linear",
    range: [low - pad, high + pad],
    title: { text: unit === "ratio" ? "ratio (above 1 costs more)" : unit, standoff: 8 },
    ...(ratio ? ratioTicks(10 ** (low - pad), 10 ** (high + pad), ticks) : { nticks: ticks }),
  };
}

function drawForest(place, cells) {
  const narrow = place.clientWidth < 480; // There names stand above their lines, not beside them.
  const rows = forestRows(cells);
  const shown = rows.filter((each) => !each.heading);
  const { unit } = cells[0];
  const none = isRatio(unit) ? 1 : 0;
  const limits = bandOf(cells.find((cell) => cell.margin != null) ?? {});
  const ends = [none, ...(limits ?? []), ...shown.flatMap((each) => [each.low95, each.high95, each.estimate])];
  const xaxis = forestAxis(isRatio(unit), ends, unit, narrow ? 4 : 7);
  const edges = isRatio(unit) ? xaxis.range.map((end) => 10 ** end) : xaxis.range;
  const within = limits?.map((limit, side) => limit ?? edges[side]);
  paint(place,
    [
      ...shown.map((each) => whisker(each, "low95", "high95", 1.6)),
      ...shown.filter((each) => each.low90 != null).map((each) => whisker(each, "low90", "high90", 4.5)),
      marks(shown),
    ],
    layoutOf(rows.length * (narrow ? 1.5 : 1) * PLOT_ROW + 60, {
      xaxis,
      yaxis: {
        showticklabels: !narrow, tickvals: shown.map((each) => each.y), ticktext: shown.map((each) => each.label),
        range: [0.4 - rows.length, 0.6], showgrid: false,
      },
      shapes: [...(within ? [band("x", within, colour("band"))] : []), rule("x", none, colour("soft"), "dot")],
      annotations: rows.filter((each) => each.heading || narrow).map((each) => ({
        text: each.heading ? `<b>${each.heading}</b>` : each.label,
        x: 0, xref: "paper", xanchor: "left", y: each.y, yref: "y", showarrow: false,
        ...(each.heading ? { bgcolor: colour("page"), borderpad: 1 } : { yshift: 13 }),
      })),
    }));
}
