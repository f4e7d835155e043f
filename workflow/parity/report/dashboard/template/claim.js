// One claim: what was published, what came out here, and the cells of its tests.

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
    ["Blocks", verdict.blocks || NONE, `of the cell that decides, of ${counted(verdict.cells, "cell")}`],
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

function claimView(id) {
  if (!verdictsOf.has(id)) return nothing(`There is no claim ${id} in this dataset.`);
  const judged = judgementsOf(verdictsOf.get(id));
  const [{ claim, statement }] = judged;
  return {
    title: claim,
    parts: [
      path(["Start", startAddress], [claim]),
      element("div", { class: "claim-head" }, [...new Set(judged.map(({ verdict }) => verdict))].map((verdict) => badge(verdict)),
        element("span", { class: "small" }, code(claim))),
      element("h1", { tabindex: "-1" }, statement),
      ...judged.flatMap((verdict) => judgement(verdict, judged.length > 1)),
    ],
  };
}

// What came out on one system; its name where there are several.
function judgement(verdict, isOneOfSeveral) {
  const own = (cellsOf.get(verdict.claim) ?? []).filter(({ judged }) => judged === verdict.judged);
  const tests = [...grouped(own, (cell) => cell.test)];
  const where = isOneOfSeveral ? ` on ${judgedOn(verdict)}` : "";
  return [
    where ? element("h2", {}, `${capital(words(verdict.verdict))}${where}`) : null,
    element("p", { class: `callout verdict-${verdict.verdict}` }, verdict.reason),
    ofClaim(verdict),
    ...tests.flatMap(([test, cells]) => [
      element(where ? "h3" : "h2", {}, `Test ${test}: ${words(cells[0].rule)}`), ...forests(`Cells of test ${test}${where}`, cells),
    ]),
    tests.length ? element("p", { class: "small" }, "Band: the margin. Thick line: the 90 % interval; thin line: the 95 % interval.")
      : element("p", {}, "No cell of these data bears on this claim."),
  ].filter(Boolean);
}
