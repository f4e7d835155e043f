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
    ...pair.effects.map((effect) => (cell.isByRatio ? fixed(effect, 4) : significant(effect, 3))),
    pair.counts ? "yes" : "no",
  ]);
}

function blocksPart(cell, name) {
  const pairs = pairsOf(cell, name);
  if (!pairs.length) return [element("p", {}, `No run of ${caseTitle(cell, name)} belongs to this cell alone.`)];
  const quantity = quantityOf(cell);
  const unit = quantity.unit ? ` (${quantity.unit})` : "";
  const bases = basesOf(cell, name).map((arm) => armTitle(cell, arm));
  const each = bases.length > 1 ? ", each of which has to agree," : "";
  const caption = "Block by block, in the order of the plan" + (bases.length
    ? `; below, the ${effectName(cell, quantity)} ${bases.join(" and ")}${each} within each block, with the margin and the 95 % interval. ` : ". ")
    + `Select a point to open its run. ${BETTER[quantity.better] ?? ""}`;
  const effects = bases.map((base) => capital(`${effectName(cell, quantity)} ${base}`));
  return [
    casesOf(cell).length > 1 ? element("h2", {}, caseTitle(cell, name)) : null,
    blocksFigure(cell, quantity, pairs, caption),
    table(`Blocks of ${armTitle(cell)}, ${caseTitle(cell, name)}; each value leads to its run`,
      ["Block", ...[armTitle(cell), ...bases].map((arm) => arm + unit), ...effects, "Counts"],
      pairs.map((pair) => pairRow(pair, cell))),
  ];
}

// A simulated program has no runs: it meets the events of the runs of a case.
function replayedPart(cell) {
  const isOf = (each) => ["replay", "injected"].some((how) => cell.case.startsWith(`${each}-${how}-`));
  const name = Object.keys(archiveOf(cell).cases).find(isOf);
  if (!name) return [];
  const pairs = pairsOf(cell, name);
  // An arm that meets more events than were recorded is made of the other one's runs.
  const arms = [...new Set(pairs.flatMap(({ ends }) => ends.filter(({ run }) => run).map(({ arm }) => arm)))];
  return [
    element("p", {}, `Simulated ranks that meet the events of ${caseTitle(cell, name)}, block by block.`),
    table("Runs whose events are replayed", ["Block", ...arms.map((arm) => armTitle(cell, arm))],
      pairs.map((pair) => row([pair.block.number, ...pair.ends.filter(({ arm }) => arms.includes(arm)).map(valueLink)]))),
  ];
}

// Of a claim's cell and of a comparison, from which both ways lead to the same runs.
function cellView(cell, above, head) {
  lastCell = cell;
  return {
    title: `${armTitle(cell)}, ${caseTitle(cell)}`,
    parts: [
      path(["Start", startAddress], above, [armTitle(cell)]),
      element("div", { class: "claim-head" }, badge(cell.verdict, costText(cell)), element("span", { class: "small" }, head)),
      element("h1", { tabindex: "-1" }, `${armTitle(cell)}${cell.against ? ` against ${armTitle(cell, cell.against)}` : ""}: ${cellName(cell)}`),
      element("p", { class: `callout verdict-${cell.verdict}` },
        [doubts(cell), cell.reason || outcomes[cell.verdict][1]].filter(Boolean).join("; ")),
      facts([
        ["Estimate", estimateText(cell), "with its 95 % interval"],
        ["Margin", marginText(cell)],
        ["Smallest margin", marginText(cell, cell.smallest_margin), SMALLEST],
        ["Blocks", cell.blocks],
        ["Dataset", cell.dataset],
        ["p", pText(cell.p_value)],
        ["A/A pair", [words(cell.control), estimateText(controlOf(cell))].filter((each) => each !== NONE).join(", ")],
        ["Binaries and libraries", cell.identity],
      ], "facts two"),
      ...(casesOf(cell).length ? casesOf(cell).flatMap((each) => sidesOf(cell).flatMap((side) => blocksPart(side, each))) : replayedPart(cell)),
    ].filter(Boolean),
  };
}

function claimCellView([claim, ...key]) {
  const cell = (cellsOf.get(claim) ?? []).find((each) => keyOf(each) === key.join("\n"));
  if (!cell) return nothing(`There is no such cell of ${claim} in these data.`);
  return cellView(cell, [claim, addressOfClaim(claim)], `test ${cell.test}: ${words(cell.rule)}`);
}

function comparisonView(key) {
  const cell = comparisons.find((each) => addressOfCell(each) === address("comparison", ...key));
  if (!cell) return nothing("There is no such comparison in these data.");
  return cellView(cell, [`${runtimeTitle(cell.runtime)}, ${caseTitle(cell)}`, addressOfCompared(cell)], shortName(cell.dataset));
}
