// The blocks of a cell: what its arms gave in each, and below how they compare.

// Of the arm, and of the natives that it is compared with.
const END_SYMBOLS = ["circle", "diamond-open", "square-open"];

// The effect within each block, and what the cell's own estimate and margin are on that axis;
// these are drawn only if the estimate is really the mean of these effects.
function effectOf(cell, quantity, pairs) {
  const ratio = isByRatio(cell);
  const effects = pairs.map((pair) => (ratio ? pair.ratio : pair.difference));
  const used = effects.filter((value) => value != null).map((value) => (ratio ? Math.log(value) : value));
  const mean = used.reduce((sum, value) => sum + value, 0) / used.length;
  const [center, factor] = ratio ? [Math.exp(mean), 1] : [mean, quantity.factor];
  const scaled = (value) => (value == null ? null : value * factor);
  const isMean = cell.estimate != null && Math.abs(center - scaled(cell.estimate)) <= 1e-6 * Math.abs(center);
  return {
    ratio, effects,
    limits: isMean ? bandOf({ unit: cell.unit, margin: scaled(cell.margin) }) : null,
    interval: isMean && cell.low95 != null ? [scaled(cell.low95), scaled(cell.high95)] : null,
    estimate: isMean ? scaled(cell.estimate) : null,
  };
}

function drawBlocks(place, cell, quantity, pairs) {
  const at = pairs.map((_, number) => number + 1);
  const compared = pairs.some((pair) => pair.difference != null);
  const points = (name, values, end, symbol, ink, more = {}) => ({
    type: "scatter", mode: "markers", name, x: at, y: values,
    customdata: pairs.map(({ ends }) => (ends[end].run ? addressOfRun(ends[end].run) : "")),
    text: pairs.map((pair) => pair.block.number),
    hovertemplate: `<b>${name}</b>, block %{text}<br>%{y:.5~g}<extra></extra>`,
    marker: { size: 8.5, opacity: 1, symbol, color: ink, line: { width: 1.5, color: ink } },
    ...more,
  });
  const joined = {
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, line: { width: 1, color: colour("line") },
    x: pairs.flatMap((pair, place) => [...pair.ends.map(() => at[place]), null]),
    y: pairs.flatMap((pair) => [...pair.ends.map((end) => end.value), null]),
  };
  const ofArms = pairs[0].ends.map(({ arm }, end) => points(
    armTitle(arm), pairs.map((pair) => pair.ends[end].value), end,
    END_SYMBOLS[end], colour(end ? "soft" : "arm")));
  const traces = [joined, ...ofArms.slice(1), ofArms[0]];
  const axes = {
    xaxis: {
      title: { text: "block, in the order of the plan", standoff: 8 }, range: [0.2, at.length + 0.8],
      anchor: compared ? "y2" : "y", showgrid: false, nticks: 10, tickformat: "d",
    },
    yaxis: { domain: compared ? [0.52, 1] : [0, 1], title: { text: quantity.unit || quantity.label }, nticks: 5 },
    shapes: [],
  };
  if (compared) {
    const effect = effectOf(cell, quantity, pairs);
    const name = effect.ratio ? "cost ratio" : `difference (${quantity.unit})`;
    traces.push(points(name, effect.effects, 0, "circle", colour("arm"), { yaxis: "y2", showlegend: false }));
    axes.yaxis2 = { domain: [0, 0.42], title: { text: name }, nticks: 5 };
    axes.shapes = [
      ...(effect.limits ? [band("y2", effect.limits, colour("band"))] : []),
      ...(effect.interval ? [band("y2", effect.interval, colour("interval"))] : []),
      ...(effect.estimate == null ? [] : [rule("y2", effect.estimate, colour("arm"))]),
      rule("y2", effect.ratio ? 1 : 0, colour("soft"), "dot"),
    ];
  }
  paint(place, traces, layoutOf(compared ? 460 : 300, {
    ...axes, margin: { l: 8, r: 12, t: 30, b: 44 }, showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
  }));
}
