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

// Whether a cell compares by ratios; else it does by differences.
const isByRatio = (cell) => ![quantityOf(cell.case, cell.metric).recorded, "% of node"].includes(cell.unit);

// The arms that a cell's arm is compared with: a ratio to the reference is one to all its natives.
function basesOf(cell, caseName) {
  if (!cell.against) return [];
  const natives = content.natives[`${caseName}/${cell.metric}`] ?? [];
  const isToAll = isByRatio(cell) && cell.against === natives[0] && !natives.includes(cell.arm);
  return isToAll ? natives : [cell.against];
}

function geometricMean(values) {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

// One row per block of a case of a cell. Its `ends` are the last attempts of the cell's arm and of
// its bases. A block counts if the first two of them do; a further native that does not count
// there is left out of the mean, as in the analysis.
function pairsOf(cell, caseName) {
  const sides = [cell.arm, ...basesOf(cell, caseName)];
  const last = sides.map((arm) => new Map(runsOfCell(caseName, arm).map((run) => [run.block, run])));
  const inverse = quantityOf(cell.case, cell.metric).better === "higher";
  return [...new Set(last.flatMap((ofArm) => [...ofArm.keys()]))]
    .sort((a, b) => blockOf.get(a).place - blockOf.get(b).place)
    .map((block) => {
      const ends = sides.map((arm, place) => {
        const run = last[place].get(block);
        const value = valueOf(run, caseName, cell.metric);
        return { arm, run, value, counts: Boolean(run?.counts && value != null) };
      });
      const [own, ...bases] = ends;
      const counts = own.counts && (!bases.length || bases[0].counts);
      const compared = counts && bases.length > 0;
      const base = geometricMean(bases.filter((each) => each.counts && each.value > 0).map((each) => each.value));
      return {
        block: blockOf.get(block), ends, counts,
        ratio: compared && own.value > 0 && bases[0].value > 0 ? (inverse ? base / own.value : own.value / base) : null,
        difference: compared ? own.value - bases[0].value : null,
      };
    });
}

// The cells of all claims that a run is part of.
const cellsWith = (run) => evidence.filter((cell) =>
  casesOf(cell).includes(run.case) && [cell.arm, ...basesOf(cell, run.case)].includes(run.arm));
