// One cell: an arm against another at one case, block by block, each value with the way to its run.

const BETTER = {
  lower: "Lower is better.",
  higher: "Higher is better; a ratio is turned round, so that above 1 costs more.",
};

const keyOf = (cell) => [cell.test, cell.case, cell.metric, cell.arm, cell.against, cell.dataset].join("\n");

function valueLink({ run, value, counts }) {
  if (!run) return NONE;
  const said = value == null ? run.reason || run.stage : significant(value, 5);
  return link(addressOfRun(run), value == null || counts ? said : `${said} (does not count)`);
}

function pairRow(pair, cell) {
  const { number, nodes: names } = pair.block;
  return row([
    names.length > 1 ? `${number} (${names.length} nodes)` : number,
    ...pair.ends.map(valueLink),
    ...(cell.against ? [fixed(pair.ratio, 4), significant(pair.difference, 3)] : []),
    pair.counts ? "yes" : "no",
  ]);
}

function blocksPart(cell, name) {
  const pairs = pairsOf(cell, name);
  if (!pairs.length) return [element("p", {}, `No run of ${caseTitle(name)} belongs to this cell alone.`)];
  const quantity = quantityOf(name, cell.metric);
  const unit = quantity.unit ? ` (${quantity.unit})` : "";
  const bases = basesOf(cell, name).map(armTitle);
  const isToAll = bases.length > 1;
  const below = isToAll
    ? `the cost ratio to the geometric mean of ${bases.join(" and ")}, whose A/A pair passed,`
    : "how the two compare";
  const caption = "Block by block, in the order of the plan: " + (cell.against
    ? `above, ${quantity.label}${unit}; below, ${below} within each block. `
    : `${quantity.label}${unit}. `) + `Select a point to open its run. ${BETTER[quantity.better] ?? ""}`;
  const effects = isToAll ? ["Cost ratio to their mean", `Difference from ${bases[0]}${unit}`]
    : ["Cost ratio", `Difference${unit}`];
  return [
    casesOf(cell).length > 1 ? element("h3", {}, caseTitle(name)) : null,
    figure(caption, (place) => drawBlocks(place, cell, quantity, pairs)),
    table(`Blocks of ${armTitle(cell.arm)}; each value leads to its run`,
      ["Block", ...[armTitle(cell.arm), ...bases].map((arm) => arm + unit), ...(cell.against ? effects : []), "Counts"],
      pairs.map((pair) => pairRow(pair, cell))),
  ];
}

function cellView([claim, ...key]) {
  const cell = (cellsOf.get(claim) ?? []).find((each) => keyOf(each) === key.join("\n"));
  if (!cell) return nothing(`There is no such cell of ${claim} in this dataset.`);
  lastCell = cell;
  const name = `${armTitle(cell.arm)}${cell.against ? ` against ${armTitle(cell.against)}` : ""}`;
  return {
    title: `${armTitle(cell.arm)}, ${caseTitle(cell.case)}`,
    parts: [
      path(["Claims", listAddress], [claim, addressOfClaim(claim)], [armTitle(cell.arm)]),
      element("div", { class: "claim-head" }, badge(cell.verdict),
        element("span", { class: "small" }, `test ${cell.test}: ${words(cell.rule)}`)),
      element("h2", { tabindex: "-1" }, `${name}: ${cellName(cell)}`),
      element("p", { class: `callout verdict-${cell.verdict}` }, cell.reason),
      facts([
        ["Estimate", estimateText(cell), "with its 95 % interval"],
        ["Margin", marginText(cell)],
        ["Smallest margin", marginText(cell, cell.smallest_margin), SMALLEST],
        ["Blocks", cell.blocks],
        ["Dataset", cell.dataset],
        ["p", pText(cell.p_value)],
        ["A/A pair", [cell.control, estimateText(controlOf(cell))].filter((each) => each !== NONE).join(", ")],
        ["Binaries and libraries", cell.identity],
      ], "facts two"),
      cell.case && !isHere(cell)
        ? element("p", {}, `Measured in ${cell.dataset}, whose own page holds its runs.`) : null,
      ...casesOf(cell).flatMap((each) => blocksPart(cell, each)),
    ].filter(Boolean),
  };
}
