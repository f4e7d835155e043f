// Comparisons as a table that is a forest as well: each line with its interval on a common axis,
// after the A/A pair of its case. Claims and the matrix both lead here.

const SMALLEST = "the smallest margin that these data would have passed";
const CONFOUNDED = ["binary differs", "libraries differ"];

const cellName = (cell) => [caseTitle(cell), quantityOf(cell).label].filter(Boolean).join(", ");
const controlOf = (cell) => ({
  ...cell, arm: "", estimate: cell.control_estimate, low95: cell.control_low95, high95: cell.control_high95, low90: null, high90: null,
  verdict: cell.control === "different" ? "differs" : cell.control, blocks: null, smallest_margin: null,
});

function armLabel(cell) {
  const other = cell.against && cell.against !== archiveOf(cell).reference;
  return armTitle(cell) + (other ? ` against ${armTitle(cell, cell.against)}` : "");
}

// What stands against taking a comparison at its word.
const doubts = (cell) => [
  CONFOUNDED.includes(cell.identity) ? `confounded: ${cell.identity}` : "",
  cell.blocks && cell.identity === "not recorded" ? "binary not recorded" : "",
  cell.control === "different" ? "A/A fails: the reference differs from itself" : "",
].filter(Boolean).join("; ");

const marginsText = (cell) => [
  marginText(cell), cell.smallest_margin == null ? "" : `${marginText(cell, cell.smallest_margin)} would pass`,
].filter(Boolean).join("; ");

function cellRow(cell, scale) {
  return row([
    cell.case ? link(addressOfCell(cell), armLabel(cell)) : armLabel(cell),
    cellName(cell), shortName(cell.dataset), badge(cell.verdict, costText(cell)), strip(cell, scale) ?? "", estimateText(cell), marginsText(cell),
    cell.blocks, words(cell.control), [doubts(cell), cell.reason].filter(Boolean).join("; "),
  ]);
}

const controlRow = (cell, scale) => row([
  "A/A pair", cellName(cell), shortName(cell.dataset), badge(cell.verdict),
  strip(cell, scale) ?? "", estimateText(cell), "", "", "", "",
], { class: "control" });

const axis = (scale, unit) => element("span", { class: "axis" },
  element("span", {}, unit === "ratio" ? "Ratio: right of the dotted line costs more" : `Difference${unit ? ` (${unit})` : ""}`),
  svg("svg", { class: "strip", "aria-hidden": "true" }, ...scale.ticks.filter(([value]) => Math.abs(scale.place(value) - 0.5) < 0.42).map(([value, text]) =>
    svg("text", { x: `${100 * scale.place(value)}%`, y: 13, class: "tick" }, text))));

// One table for each unit, because lines of several have no axis in common.
function forests(caption, cells) {
  const units = new Set(cells.map(({ unit }) => unit)).size;
  return [...grouped(cells, (cell) => cell.unit)].map(([unit, own]) => {
    const controls = new Map(own.filter((cell) => !cell.is_control && cell.control_estimate != null)
      .map((cell) => [`${cell.dataset}\n${cellName(cell)}`, controlOf(cell)]));
    const scale = scaleOfCells([...own, ...controls.values()], unit);
    const rows = [...grouped(own, (cell) => `${cell.dataset}\n${cellName(cell)}`)].flatMap(([key, alike]) => [
      ...(controls.has(key) ? [controlRow(controls.get(key), scale)] : []), ...alike.map((cell) => cellRow(cell, scale)),
    ]);
    return table(units > 1 ? `${caption}, ${unit || "no unit"}` : caption, ["Arm", "Case", "Dataset", "Outcome", axis(scale, unit), "Estimate [95 %]", "Margin", "n", "A/A pair", "Reason"], rows, "cells");
  });
}

// What a cell of the matrix stands for: a runtime in a case or in a benchmark, in all archives.
const caseView = ([runtime, name]) => comparedView(runtime, name, (cell) => cell.case === name, caseTitle);
const benchmarkView = ([runtime, name]) =>
  comparedView(runtime, name, (cell) => archiveOf(cell).cases[cell.case].benchmark === name, benchmarkOf);

function comparedView(runtime, name, isOf, titleOf) {
  const found = comparisons.filter((cell) => cell.runtime === runtime && isOf(cell));
  if (!found.length) return nothing(`There is no comparison of ${runtime} in ${name}.`);
  const [planned, others] = [found.filter((cell) => cell.planned), found.filter((cell) => !cell.planned)];
  const title = `${runtimeTitle(runtime)}, ${titleOf(found[0])}`;
  return {
    title,
    parts: [
      path(["Start", startAddress], [title]),
      element("h1", { tabindex: "-1" }, title),
      element("p", {}, "Band: the margin. Thick line: the 90 % interval; thin line: the 95 % interval. An arm leads to its blocks and runs."),
      ...[...grouped(planned, (cell) => cell.metric).values()].flatMap((cells) => {
        const { label } = quantityOf(cells[0]);
        return [element("h2", {}, capital(label)), ...forests(`${capital(label)} against the reference`, byWeight(cells))];
      }),
      others.length ? element("details", { open: !planned.length },
        element("summary", {}, `${counted(others.length, "other number")} of the same runs, by which no study compares`),
        table("Other numbers of the same runs", ["Arm", "Quantity", "Dataset", "Ratio, or difference in its unit [95 %]", "n"], others.map((cell) => row([
          link(addressOfCell(cell), armTitle(cell)), quantityOf(cell).label, shortName(cell.dataset), estimateText(cell) + (cell.unit === "ratio" ? " times" : ""), cell.blocks,
        ])))) : null,
    ].filter(Boolean),
  };
}
