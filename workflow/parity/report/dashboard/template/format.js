// Numbers and times as people read them, and the addresses of the views.

const MINUS = "\u2212";
const NONE = "–";

function fixed(value, digits) {
  if (value == null) return NONE;
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", MINUS);
}

function significant(value, digits = 4) {
  if (value == null) return NONE;
  const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return fixed(value, Math.max(0, digits - 1 - magnitude));
}

function percent(fraction) {
  if (fraction == null) return NONE;
  const value = 100 * fraction;
  const whole = Math.abs(value - Math.round(value)) < 1e-9;
  return `${fixed(value, whole || value >= 9.95 ? 0 : value >= 0.95 ? 1 : 2)}\u2009%`;
}

const unitSuffix = (unit) => (unit && unit !== "ratio" ? `\u202f${unit}` : "");

// As many decimals as the interval deserves: two digits of its half width, three at most.
function decimals(row) {
  if (row.unit === "ratio" && (row.high95 ?? row.estimate) < 10) return 3;
  if (row.unit === "ratio" && row.low95 != null && row.low95 < 10) return 1;
  const width = row.high95 != null && row.low95 != null ? (row.high95 - row.low95) / 2 : Math.abs(row.estimate ?? 1);
  return width > 0 ? Math.min(3, Math.max(0, 1 - Math.floor(Math.log10(width)))) : 3;
}

function estimateText(row, unit = true) {
  if (row.estimate == null) return NONE;
  const digits = decimals(row);
  const ends = row.low95 == null && row.high95 == null
    ? "" : ` [${fixed(row.low95, digits)}, ${fixed(row.high95, digits)}]`;
  return `${fixed(row.estimate, digits)}${ends}${unit ? unitSuffix(row.unit) : ""}`;
}

// What of a unit has a bound on one side only: there the margin is that bound.
const BOUNDS = { "%": "below", "% of node": "below", "ratio of deviations": "below", tau: "at least" };

const isRatio = (unit) => unit.startsWith("ratio");

// A margin of a cost ratio is a fraction; of anything else it is in the estimate's unit, which
// stands beside it. Rounded upwards, so that it still passes as it is printed.
function marginText({ unit, margin }, shown = margin) {
  if (shown == null) return NONE;
  if (unit === "ratio") {
    const percents = Math.ceil(Number((1e4 * shown).toFixed(6))) / 100;
    return `±${fixed(percents, Number.isInteger(percents) || percents >= 9.95 ? 0 : 2)}\u2009%`;
  }
  return `${BOUNDS[unit] ? `${BOUNDS[unit]} ` : "±"}${Number(shown.toPrecision(3))}${unit.length < 4 ? unitSuffix(unit) : ""}`;
}

function pText(value) {
  if (value == null) return NONE;
  return value < 0.0001 ? "< 0.0001" : significant(value, 2);
}

const timeText = (iso) => (iso ? `${iso.slice(0, 19).replace("T", " ")} UTC` : "never started");
const words = (name) => name.replaceAll("-", " ");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

const shortName = (dataset) => dataset.replace(/^archive\//, "");

// A word of a command line as a shell would need it.
const quoted = (word) =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

const address = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
const addressOfClaim = (claim) => address("claim", claim);
const addressOfCell = (cell) => (cell.claim
  ? address("claim", cell.claim, cell.test, cell.case, cell.metric, cell.arm, cell.against, cell.dataset)
  : address("comparison", cell.dataset, cell.case, cell.metric, cell.arm));
const addressOfCompared = (cell) => address("compared", cell.runtime, cell.case);
const addressOfBenchmark = (cell) => address("benchmark", cell.runtime, archiveOf(cell).cases[cell.case].benchmark);
const addressOfRun = (run) => address("run", run.dataset, run.block, run.run, run.attempt);
