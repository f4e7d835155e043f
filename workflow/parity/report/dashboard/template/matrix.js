// The answer first: every comparison that a study planned, of all archives, runtimes beside cases;
// beside benchmarks where there are more cases than anybody reads.

const MOST_LINES = 24;
const MOST_COLUMNS = 7; // What a screen of 1400 pixels holds; the runtimes that are left share one more.

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
  const stems = new Set([...titles].map((title) => title.replace(/(,| \().*/, "")));
  const [title] = [titles, stems].map((names) => (names.size === 1 ? [...names][0] : "")).filter(Boolean);
  const kind = cells[0].is_control ? " (A/A)" : runtime.endsWith(VARIANT) ? ", variants" : "";
  return (title ?? capital(runtime.replace(VARIANT, ""))) + kind;
}

// What comparisons say, in the order of the footer: `2 at most, 1 cannot tell`.
const endings = (cells) => Object.keys(outcomes)
  .map((name) => [cells.filter((cell) => cell.verdict === name).length, name])
  .filter(([count]) => count).map(([count, name]) => `${count} ${inNumber(count, name)}`).join(", ");
const IN_ALL = { "at-most": "at most 10\u2009%" };
const inNumber = (count, name) => IN_ALL[name] ?? words(count === 1 ? name : name.replace(/^(cost|save)s/, "$1"));
const sameText = (cells) => {
  const count = cells.filter(({ same }) => same).length;
  return count ? `${count} the same` : "";
};
// `costs 0.5 to 1.3 %`, `at most 1.3 %`: what a comparison says of the cost.
const costText = ({ verdict, bound }) => [words(verdict), verdict === "cannot-tell" && bound ? `(±${bound})` : bound].filter(Boolean).join(" ");

const noAnswer = () => element("td", { class: "nothing" }, element("span", { "aria-label": "not measured", role: "img" }, NONE));

// What a cell says in few words: the outcome, the numbers, and how others that it stands for ended.
function answer(cells, hasArms, hasSystems) {
  const [first, ...others] = byWeight(cells);
  const doubt = doubts(first);
  const facts = [
    first.blocks ? `n ${first.blocks}` : first.reason, first.same ? "the same" : "", first.margin == null ? "" : marginText(first),
    hasArms ? armTitle(first).replace(/^.*\((.*)\)$/, "$1") : "", hasSystems ? systemOf(first).replace(/ \(.*/, "") : "",
  ];
  return element("td", { class: `answer verdict-${first.verdict}` },
    element("a", { href: addressOfCompared(first) }, badge(first.verdict, costText(first)),
      first.estimate == null ? null : element("span", { class: "estimate" }, estimateText(first).replace(", ", ",\u00a0"))),
    element("span", { class: "small" }, facts.filter(Boolean).join(" · ")),
    others.length ? element("span", { class: "small" }, `also ${endings(others)}`) : null,
    doubt ? element("strong", { class: "doubt" }, `⚠ ${doubt}`) : null);
}

// How all cases of a benchmark ended in one runtime, and the ratio that is known best.
function answers(cells, hasSystems) {
  const found = [...grouped(cells, (cell) => cell.verdict)].sort(([a], [b]) => Object.keys(outcomes).indexOf(a) - Object.keys(outcomes).indexOf(b));
  const ratios = cells.filter((cell) => isRatio(cell.unit) && cell.estimate != null);
  const bounded = ratios.filter(({ low95 }) => low95 != null);
  const costs = bounded.filter((cell) => cell.is_counted);
  const [most] = byWeight([costs, bounded, ratios].find((those) => those.length) ?? []);
  const weightiest = found.reduce((best, each) => (each[1].length > best[1].length ? each : best))[0];
  const facts = most && [sameText(cells), cells.length > 1 ? "best known" : "", `n ${most.blocks}`, most.margin == null ? "" : marginText(most), hasSystems ? systemOf(most).replace(/ \(.*/, "") : ""];
  const doubt = [...new Set(cells.map(doubts).filter(Boolean))].join("; ");
  return element("td", { class: `answer verdict-${weightiest}` },
    element("a", { href: addressOfBenchmark(cells[0]) },
      found.map(([name, own]) => badge(name, `${own.length} ${inNumber(own.length, name)}`)),
      most ? element("span", { class: "estimate" }, estimateText(most).replace(", ", ",\u00a0")) : null),
    most ? element("span", { class: "small" }, facts.filter(Boolean).join(" · ")) : null,
    doubt ? element("strong", { class: "doubt" }, `⚠ ${doubt}`) : null);
}

// Runtimes without a column of their own, a line each.
const otherAnswers = (of, runtimes) => element("td", {}, runtimes.filter((runtime) => of.has(runtime)).map((runtime) => element("p", { class: "small" },
  link(addressOfBenchmark(of.get(runtime)[0]), runtimeTitle(runtime)), `: ${endings(of.get(runtime))}`)));

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
const benchmarkOf = (cell) => archiveOf(cell).cases[cell.case].benchmark_title;
// Programs that people run first, then as figures are ordered.
const byOrder = ([a], [b]) => archiveOf(a).cases[a.case].order - archiveOf(b).cases[b.case].order || benchmarkOf(a).localeCompare(benchmarkOf(b));
const largest = (cells) => Math.max(0, ...cells.filter((cell) => cell.is_counted).map((cell) => cell.high90 ?? Infinity));
const ORDERS = { bound: (a, b) => largest(b) - largest(a) || byOrder(a, b), name: ([a], [b]) => benchmarkOf(a).localeCompare(benchmarkOf(b)) };

// The A/A pair first, then the runtimes that were measured most widely.
function runtimesByWidth(columns) {
  const count = (runtime, key) => new Set(columns.get(runtime).map(key)).size;
  const rank = (runtime) => (columns.get(runtime)[0].is_control ? Infinity
    : 1e6 * count(runtime, benchmarkOf) + count(runtime, rowKey) - (runtime.endsWith(VARIANT) ? 1e9 : 0));
  return [...columns.keys()].sort((a, b) => (rank(a) === rank(b) ? a.localeCompare(b) : rank(b) - rank(a)));
}

function lineTitle(own, isOfCases) {
  const { levels } = archiveOf(own[0]).cases[own[0].case];
  const said = isOfCases ? [levels, quantityOf(own[0]).label].filter(Boolean).join("; ") : counted(new Set(own.map((cell) => cell.case)).size, "case");
  return [element("b", {}, benchmarkOf(own[0])), element("span", { class: "small" }, said)];
}

function matrixTable(measured) {
  const columns = grouped(measured, (cell) => cell.runtime);
  const hasArms = (runtime) => new Set(columns.get(runtime).map((cell) => cell.arm)).size > 1;
  const runtimes = runtimesByWidth(columns);
  const [own, others] = runtimes.length > MOST_COLUMNS + 1 ? [runtimes.slice(0, MOST_COLUMNS), runtimes.slice(MOST_COLUMNS)] : [runtimes, []];
  const hasSystems = new Set(measured.map(systemOf)).size > 1;
  const isOfCases = new Set(measured.map(rowKey)).size <= MOST_LINES;
  const lines = [...grouped(measured, isOfCases ? rowKey : benchmarkOf).values()].sort(ORDERS[chosen.sort] ?? byOrder);
  const said = (cells, runtime) => {
    if (!cells) return noAnswer();
    return isOfCases ? answer(cells, hasArms(runtime), hasSystems) : answers(cells, hasSystems);
  };
  const heads = [isOfCases ? "Case" : "Benchmark", ...own.map(runtimeTitle), ...(others.length ? ["Other arms"] : [])];
  return table(`Cost against the reference by runtime and ${isOfCases ? "case" : "benchmark"}`, heads, lines.map((cells) => {
    const of = grouped(cells, (cell) => cell.runtime);
    return row([lineTitle(cells, isOfCases), ...own.map((runtime) => said(of.get(runtime), runtime)), ...(others.length ? [otherAnswers(of, others)] : [])]);
  }), "matrix");
}

// Whether a cost above what is chosen is not ruled out.
const mayCostMore = ({ unit, high90 }) => !chosen.above || (isRatio(unit) && (high90 ?? Infinity) > 1 + Number(chosen.above));

const plannedHere = () => comparisons.filter((cell) => cell.planned && (!chosen.system || systemOf(cell) === chosen.system));

// Those that say what is searched, and the A/A pairs of what they were measured with.
function foundComparisons() {
  const here = plannedHere();
  const beside = (cell) => `${cell.dataset}\n${rowKey(cell)}`;
  const found = new Set(here.filter((cell) => isFound(saidOf(cell)) && mayCostMore(cell)));
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
  const costs = measured.filter((cell) => cell.is_counted);
  const none = ["costs", "saves"].filter((name) => !costs.some((cell) => cell.verdict === name));
  document.querySelector(".found-comparisons").textContent = costs.length
    ? `${counted(costs.length, "cost")} of runtimes as a site offers them: ${[endings(costs), ...none.map((name) => `0 ${inNumber(0, name)}`), sameText(costs)].filter(Boolean).join(", ")}.`
    : `${measured.length || "No"} comparisons, none of a runtime's cost.`;
  document.getElementById("alarm").replaceChildren(...alarm());
  document.getElementById("matrix").replaceChildren(...[
    measured.length ? matrixTable(measured) : null, notMeasured(shown)].filter(Boolean));
}
