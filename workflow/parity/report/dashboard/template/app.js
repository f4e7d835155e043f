// From the address to a view. The address is the whole state, so every view can be linked to.

let lastCell = null;
let redraw = [];

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function viewOf(hash) {
  const [place, query] = hash.replace(/^#\/?/, "").split("?");
  const [kind, ...rest] = place.split("/").map(decoded);
  if (kind === "claim" && rest.length > 1) return cellView(rest);
  if (kind === "claim") return claimView(rest[0]);
  if (kind === "run") return runView(rest);
  return listView(new URLSearchParams(query));
}

const nothing = (text) => ({
  title: "Not found",
  parts: [path(["Claims", listAddress], ["not found"]), element("h2", { tabindex: "-1" }, text)],
});

function show(move = true) {
  redraw = [];
  const main = document.getElementById("main");
  const { title, parts } = viewOf(location.hash);
  main.replaceChildren(...parts);
  document.title = `${title} · Parity`;
  document.body.classList.toggle("deep", title !== "Claims");
  drawAll();
  if (!move) return;
  main.querySelector("h2").focus({ preventScroll: true });
  if (title === "Claims") window.scrollTo(0, 0);
  else main.scrollIntoView();
}

function drawAll() {
  if (window.Plotly) redraw.forEach((draw) => draw());
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // The address is the state; a skip link must not change it.
  const main = document.getElementById("main");
  main.focus();
  main.scrollIntoView();
});
window.addEventListener("hashchange", () => show());
window.addEventListener("resize", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("plotting-ready", drawAll);
show(location.hash.length > 2);
