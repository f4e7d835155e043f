// The answer first: every comparison that a study planned, of all archives, runtimes beside cases.

const systemOf = (cell) => archiveOf(cell).systems.join(", ");

// The weightiest first: that with most blocks; of several, that with the narrowest interval.
function byWeight(cells) {
  const width = ({ unit, low95, high95 }) =>
    (low95 == null ? Infinity : isRatio(unit) ? Math.log(high95 / low95) : high95 - low95);
  return [...cells].sort((a, b) => b.blocks - a.blocks || width(a) - width(b));
}

function runtimeTitle(runtime) {
  const cells = comparisons.filter((cell) => cell.runtime === runtime);
  const titles = new Set(cells.map((cell) => armTitle(cell)));
  return (titles.size === 1 ? [...titles][0] : capital(runtime)) + (cells[0].is_control ? " (A/A)" : "");
}

// How comparisons ended, in the order of the footer: `2 equivalent, 1 inconclusive`.
const endings = (cells) => Object.keys(outcomes)
  .map((name) => [cells.filter((cell) => cell.verdict === name).length, name])
  .filter(([count]) => count).map(([count, name]) => `${count} ${words(name)}`).join(", ");

// What a cell says in few words: the outcome, the numbers, and how others that it stands for ended.
function answer(cells, hasArms, hasSystems) {
  if (!cells) return element("td", { class: "nothing" }, element("span", { "aria-label": "not measured", role: "img" }, NONE));
  const [first, ...others] = byWeight(cells);
  const doubt = doubts(first);
  const facts = [
    first.blocks ? `n ${first.blocks}` : first.reason, first.margin == null ? "" : marginText(first),
    hasArms ? armTitle(first).replace(/^.*\((.*)\)$/, "$1") : "", hasSystems ? systemOf(first).replace(/ \(.*/, "") : "",
  ];
  return element("td", { class: `answer verdict-${first.verdict}` },
    element("a", { href: addressOfCompared(first) }, badge(first.verdict),
      first.estimate == null ? null : element("span", { class: "estimate" }, estimateText(first).replace(", ", ",\u00a0"))),
    element("span", { class: "small" }, facts.filter(Boolean).join(" · ")),
    others.length ? element("span", { class: "small" }, `also ${endings(others)}`) : null,
    doubt ? element("strong", { class: "doubt" }, `⚠ ${doubt}`) : null);
}

// Where the same thing measured twice differs, nothing else that was measured there says anything.
function alarm() {
  const failing = plannedHere().filter((cell) => cell.is_control && cell.control === "different");
  return failing.length === 0 ? [] : [
    element("h2", {}, `⚠ The reference differs from itself in ${counted(failing.length, "case")}: nothing is concluded there`),
    element("ul", {}, failing.map((cell) => element("li", {},
      link(addressOfCell(cell), `${cellName(cell)}, ${shortName(cell.dataset)}`), `: ${estimateText(cell)}, margin ${marginText(cell)}`))),
  ];
}

const rowKey = (cell) => `${cell.case}\n${cell.metric}`;

function matrixTable(measured) {
  const columns = grouped(measured, (cell) => cell.runtime);
  const hasArms = (runtime) => new Set(columns.get(runtime).map((cell) => cell.arm)).size > 1;
  // The A/A pair first, then what was measured most widely.
  const rank = (runtime) => (columns.get(runtime)[0].is_control ? Infinity : new Set(columns.get(runtime).map(rowKey)).size);
  const runtimes = [...columns.keys()].sort((a, b) => (rank(a) === rank(b) ? a.localeCompare(b) : rank(b) - rank(a)));
  const hasSystems = new Set(measured.map(systemOf)).size > 1;
  const benchmarkOf = (cell) => archiveOf(cell).cases[cell.case].benchmark_title;
  const rows = [...grouped(measured, rowKey).values()].sort(([a], [b]) => benchmarkOf(a).localeCompare(benchmarkOf(b)));
  return table("Cost against the reference by runtime and case", ["Case", ...runtimes.map(runtimeTitle)], rows.map((own) => {
    const of = grouped(own, (cell) => cell.runtime);
    const { levels } = archiveOf(own[0]).cases[own[0].case];
    return row([
      [element("b", {}, benchmarkOf(own[0])), element("span", { class: "small" }, [levels, quantityOf(own[0]).label].filter(Boolean).join("; "))],
      ...runtimes.map((runtime) => answer(of.get(runtime), hasArms(runtime), hasSystems)),
    ]);
  }), "matrix");
}

const plannedHere = () => comparisons.filter((cell) => cell.planned && (!chosen.system || systemOf(cell) === chosen.system));

// Those that say what is searched, and the A/A pairs of what they were measured with.
function foundComparisons() {
  const here = plannedHere();
  const beside = (cell) => `${cell.dataset}\n${rowKey(cell)}`;
  const found = new Set(here.filter((cell) => isFound(saidOf(cell))));
  const rows = new Set([...found].map(beside));
  return here.filter((cell) => found.has(cell) || (cell.is_control && rows.has(beside(cell))));
}

function notMeasured(shown) {
  const measured = new Set(shown.filter((cell) => cell.blocks).map((cell) => cell.runtime));
  const gaps = new Map(shown.filter((cell) => !measured.has(cell.runtime)).map((cell) => [armTitle(cell), cell.reason]));
  return gaps.size ? element("p", { class: "small" }, `Not tested: ${[...gaps].map(([arm, reason]) => `${arm} (${reason})`).join(", ")}.`) : null;
}

function fillMatrix() {
  const shown = foundComparisons();
  const measured = shown.filter((cell) => cell.blocks);
  const bounded = measured.filter((cell) => cell.is_asked && cell.margin != null);
  const costs = ["costs-more", "costs-less"].filter((name) => !bounded.some((cell) => cell.verdict === name));
  document.querySelector(".found-comparisons").textContent = bounded.length
    ? `Of ${counted(bounded.length, "comparison")} with a margin: ${[endings(bounded), ...costs.map((name) => `0 ${words(name)}`)].join(", ")}.`
    : `${measured.length || "No"} comparisons, none with a margin.`;
  document.getElementById("alarm").replaceChildren(...alarm());
  document.getElementById("matrix").replaceChildren(...[
    measured.length ? matrixTable(measured) : null, notMeasured(shown)].filter(Boolean));
}
