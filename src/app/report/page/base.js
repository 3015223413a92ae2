// Shared by all parts of the page. The parts are joined into one function (IsomerReportPage.cmake has their order); they draw
// the data of the element #data (report_data.cpp). Texts from models are only ever text nodes.
const data = JSON.parse(document.getElementById('data').textContent);
const { before, after, groups, regions, texts, widths, run, laws } = data;
const SVG = 'http://www.w3.org/2000/svg';

// ---- Small things

const $ = id => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter(c => c !== null && c !== undefined));
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const sum = list => list.reduce((a, b) => a + b, 0);
const grouped = n => Math.round(n).toLocaleString('en-US');
const plural = (n, word) => `${grouped(n)} ${word}${n === 1 ? '' : 's'}`;
const digits = x => x.toLocaleString('en-US', { maximumSignificantDigits: 3 });
const ratioText = x => x.toFixed(x >= 10 ? 1 : 2);
const shorter = (text, most) => text.length <= most ? text : '…' + text.slice(text.length - most + 1);

function timeText(ns) {
  if (!ns) return '0';
  if (ns >= 1e9) return digits(ns / 1e9) + ' s';
  if (ns >= 1e6) return digits(ns / 1e6) + ' ms';
  if (ns >= 1e3) return digits(ns / 1e3) + ' µs';
  return digits(ns) + ' ns';
}
const bytesText = b => b >= 1e6 ? digits(b / 1e6) + ' MB' : digits(b / 1e3) + ' kB';

// A width as text. Costs have no unit: they are shown as a share of the original.
function widthText(value) {
  if (widths.unit === 'time') return timeText(value);
  if (widths.unit === 'nodes') return plural(value, 'node');
  return digits(100 * value / (sum(before.width) || 1)) + ' %';
}

// ---- What is where

const KEPT = -1;
const gain = r => r.widthBefore - r.widthAfter;
const regionOf = graph => new Int32Array(graph.op.length).fill(KEPT);
before.region = regionOf(before);
after.region = regionOf(after);
regions.forEach((region, r) => {
  for (const n of region.before) before.region[n] = r;
  for (const n of region.after) after.region[n] = r;
  region.widthBefore = sum(region.before.map(n => before.width[n]));
  region.widthAfter = sum(region.after.map(n => after.width[n]));
});
groups.forEach(group => { group.regions = []; });
regions.forEach((region, r) => groups[region.group].regions.push(r));
for (const group of groups) {
  group.widthBefore = sum(group.regions.map(r => regions[r].widthBefore));
  group.widthAfter = sum(group.regions.map(r => regions[r].widthAfter));
  group.nodesBefore = sum(group.regions.map(r => regions[r].before.length));
  group.nodesAfter = sum(group.regions.map(r => regions[r].after.length));
  // The place to show first: the one with the largest gain.
  group.best = group.regions.reduce((a, b) => gain(regions[b]) > gain(regions[a]) ? b : a);
}

// Each kind of law has a colour of its own; the same one in most reports.
const colourOf = {};
{
  const taken = new Set();
  const present = [...data.kinds, ''].filter(kind => groups.some(g => g.kind === kind));
  for (const kind of present) {
    let k = (data.kinds.indexOf(kind) + 9) % 10;
    for (let tries = 0; taken.has(k) && tries < 10; ++tries) k = (k + 1) % 10;
    taken.add(k);
    colourOf[kind] = k;
  }
}
const colour = kind => `var(--k${colourOf[kind]})`;

function placeName(region) {
  const [graph, nodes] = region.before.length ? [before, region.before] : [after, region.after];
  return graph.name[nodes[nodes.length - 1]] || texts[graph.op[nodes[nodes.length - 1]]];
}

// "Conv ×3, Add"
function opsText(graph, nodes, most = 4) {
  const counts = new Map();
  for (const n of nodes) {
    const op = texts[graph.op[n]];
    if (op !== 'Constant') counts.set(op, (counts.get(op) || 0) + 1);
  }
  const list = [...counts].sort((a, b) => b[1] - a[1]).map(([op, n]) => n > 1 ? `${op} ×${n}` : op);
  return list.slice(0, most).join(', ') + (list.length > most ? ', …' : '');
}

// ---- Tooltip

const tip = $('tip');
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(innerWidth - box.width - 6, x + 14)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + 'px';
}
const hideTip = () => { tip.hidden = true; };
addEventListener('scroll', hideTip, { passive: true });
