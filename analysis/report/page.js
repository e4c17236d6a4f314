// Shows run, round and value of the point under the pointer. Without it figures are still.
"use strict";
const shown = (value) => (value === null ? "not finite" : String(value));
const share = (value, [low, high], log) =>
  log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);

function nearest(panels, u, v, size) {
  let found = null;
  for (const panel of panels) {
    const [left, top, right, bottom] = panel.box;
    if (u < left - 0.02 || u > right + 0.02 || v < top - 0.02 || v > bottom + 0.02) continue;
    for (const trace of panel.traces) {
      trace.x.forEach((x, i) => {
        if (trace.y[i] === null) return;
        const px = left + (right - left) * share(x, panel.x, false);
        const py = bottom - (bottom - top) * share(trace.y[i], panel.y, panel.log);
        const distance = Math.hypot((px - u) * size.width, (py - v) * size.height);
        if (!found || distance < found.distance) found = { panel, trace, i, px, py, distance };
      });
    }
  }
  return found;
}

for (const plot of document.querySelectorAll("[data-panels]")) {
  const panels = JSON.parse(plot.dataset.panels);
  const [dot, tip] = ["dot", "tip"].map((name) => {
    const part = plot.appendChild(document.createElement("div"));
    part.className = name;
    part.hidden = true;
    return part;
  });
  const point = (event) => {
    const size = plot.getBoundingClientRect();
    const u = (event.clientX - size.left) / size.width;
    const v = (event.clientY - size.top) / size.height;
    const found = nearest(panels, u, v, size);
    dot.hidden = tip.hidden = !found;
    if (!found) return;
    const { panel, trace, i, px, py } = found;
    const spread = trace.spread && trace.spread[i] !== null ? ` ± ${trace.spread[i]}` : "";
    const value = `${panel.over} ${shown(trace.x[i])}: ${shown(trace.y[i])}${spread}`;
    tip.textContent = `${trace.label}\n${trace.runs}\n${value}`;
    dot.style.left = `${100 * px}%`;
    dot.style.top = `${100 * py}%`;
    // Towards the middle of what is seen: a wide figure may be scrolled.
    const rightwards = size.left + px * size.width < innerWidth / 2;
    tip.style.left = rightwards ? `calc(${100 * px}% + 12px)` : "auto";
    tip.style.right = rightwards ? "auto" : `calc(${100 * (1 - px)}% + 12px)`;
    tip.style.top = py < 0.5 ? `${100 * py}%` : "auto";
    tip.style.bottom = py < 0.5 ? "auto" : `${100 * (1 - py)}%`;
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", () => { dot.hidden = tip.hidden = true; });
}

for (const source of document.querySelectorAll("pre.latex")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl-C";
    }
  });
  source.before(button);
}
