// The page's content, unpacked: texts instead of their numbers, and what belongs together joined.

const content = JSON.parse(document.getElementById("content").textContent);
const { dataset, studies, verdicts, evidence, wording, arms, cases, quantities, nodes } = content;

const textFields = new Set(content.fields.texts);

function unpackRun(row) {
  const run = {};
  content.fields.all.forEach((name, place) => {
    run[name] = textFields.has(name) ? content.texts[row[place]] : row[place];
  });
  run.command = run.command.map((word) => content.texts[word]);
  const values = new Map();
  for (let place = 0; place < run.metrics.length; place += 2) {
    values.set(content.texts[run.metrics[place]], run.metrics[place + 1]);
  }
  run.metrics = values;
  return run;
}

function grouped(rows, keyOfRow) {
  const found = new Map();
  for (const each of rows) {
    const key = keyOfRow(each);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(each);
  }
  return found;
}

const runs = content.runs.map(unpackRun);
const blockOf = new Map(content.blocks.map((block, place) => [block.block, { ...block, place }]));
const claimOf = new Map(verdicts.map((verdict) => [verdict.claim, verdict]));
const cellsOf = grouped(evidence, (cell) => cell.claim);
const runsOf = grouped(runs, (run) => `${run.case}\n${run.arm}`);
for (const found of runsOf.values()) {
  found.sort((a, b) => blockOf.get(a.block).place - blockOf.get(b.block).place || a.attempt - b.attempt);
}

const armTitle = (arm) => arms[arm] ?? arm;
// A cell of another dataset of this system has its runs on that one's page.
const isHere = (cell) => cell.dataset === dataset.name;
// A cell may rest on several cases.
const casesOf = (cell) => (isHere(cell) ? cell.case.split(" + ").filter(Boolean) : []);
const caseTitle = (name) => name.split(" + ").map((each) => cases[each]?.title ?? each).join(" + ");
const quantityOf = (caseName, metric) =>
  quantities[`${cases[caseName.split(" + ")[0]]?.benchmark}/${metric}`]
  ?? { label: metric, unit: "", recorded: "", factor: 1, better: "" };
const runsOfCell = (caseName, arm) => runsOf.get(`${caseName}\n${arm}`) ?? [];
const isControl = (arm) => arm === dataset.double;

// A run's number of one metric, in the unit that the page shows.
function valueOf(run, caseName, metric) {
  const value = run?.metrics.get(metric);
  return value == null ? null : value * quantityOf(caseName, metric).factor;
}

// One row per block of a case of a cell: the last attempts of both arms, their values and effect.
function pairsOf(cell, caseName) {
  const last = (arm) => new Map(runsOfCell(caseName, arm).map((run) => [run.block, run]));
  const [ofArm, ofBase] = [last(cell.arm), last(cell.against)];
  const inverse = quantityOf(cell.case, cell.metric).better === "higher";
  return [...new Set([...ofArm.keys(), ...ofBase.keys()])]
    .sort((a, b) => blockOf.get(a).place - blockOf.get(b).place)
    .map((block) => {
      const [run, base] = [ofArm.get(block), ofBase.get(block)];
      const value = valueOf(run, caseName, cell.metric);
      const baseValue = valueOf(base, caseName, cell.metric);
      const counts = Boolean(run?.counts && base?.counts && value != null && baseValue != null);
      return {
        block: blockOf.get(block), run, base, value, baseValue, counts,
        ratio: counts && value > 0 && baseValue > 0 ? (inverse ? baseValue / value : value / baseValue) : null,
        difference: counts ? value - baseValue : null,
      };
    });
}

// The cells of all claims that a run is part of.
const cellsWith = (run) =>
  evidence.filter((cell) => casesOf(cell).includes(run.case) && [cell.arm, cell.against].includes(run.arm));
