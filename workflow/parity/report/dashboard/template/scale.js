// From numbers to places. Drawings are as wide as the page lets them be: what lies across is in
// per cent, and colours are the style sheet's, so nothing is drawn again on another screen.

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Round numbers of an interval, with as many decimals as their step has.
function ticks(low, high, most = 5) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = power * [1, 2, 5, 10].find((each) => each * power * most >= high - low);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => [(first + at) * step, fixed((first + at) * step, digits)]);
}

// Of ratios over more than half a decade: 1, 2, 5, 10 and so on, or as many powers of ten as fit.
function logTicks(low, high, most = 5) {
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, at) => Math.floor(Math.log10(low)) + at);
  const inside = (value) => value >= low && value <= high;
  const fine = powers.flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)).filter(inside);
  const coarse = powers.map((power) => 10 ** power).filter(inside);
  const shown = fine.length <= most ? fine : coarse.filter((_, at) => at % Math.ceil(coarse.length / 3) === 0);
  return shown.map((value) => [value, fixed(value, Math.max(0, -Math.floor(Math.log10(value) + 1e-9)))]);
}

// The place of each number from 0 to 1, with some room at both ends; ratios by their logarithm.
function scaleOf(values, unit) {
  const [at, back] = isRatio(unit) ? [Math.log, Math.exp] : [Number, Number];
  const known = values.filter((value) => value != null && Number.isFinite(at(value))).map(at);
  const room = (Math.max(...known) - Math.min(...known) || 0.1) * 0.1;
  const [low, high] = [Math.min(...known) - room, Math.max(...known) + room];
  const place = (value) => Math.min(1, Math.max(0, (at(value) - low) / (high - low)));
  const [first, last] = [back(low), back(high)];
  return { place, ticks: isRatio(unit) && last > 3 * first ? logTicks(first, last) : ticks(first, last), none: isRatio(unit) ? 1 : 0 };
}

// A margin as an interval, symmetric on the log scale for a cost ratio; a side without a bound
// is left out.
function bandOf({ unit, margin }) {
  if (margin == null) return null;
  if (unit === "ratio") return [1 / (1 + margin), 1 + margin];
  return { below: [null, margin], "at least": [margin, null] }[BOUNDS[unit]] ?? [-margin, margin];
}

const limitsOf = (cell) => [cell.low95, cell.high95, cell.estimate, ...(bandOf(cell) ?? [])];
const scaleOfCells = (cells, unit) => scaleOf([isRatio(unit) ? 1 : 0, ...cells.flatMap(limitsOf)], unit);

// The intervals of a cell against its margin, as one line: thick of 90 %, thin of 95 %. The
// numbers stand beside it in words.
function strip(cell, scale = scaleOfCells([cell], cell.unit)) {
  if (cell.low95 == null || cell.high95 == null) return null;
  const across = (value) => `${100 * scale.place(value)}%`;
  const line = (name, from, to, y1 = 9, y2 = 9) => svg("line", { x1: across(from), x2: across(to), y1, y2, class: name });
  const band = bandOf(cell)?.map((end, side) => (end == null ? side : scale.place(end)));
  return svg("svg", { class: `strip verdict-${cell.verdict}`, "aria-hidden": "true" },
    ...(band ? [svg("rect", { x: `${100 * band[0]}%`, width: `${100 * (band[1] - band[0])}%`, height: 18, class: "band" })] : []),
    line("none", scale.none, scale.none, 0, 18),
    line("interval", cell.low95, cell.high95),
    ...(cell.low90 == null ? [] : [line("interval inner", cell.low90, cell.high90)]),
    svg("circle", { cx: across(cell.estimate), cy: 9, r: 3.6, class: "estimate" }));
}
