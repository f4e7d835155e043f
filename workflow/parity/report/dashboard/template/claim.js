// One claim: what was published, what came out here, and the cells of its tests.

const SMALLEST = "the smallest margin that these data would have passed";

function ofClaim(verdict) {
  const study = studies[verdict.study];
  return facts([
    ["Published", verdict.published],
    ["Here", verdict.estimate == null ? NONE : estimateText(verdict), "the cell that decides, with its 95 % interval"],
    ["Margin", marginText(verdict), "fixed in the register of claims"],
    ["Smallest margin", marginText(verdict, verdict.smallest_margin), SMALLEST],
    ["Coverage", verdict.coverage, "what was decided of all that the claim speaks of"],
    ["Dataset", verdict.dataset || NONE, verdict.datasets.includes("; ") ? `the one that decides, of ${verdict.datasets}` : ""],
    ["A/A pair", verdict.control, wording.controls[verdict.control]],
    ["Blocks", verdict.blocks || NONE, `the fewest of ${counted(verdict.cells, "cell")}`],
    ["p", pText(verdict.p_value)],
    ["p, adjusted", pText(verdict.p_adjusted), "Holm, within its study and kind"],
    ["Stands in", verdict.proxy],
    ["Study", study ? `${study.authors}: ${study.title}. ${study.venue}, ${study.year}` : verdict.study],
    ["Place", verdict.where],
    ["Kind", verdict.kind, wording.kinds[verdict.kind]],
    ["System", `${verdict.scale}: ${verdict.capability}`, wording.capabilities[verdict.capability]],
    ["Registration", words(verdict.registration), wording.registrations[verdict.registration]],
    ["Fingerprint", code(verdict.fingerprint.slice(0, 16)), "of the rules, the margins, the plan and their program"],
  ], "facts two");
}

const cellName = (cell) => [caseTitle(cell.case), quantityOf(cell.case, cell.metric).label].filter(Boolean).join(", ");

function cellRow(cell) {
  return row([
    cell.case ? link(addressOfCell(cell), armLabel(cell)) : armLabel(cell),
    cellName(cell), cell.dataset, badge(cell.verdict), estimateText(cell), marginText(cell), marginText(cell, cell.smallest_margin),
    cell.blocks, pText(cell.p_value), cell.control,
    (cell.blocks && cell.identity !== "same" ? `${cell.identity}; ` : "") + cell.reason,
  ]);
}

function testPart(number, cells) {
  const { rule } = cells[0];
  const heading = element("h3", {}, `Test ${number}: ${words(rule)}`);
  const drawn = cells.filter(isDrawn);
  const units = [...new Set(drawn.map((cell) => cell.unit))];
  const forests = units.map((unit) => figure(
    "Each line is a cell of this claim: thick, the 90 % interval; thin, the 95 % interval. Band: the margin. "
    + "◇: the reference against itself (the A/A pair). Select a cell to see its runs.",
    (place) => drawForest(place, drawn.filter((cell) => cell.unit === unit))));
  return [heading, ...forests,
    table(`Cells of test ${number}`,
      ["Arm", "Case", "Dataset", "Verdict", "Estimate [95 %]", "Margin", "Smallest margin", "n", "p", "A/A pair", "Reason"],
      cells.map(cellRow), "cells")];
}

function claimView(id) {
  const verdict = claimOf.get(id);
  if (!verdict) return nothing(`There is no claim ${id} in this dataset.`);
  const tests = [...new Set((cellsOf.get(id) ?? []).map((cell) => cell.test))];
  return {
    title: verdict.claim,
    parts: [
      path(["Claims", listAddress], [verdict.claim]),
      element("div", { class: "claim-head" }, badge(verdict.verdict),
        element("span", { class: "small" }, code(verdict.claim))),
      element("h2", { tabindex: "-1" }, verdict.statement),
      element("p", { class: `callout verdict-${verdict.verdict}` }, verdict.reason),
      ofClaim(verdict),
      tests.length ? tests.map((test) => testPart(test, cellsOf.get(id).filter((cell) => cell.test === test)))
        : element("p", {}, "No cell of this dataset bears on this claim."),
    ].flat(2),
  };
}
