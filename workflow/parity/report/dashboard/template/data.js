// The page's content, unpacked: texts instead of their numbers, and what belongs together joined.

const packed = Uint8Array.from(atob(document.getElementById("content").textContent), (letter) => letter.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const content = await new Response(unpacked).json();
const { studies, wording } = content;
const outcomes = { ...wording.outcomes, ...wording.verdicts };

// Rows of a table that is packed by its columns.
function rowsOf(columns) {
  const [first = []] = Object.values(columns);
  return first.map((_, place) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[place]])));
}

const verdicts = rowsOf(content.verdicts);
content.archives.forEach((archive) => { archive.comparisons = rowsOf(archive.comparisons); });

const textFields = new Set(content.fields.texts);

// Of names and values in turn, each name with its value.
const pairs = (row) => row.flatMap((name, place) => (place % 2 ? [] : [[name, row[place + 1]]]));

function unpackRun(columns, place) {
  const run = {};
  content.fields.all.forEach((name, column) => {
    const value = columns[column][place];
    run[name] = textFields.has(name) ? content.texts[value] : value;
  });
  const textsOf = (numbers) => numbers.map((number) => content.texts[number]);
  run.command = textsOf(run.command);
  run.evidence = pairs(textsOf(run.evidence));
  run.metrics = new Map(pairs(run.metrics).map(([metric, value]) => [content.texts[metric], value]));
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

function opened(archive) {
  const blockOf = new Map(archive.blocks.map((block, place) => [block.block, { ...block, place }]));
  const runs = (archive.runs[0] ?? []).map((_, place) => ({ ...unpackRun(archive.runs, place), dataset: archive.name }));
  const runsOf = grouped(runs, (run) => `${run.case}\n${run.arm}`);
  for (const found of runsOf.values()) {
    found.sort((a, b) => blockOf.get(a.block).place - blockOf.get(b.block).place || a.attempt - b.attempt);
  }
  return { ...archive, blockOf, runs, runsOf };
}

const archives = new Map(content.archives.map((archive) => [archive.name, opened(archive)]));
// A live page holds no archive, and a claim that is not tested has no dataset at all.
const NOWHERE = opened({ arms: {}, cases: {}, quantities: {}, natives: {}, blocks: [], runs: [] });

// Of a run, a comparison or a cell of a claim: each says of which dataset it is.
const archiveOf = (row) => archives.get(row.dataset) ?? NOWHERE;
const armTitle = (row, arms = row.arm) => arms.split(" + ").map((arm) => archiveOf(row).arms[arm] ?? capital(arm)).join(" + ");
// A cell may rest on several arms, each against one of its own.
const sidesOf = (cell) => cell.arm.split(" + ").map((arm, place) => ({ ...cell, arm, against: cell.against?.split(" + ")[place] ?? cell.against }));
// A cell may rest on several cases.
const casesOf = (row) => row.case.split(" + ").filter((name) => archiveOf(row).cases[name]);
const caseTitle = (row, name = row.case) => name.split(" + ").map((each) => archiveOf(row).cases[each]?.title ?? each).join(" + ");
const quantityOf = (row, metric = row.metric) =>
  archiveOf(row).quantities[`${archiveOf(row).cases[row.case.split(" + ")[0]]?.benchmark}/${metric}`]
  ?? { label: metric, unit: "", recorded: "", factor: 1, better: "" };

// Whether a cell compares by ratios; else by differences, which are shown in the page's unit.
function cellOf(row) {
  const { recorded, unit, factor } = quantityOf(row);
  const isByRatio = ![recorded, "% of node"].includes(row.unit);
  if (row.unit !== recorded) return { ...row, isByRatio };
  const numbers = Object.keys(row).filter((name) => /estimate|low9|high9|margin/.test(name) && row[name] != null);
  return { ...row, isByRatio, unit: unit === "%" ? "percentage points" : unit, ...Object.fromEntries(numbers.map((name) => [name, row[name] * factor])) };
}

const evidence = rowsOf(content.evidence).map(cellOf);
// A runtime's column holds it as a site offers it; its variants, limits and networks are another's.
const VARIANT = "-variants";
const offered = new Set(content.archives.flatMap((archive) => archive.comparisons.filter((row) => row.is_plain).map((row) => row.runtime)));
const columnOf = (row) => row.runtime + (offered.has(row.runtime) && !row.is_plain ? VARIANT : "");
const comparisons = content.archives.flatMap((archive) =>
  archive.comparisons.map((row) => cellOf({ ...row, runtime: columnOf(row), dataset: archive.name })));
// A claim is judged on each system by itself: on the one that leads, then on others that test it.
const verdictsOf = grouped(verdicts, (verdict) => verdict.claim);
const isTested = ({ verdict }) => verdict !== "not-tested";
const isOfOneSystem = new Set(verdicts.map(({ judged }) => judged)).size === 1;
const judgedOn = ({ judged }) => (isOfOneSystem ? "" : judged.replace(/^archive\//, ""));
const cellsOf = grouped(evidence, (cell) => cell.claim);
const runsOfCell = (row, caseName, arm) => archiveOf(row).runsOf.get(`${caseName}\n${arm}`) ?? [];

// A run's number of one metric, in the unit that the page shows.
function valueOf(run, metric) {
  const value = run?.metrics.get(metric);
  return value == null ? null : value * quantityOf(run, metric).factor;
}

// The arms that a cell's arm is compared with: of the reference, each of its natives.
function basesOf(cell, caseName) {
  if (!cell.against) return [];
  const natives = archiveOf(cell).natives[`${caseName}/${cell.metric}`] ?? [];
  const isToAll = cell.against === natives[0] && !natives.includes(cell.arm);
  return isToAll ? natives : [cell.against];
}

// One row per block of a case of a cell. Its `ends` are the last attempts of the cell's arm and of
// its bases, and a block counts if they all do; its `effects` are against each base.
function pairsOf(cell, caseName) {
  const { blockOf } = archiveOf(cell);
  const sides = [cell.arm, ...basesOf(cell, caseName)];
  const last = sides.map((arm) => new Map(runsOfCell(cell, caseName, arm).map((run) => [run.block, run])));
  const inverse = quantityOf(cell).better === "higher";
  return [...new Set(last.flatMap((ofArm) => [...ofArm.keys()]))]
    .sort((a, b) => blockOf.get(a).place - blockOf.get(b).place)
    .map((block) => {
      const ends = sides.map((arm, place) => {
        const run = last[place].get(block);
        const value = valueOf(run, cell.metric);
        return { arm, run, value, counts: Boolean(run?.counts && value != null) };
      });
      const [own, ...bases] = ends;
      const counts = ends.every((each) => each.counts);
      const effects = bases.map((base) => {
        if (!counts) return null;
        if (!cell.isByRatio) return own.value - base.value;
        if (Math.min(own.value, base.value) <= 0) return null;
        return inverse ? base.value / own.value : own.value / base.value;
      });
      return { block: blockOf.get(block), ends, counts, effects };
    });
}

// Whether a run is part of a cell.
const isPartOf = (run, cell) => run.dataset === cell.dataset
  && casesOf(cell).includes(run.case) && sidesOf(cell).some((side) => [side.arm, ...basesOf(side, run.case)].includes(run.arm));
