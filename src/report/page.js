'use strict';
// The page of a report: draws what the element #data holds (report_data.cpp). Texts from models are only ever text nodes.
(() => {
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

// A width in words. Costs have no unit: they are told as a share of the original.
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
  // The place to show first: where most was gained.
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

// ---- Headline

function drawHeadline() {
  const ratio = run && run.ratio ? run.ratio : data.ratio;
  const isChanged = regions.length > 0;
  const isFaster = run ? run.result === 'improved' && run.ratio : data.ratio;
  const parts = [];
  if (isFaster) {
    parts.push(`${ratioText(ratio)} times as fast`);
    if (run && run.low) parts.push(' ', html('span', { class: 'interval', title: '95 % interval' }, `[${ratioText(run.low)}, ${ratioText(run.high)}]`, html('span', { class: 'comma' }, ',')));
    else parts.push(',');
    parts.push(' ', html('span', { class: 'proved' }, 'proved equal'));
  } else if (isChanged) {
    parts.push(`${grouped(before.op.length)} nodes as ${grouped(after.op.length)}, `, html('span', { class: 'proved' }, 'proved equal'));
  } else {
    parts.push('Unchanged');
  }
  $('headline').append(...parts);
  document.title = $('headline').textContent + ' – ' + data.names.in;
  const where = run && run.runtime && run.runtime.name && run.ratio
    ? `Measured on ${run.runtime.title} ${run.runtime.version}, ${run.runtime.threads === 0 ? 'its own number of threads' : plural(run.runtime.threads, 'thread')}, ${run.machine}; inputs ${run.inputs}.`
    : '';
  const why = run && run.reason ? ` ${run.reason[0].toUpperCase()}${run.reason.slice(1)}.` : '';
  $('subtitle').append(html('b', {}, data.names.in), isChanged ? ` became ${data.names.out}.` : ` and ${data.names.out} are the same.`,
    data.fixed.length ? ` For one size only: ${data.fixed.join(', ')}.` : '', why, where ? ' ' + where : '');
  drawFacts();
}

function drawFacts() {
  const list = $('facts');
  const fact = (name, was, is) => {
    const value = is === undefined ? [was] : [was, html('span', { class: 'to' }, '→'), is];
    list.append(html('div', {}, html('dt', {}, name), html('dd', {}, value)));
  };
  const isChanged = regions.length > 0, both = isChanged ? (name, was, is) => fact(name, was, is) : (name, was) => fact(name, was);
  if (run && run.before && run.after) both('latency', timeText(run.before.latency_ns.median), timeText(run.after.latency_ns.median));
  both('nodes', grouped(before.op.length), grouped(after.op.length));
  if (run && run.bytes_in) both('file', bytesText(run.bytes_in), bytesText(run.bytes_out));
  if (run && run.before && run.before.peak_bytes && run.after.peak_bytes) both('peak memory', bytesText(run.before.peak_bytes), bytesText(run.after.peak_bytes));
  if (run && run.error_before !== null && run.error_before !== undefined) both('rounding error', run.error_before.toExponential(1), run.error_after.toExponential(1));
  if (isChanged) fact(data.is_pairing ? 'pairs of values proved' : 'proved steps', grouped(data.is_pairing ? data.proofs : data.steps.length));
}

// ---- The ribbon

// Segments of the bars, in the order of the original: a changed region each, and runs of unchanged nodes between them.
function segmentsOf() {
  const twin = new Int32Array(before.op.length).fill(-1);
  data.kept[0].forEach((n, i) => { twin[n] = data.kept[1][i]; });
  const list = [], seen = new Set();
  let same = null;
  for (let n = 0; n < before.op.length; ++n) {
    const r = before.region[n];
    if (r === KEPT) {
      // Where nothing changed, each node is worth a look.
      if (!same || !regions.length) list.push(same = { kind: null, regions: [], before: [], after: [] });
      same.before.push(n);
      if (twin[n] >= 0) same.after.push(twin[n]);
    } else if (!seen.has(r)) {
      seen.add(r);
      same = null;
      list.push({ kind: groups[regions[r].group].kind, regions: [r], before: regions[r].before.slice(), after: regions[r].after.slice() });
    }
  }
  regions.forEach((region, r) => {
    if (!seen.has(r)) list.push({ kind: groups[region.group].kind, regions: [r], before: [], after: region.after.slice() });
  });
  let last = -1;
  for (const s of list) {
    measure(s);
    // What vanished has its place behind what was before it.
    s.place = last = s.after.length ? Math.min(...s.after) : last + 1e-6;
  }
  return list;
}

function measure(s) {
  s.widthBefore = sum(s.before.map(n => before.width[n]));
  s.widthAfter = sum(s.after.map(n => after.width[n]));
}

// Segments too thin to be seen are drawn with a neighbour of their kind, until that is thick enough.
function thickEnough(list, perPixel) {
  const out = [], least = 1.5 * perPixel, enough = 5 * perPixel, near = 8;
  const isBelow = (s, width) => s.widthBefore < width && s.widthAfter < width;
  for (const s of list) {
    const other = isBelow(s, least) ? out.slice(-near).reverse().find(o => o.kind === s.kind && isBelow(o, enough)) : null;
    if (!other) {
      out.push({ ...s, before: s.before.slice(), after: s.after.slice(), regions: s.regions.slice() });
      continue;
    }
    other.before.push(...s.before);
    other.after.push(...s.after);
    other.regions.push(...s.regions);
    measure(other);
  }
  return out;
}

function placed(list, width, total) {
  const scale = width / total;
  let x = 0;
  for (const s of list) { s.x0 = x; s.x1 = x += s.widthBefore * scale; }
  x = 0;
  for (const s of [...list].sort((a, b) => a.place - b.place)) { s.y0 = x; s.y1 = x += s.widthAfter * scale; }
}

const HAIR = 0.8;  // what vanished, or has no time, is a line of this width

function hairPath(s, top, bottom) {
  const half = (top + bottom) / 2, x = (s.x0 + s.x1) / 2, y = (s.y0 + s.y1) / 2;
  return `M${x.toFixed(2)} ${top}C${x.toFixed(2)} ${half} ${y.toFixed(2)} ${half} ${y.toFixed(2)} ${bottom}`;
}

function flowPath(s, top, bottom) {
  const half = (top + bottom) / 2;
  const x1 = Math.max(s.x1, s.x0 + HAIR), y1 = Math.max(s.y1, s.y0 + HAIR);
  return `M${s.x0.toFixed(2)} ${top}C${s.x0.toFixed(2)} ${half} ${s.y0.toFixed(2)} ${half} ${s.y0.toFixed(2)} ${bottom}L${y1.toFixed(2)} ${bottom}C${y1.toFixed(2)} ${half} ${x1.toFixed(2)} ${half} ${x1.toFixed(2)} ${top}Z`;
}

function segmentTip(s) {
  const change = `${widthText(s.widthBefore)} → ${widthText(s.widthAfter)}`;
  if (s.kind === 'runtime') return `the runtime's own work: changes of layout, and kernels that it names by no node\n${change}`;
  if (s.kind === null) return `${regions.length ? `unchanged: ${plural(s.before.length, 'node')}\n` : ''}${opsText(before, s.before)}\n${regions.length ? change : widthText(s.widthBefore)}`;
  const titles = [...new Set(s.regions.map(r => groups[regions[r].group].title))];
  const more = titles.length > 2 ? `\nand ${titles.length - 2} more` : '';
  return `${titles.slice(0, 2).join('\n')}${more}\n${s.regions.length > 1 ? plural(s.regions.length, 'place') + ', ' : ''}${plural(s.before.length, 'node')} → ${s.after.length}\n${change}`;
}

function niceStep(total, most) {
  const rough = total / most, unit = Math.pow(10, Math.floor(Math.log10(rough)));
  return [1, 2, 5, 10].map(k => k * unit).find(step => step >= rough);
}

// The ribbon as an SVG of this many pixels. `paint` gives colours: of the page, or fixed ones for a file.
function ribbonSvg(width, paint, isForFile) {
  const tall = width < 600 ? 30 : 40, gap = width < 600 ? 110 : 150, label = 22, axis = 30;
  const top = label, flowTop = top + tall, flowBottom = flowTop + gap, bottom = flowBottom + tall;
  const height = bottom + label + axis;
  const totalBefore = sum(before.width) + widths.others_before, totalAfter = sum(after.width) + widths.others_after;
  const total = Math.max(totalBefore, totalAfter) || 1;
  const list = thickEnough(segmentsOf(), total / width);
  if (widths.others_before + widths.others_after > 0)
    list.push({ kind: 'runtime', regions: [], before: [], after: [], widthBefore: widths.others_before, widthAfter: widths.others_after, place: Infinity });
  placed(list, width, total);
  const root = svg('svg', { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'before above, after below; ribbons join what became what' });
  const words = (x, y, text, size, fillWith, anchor) => svg('text', { x, y, fill: fillWith, 'font-size': size, 'text-anchor': anchor || 'start', 'font-family': 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif' }, text);
  root.append(words(0, top - 8, `before · ${widthText(totalBefore)}`, 14, paint('--ink')));
  root.append(words(0, bottom + 17, `after · ${widthText(totalAfter)}`, 14, paint('--ink')));
  // Unchanged parts lie beneath.
  for (const s of [...list].sort((a, b) => (a.kind !== null) - (b.kind !== null))) root.append(segment(s));
  root.append(axisOf());
  return root;

  function segment(s) {
    const isSame = s.kind === null || s.kind === 'runtime';
    const fillWith = isSame ? paint('--same') : paint(`--k${colourOf[s.kind]}`);
    const bar = (x0, x1, y) => svg('rect', { class: 'bar', x: x0.toFixed(2), y, width: Math.max(0.6, x1 - x0 - (x1 - x0 > 4 ? 0.8 : 0)).toFixed(2), height: tall, fill: fillWith, opacity: s.kind === 'runtime' ? 0.55 : 1 });
    const g = svg('g', { class: 'seg' + (isSame ? ' same' : ''), 'data-regions': isForFile ? null : s.regions.slice(0, 400).join(' ') },
      Math.max(s.x1 - s.x0, s.y1 - s.y0) > HAIR
        ? svg('path', { class: 'flow', d: flowPath(s, flowTop, flowBottom), fill: fillWith, opacity: isSame ? 0.3 : 0.45 })
        : svg('path', { class: 'flow', d: hairPath(s, flowTop, flowBottom), fill: 'none', stroke: fillWith, 'stroke-width': HAIR, opacity: isSame ? 0.3 : 0.45 }),
      s.widthBefore > 0 || !s.widthAfter ? bar(s.x0, s.x1, top) : null, s.widthAfter > 0 ? bar(s.y0, s.y1, flowBottom) : null);
    for (const [x0, x1, y, graph, nodes] of [[s.x0, s.x1, top, before, s.before], [s.y0, s.y1, flowBottom, after, s.after]]) {
      const text = s.kind === 'runtime' ? 'runtime' : barLabel(graph, nodes);
      if (x1 - x0 > text.length * 6.6 + 12) g.append(fill(words((x0 + x1) / 2, y + tall / 2 + 4, text, 12, isSame ? paint('--ink') : paint('--on'), 'middle'), { 'pointer-events': 'none' }, []));
    }
    if (isForFile) {
      g.append(svg('title', {}, segmentTip(s)));
      return g;
    }
    g.addEventListener('pointermove', e => showTip(segmentTip(s), e.clientX, e.clientY));
    g.addEventListener('pointerleave', hideTip);
    if (!s.regions.length) return g;
    const choose = () => select(regions[s.regions[0]].group, s.regions[0], true);
    if (Math.max(s.x1 - s.x0, s.y1 - s.y0) > 3) fill(g, { tabindex: 0, role: 'button', 'aria-label': segmentTip(s).replaceAll('\n', '; ') }, []);
    g.addEventListener('click', choose);
    g.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); choose(); } });
    return g;
  }

  function axisOf() {
    const g = svg('g', { 'aria-hidden': 'true' });
    if (widths.unit === 'cost') return g;
    const step = niceStep(total, Math.max(3, width / 130));
    for (let t = 0; t <= total * 1.0001; t += step) {
      const x = t / total * width;
      g.append(svg('line', { x1: x, x2: x, y1: height - 26, y2: height - 21, stroke: paint('--quiet') }),
        words(x, height - 8, widths.unit === 'time' ? (t === 0 ? '0' : timeText(t)) : grouped(t), 12, paint('--quiet'), t === 0 ? 'start' : x > width - 20 ? 'end' : 'middle'));
    }
    g.append(svg('line', { x1: 0, x2: width, y1: height - 26, y2: height - 26, stroke: paint('--line') }));
    return g;
  }
}

// The operator that takes most of it.
function barLabel(graph, nodes) {
  const share = new Map();
  for (const n of nodes) share.set(graph.op[n], (share.get(graph.op[n]) || 0) + graph.width[n]);
  let best = -1, most = -1;
  for (const [op, width] of share) if (width > most) [best, most] = [op, width];
  return best < 0 ? '' : texts[best].split('.').pop();
}

let ribbonWidth = 0;
function drawRibbon() {
  const box = $('ribbon'), width = Math.round(box.clientWidth);
  if (width === ribbonWidth || width < 50) return;
  ribbonWidth = width;
  box.replaceChildren(ribbonSvg(width, name => `var(${name === '--on' ? '--card' : name})`, false));
  markRibbon();
}

function drawRibbonText() {
  if (!regions.length) $('ribbon-title').textContent = 'Where the time goes';
  const note = $('ribbon-note');
  if (widths.unit === 'time')
    note.textContent = `Widths are time, node by node, by the profile of ${widths.runtime}, ${plural(widths.threads, 'thread')}, inputs ${widths.inputs}. What the runtime fuses is counted where it names it.`;
  else
    note.textContent = (widths.unit === 'cost' ? 'Widths are an analytic cost, not time' : 'Widths are numbers of nodes, not time') +
      (widths.why ? `: the runtime could not be asked (${widths.why}).` : ': no runtime was asked.');
  const legend = $('legend');
  for (const kind of Object.keys(colourOf)) {
    const of = groups.filter(g => g.kind === kind);
    legend.append(html('li', {}, html('span', { class: 'dot', style: `background:${colour(kind)}` }),
      `${laws[kind].title} · ${widthText(sum(of.map(g => g.widthBefore)))} → ${widthText(sum(of.map(g => g.widthAfter)))}`));
  }
  const others = data.kept[0].length;
  if (others) legend.append(html('li', {}, html('span', { class: 'dot', style: 'background:var(--same)' }), `unchanged · ${plural(others, 'node')}`));
}

// Colours as they are in a light page, whatever this one is.
function lightColours() {
  const found = {};
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule.selectorText === ':root') for (const name of rule.style) found[name] = rule.style.getPropertyValue(name).trim();
  return name => name === '--on' ? '#ffffff' : found[name] || '#888888';
}

function exportRibbon() {
  const paint = lightColours(), width = 1200, margin = 24, head = 64;
  const drawn = ribbonSvg(width, paint, true);
  const height = Number(drawn.getAttribute('viewBox').split(' ')[3]);
  const kinds = Object.keys(colourOf), rows = Math.ceil(kinds.length / 3);
  const font = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
  const whole = svg('svg', { xmlns: SVG, viewBox: `0 0 ${width + 2 * margin} ${height + head + rows * 22 + 2 * margin}`, width: width + 2 * margin });
  whole.append(svg('rect', { width: '100%', height: '100%', fill: paint('--paper') }),
    svg('text', { x: margin, y: margin + 24, 'font-size': 24, 'font-weight': 650, fill: paint('--ink'), 'font-family': font }, $('headline').textContent),
    svg('text', { x: margin, y: margin + 46, 'font-size': 13, fill: paint('--quiet'), 'font-family': font }, `${data.names.in} · ${widths.unit === 'time' ? widths.runtime : 'analytic cost'} · isomer ${data.version}`),
    svg('g', { transform: `translate(${margin} ${margin + head})` }, ...drawn.childNodes));
  kinds.forEach((kind, k) => {
    const x = margin + (k % 3) * width / 3, y = margin + head + height + Math.floor(k / 3) * 22 + 12;
    whole.append(svg('rect', { x, y: y - 10, width: 11, height: 11, rx: 3, fill: paint(`--k${colourOf[kind]}`) }),
      svg('text', { x: x + 18, y, 'font-size': 13, fill: paint('--quiet'), 'font-family': font }, laws[kind].title));
  });
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(whole)], { type: 'image/svg+xml' }));
  html('a', { href: url, download: data.names.in.replace(/\.onnx$/, '') + '-ribbon.svg' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// ---- What was done, and one change of it

let chosen = { group: -1, region: -1 }, isPicked = false;  // by the reader; until then all of the ribbon is in colour

const groupOrder = groups.map((_, k) => k).sort((a, b) => gain(groups[b]) - gain(groups[a]) || groups[b].regions.length - groups[a].regions.length);

function drawGroups() {
  for (const k of groupOrder) {
    const g = groups[k];
    const numbers = [plural(g.regions.length, 'place'), `${plural(g.nodesBefore, 'node')} → ${grouped(g.nodesAfter)}`, `${widthText(g.widthBefore)} → ${widthText(g.widthAfter)}`];
    $('groups').append(html('li', {}, html('button', { type: 'button', 'data-group': k, onclick: () => select(k, g.best, false) },
      html('span', { class: 'row' }, html('span', { class: 'dot', style: `background:${colour(g.kind)}` }), html('span', { class: 'what' }, g.title)),
      html('span', { class: 'numbers' }, numbers.join(' · ')))));
  }
}

function markRibbon() {
  $('ribbon').classList.toggle('picked', isPicked && groups.length > 1);
  const mine = chosen.group >= 0 ? new Set(groups[chosen.group].regions) : new Set();
  for (const seg of document.querySelectorAll('#ribbon .seg')) {
    const own = seg.dataset.regions === '' ? [] : seg.dataset.regions.split(' ').map(Number);
    seg.classList.toggle('on', isPicked && own.some(r => mine.has(r)));
    seg.classList.toggle('here', isPicked && own.includes(chosen.region));
  }
}

function select(group, region, byPicture) {
  isPicked = chosen.group >= 0;
  chosen = { group, region };
  for (const button of document.querySelectorAll('#groups button')) {
    const isOn = Number(button.dataset.group) === group;
    button.setAttribute('aria-pressed', isOn);
    if (isOn && byPicture) button.parentElement.parentElement.scrollTop = button.offsetTop - button.parentElement.parentElement.offsetTop - 40;
  }
  drawDetail();
  markRibbon();
  for (const view of views) view.show(region);
}

function drawDetail() {
  const g = groups[chosen.group], region = regions[chosen.region], law = laws[g.kind];
  const detail = $('detail');
  detail.style.borderTop = `4px solid ${colour(g.kind)}`;
  detail.replaceChildren(...[
    html('h3', {}, g.title[0].toUpperCase() + g.title.slice(1)),
    html('p', { class: 'formula' }, law.formula),
    html('p', { class: 'quiet' }, law.says),
    measuredText(region),
    html('h4', {}, shorter(placeName(region), 90)),
    html('div', { class: 'figures' }, figure('before', before, region.before, region.widthBefore, g.kind), figure('after', after, region.after, region.widthAfter, g.kind)),
    html('h4', {}, 'Why it is the same'), witnesses(region),
    places(g)].filter(Boolean));
}

// What the step that gained most did to the time of its place. The run knows the interval; a certificate alone does not.
function measuredText(region) {
  const ratio = Math.max(0, ...region.steps.map(s => data.steps[s][2]));
  if (!ratio) return null;
  const known = run && run.regions ? run.regions.find(r => r.ratio === ratio) : null;
  const interval = known && known.low ? ` [${ratioText(known.low)}, ${ratioText(known.high)}]` : '';
  return html('p', { class: 'ratio' }, html('b', {}, `${ratioText(ratio)} times as fast${interval}`), ' in its place, measured', interval ? ' (95 % interval)' : '', '.');
}

function witnesses(region) {
  const steps = region.steps.map(s => data.steps[s]);
  const facts = sum(steps.map(s => s[3]));
  const words = data.is_pairing ? 'The values that leave it were proved equal, pair by pair, by two witnesses: '
    : region.steps.length ? `${steps.length === 1 ? 'One step was' : steps.length + ' steps were'} proved by two witnesses, each for all inputs: ` : 'These values depend on constants and known sizes only, and were computed with all digits. ';
  const how = region.steps.length || data.is_pairing ? 'both sides, written as weighted sets of integer points, are the same sets; and both sides, computed at random points modulo a prime, are the same numbers.' : '';
  const about = facts ? ` ${plural(facts, 'fact')} about the bytes of constants took part, and ${facts === 1 ? 'was' : 'were'} checked on them.` : '';
  const most = 8;
  return html('div', {}, html('p', {}, words + how + about),
    steps.length ? html('ol', { class: 'steps' }, steps.slice(0, most).map(s => html('li', {}, s[1] + (s[2] ? `, ${ratioText(s[2])} times as fast in its place` : '')))) : null,
    steps.length > most ? html('p', { class: 'quiet' }, `and ${steps.length - most} more; isomer explain lists them`) : null);
}

function places(g) {
  if (g.regions.length < 2) return null;
  const most = 300;
  const list = html('ul', { class: 'places' });
  for (const r of g.regions.slice(0, most))
    list.append(html('li', {}, html('button', { type: 'button', 'aria-pressed': r === chosen.region, onclick: () => { select(chosen.group, r, false); } },
      splitName(placeName(regions[r])), html('span', { class: 'time' }, `${widthText(regions[r].widthBefore)} → ${widthText(regions[r].widthAfter)}`))));
  return html('div', { class: 'screen-only' }, html('h4', {}, g.regions.length > most ? `The first ${most} of ${plural(g.regions.length, 'place')}` : `All ${g.regions.length} places`), list);
}

// The end of a long name says most: the beginning is what gives way.
function splitName(name) {
  const end = Math.max(0, name.length - 22);
  return html('span', { class: 'name', title: name }, html('span', {}, name.slice(0, end)), html('span', {}, name.slice(end)));
}

// ---- Graphs: layers by the longest path, each node near what it reads

// nodes: numbers in the graph. Returns positions in units of a node: x, and layer as y.
function layout(graph, nodes) {
  const at = new Map(nodes.map((n, k) => [n, k]));
  const from = nodes.map(n => graph.from[n].filter(s => s >= 0 && at.has(s)).map(s => at.get(s)));
  const count = nodes.length, layer = new Int32Array(count), readers = nodes.map(() => []);
  // Numbers are in the order of computation: what is read comes first.
  for (let k = 0; k < count; ++k) for (const s of from[k]) { layer[k] = Math.max(layer[k], layer[s] + 1); readers[s].push(k); }
  // What reads nothing here stands right before its first reader.
  for (let k = 0; k < count; ++k) if (!from[k].length && readers[k].length) layer[k] = Math.max(0, Math.min(...readers[k].map(r => layer[r])) - 1);
  // What is joined with nothing here stands in rows behind all else.
  const lone = [...layer.keys()].filter(k => !from[k].length && !readers[k].length), perRow = 4;
  if (lone.length > perRow) {
    let last = -1;
    for (let k = 0; k < count; ++k) if (from[k].length || readers[k].length) last = Math.max(last, layer[k]);
    lone.forEach((k, i) => { layer[k] = last + 1 + Math.floor(i / perRow); });
  }
  const layers = [];
  for (let k = 0; k < count; ++k) (layers[layer[k]] = layers[layer[k]] || []).push(k);
  const x = new Float64Array(count);
  for (const row of layers) {
    if (!row) continue;
    const want = new Map(row.map((k, i) => [k, from[k].length ? sum(from[k].map(s => x[s])) / from[k].length : readers[k].length && layer[k] > 0 ? i * 0.01 + 1 : i]));
    row.sort((a, b) => want.get(a) - want.get(b) || a - b);
    let next = -Infinity;
    for (const k of row) { x[k] = Math.max(want.get(k), next); next = x[k] + 1; }
    const shift = sum(row.map(k => want.get(k) - x[k])) / row.length;
    for (const k of row) x[k] += shift;
  }
  let least = 0, most = 0;
  for (let k = 0; k < count; ++k) { least = Math.min(least, x[k]); most = Math.max(most, x[k]); }
  for (let k = 0; k < count; ++k) x[k] -= least;
  return { x, layer, from, readers, layers, columns: most - least + 1, rows: Math.max(1, layers.length) };
}

function nodeLines(graph, n) {
  return [texts[graph.op[n]].split('.').pop(), texts[graph.weight[n]] || texts[graph.shape[n]]];
}

function nodeTip(graph, n) {
  const r = graph.region[n], lines = [texts[graph.op[n]]];
  if (graph.name[n]) lines.push(graph.name[n]);
  if (texts[graph.shape[n]]) lines.push('makes ' + texts[graph.shape[n]]);
  if (texts[graph.weight[n]]) lines.push('with a constant ' + texts[graph.weight[n]]);
  if (graph.width[n]) lines.push(widthText(graph.width[n]));
  if (r !== KEPT) lines.push(groups[regions[r].group].title);
  return lines.join('\n');
}

const NODE = { width: 104, height: 34, dx: 122, dy: 58 };
const MOST_IN_FIGURE = 60;

function figure(title, graph, nodes, width, kind) {
  const real = nodes.filter(n => texts[graph.op[n]] !== 'Constant'), shown = real.slice(0, MOST_IN_FIGURE);
  const hidden = nodes.length - real.length;
  const words = `${title} · ${plural(nodes.length, 'node')}${hidden && shown.length ? `, ${plural(hidden, 'constant')} of them not drawn` : ''} · ${widthText(width)}`;
  if (!shown.length)
    return html('figure', { class: 'figure' }, html('figcaption', {}, words), html('div', { class: 'scroll quiet' }, html('p', { style: 'padding:24px 0' }, nodes.length ? 'constants only' : 'nothing: it vanished')));
  const l = layout(graph, shown), inside = new Set(shown);
  const w = l.columns * NODE.dx + 8, h = l.rows * NODE.dy + 20;
  const cx = k => l.x[k] * NODE.dx + NODE.dx / 2 + 4, y = k => l.layer[k] * NODE.dy + 22;
  const root = svg('svg', { viewBox: `0 0 ${w} ${h}`, width: Math.round(w), height: Math.round(h), style: `max-width:max(100%, ${Math.round(0.6 * w)}px);height:auto`, role: 'img', 'aria-label': `${title}: ${opsText(graph, nodes, 8)}` });
  shown.forEach((n, k) => {
    for (const s of l.from[k]) root.append(svg('path', { d: edgePath(cx(s), y(s) + NODE.height, cx(k), y(k)), fill: 'none', stroke: 'var(--quiet)', 'stroke-width': 1.2, opacity: 0.7 }));
    const comes = graph.from[n].some(s => !inside.has(s)), goes = !l.readers[k].length;
    if (comes) root.append(svg('line', { x1: cx(k), x2: cx(k), y1: y(k) - 14, y2: y(k), stroke: 'var(--quiet)', 'stroke-dasharray': '2 3' }));
    if (goes) root.append(svg('line', { x1: cx(k), x2: cx(k), y1: y(k) + NODE.height, y2: y(k) + NODE.height + 14, stroke: 'var(--quiet)', 'stroke-dasharray': '2 3' }));
  });
  shown.forEach((n, k) => {
    const [op, shape] = nodeLines(graph, n);
    const g = svg('g', { onpointermove: e => showTip(nodeTip(graph, n), e.clientX, e.clientY), onpointerleave: hideTip },
      svg('rect', { x: cx(k) - NODE.width / 2, y: y(k), width: NODE.width, height: NODE.height, rx: 6, fill: 'var(--paper)', stroke: colour(kind), 'stroke-width': 1.4 }),
      svg('text', { x: cx(k), y: y(k) + (shape ? 15 : 21), 'text-anchor': 'middle', 'font-size': 12, 'font-weight': 600, fill: 'var(--ink)' }, fitted(op, 13)));
    if (shape) g.append(svg('text', { x: cx(k), y: y(k) + 28, 'text-anchor': 'middle', 'font-size': 10, fill: 'var(--quiet)' }, fitted(shape, 19)));
    root.append(g);
  });
  const rest = real.length - shown.length;
  return html('figure', { class: 'figure' }, html('figcaption', {}, words), html('div', { class: 'scroll' }, root), rest > 0 ? html('figcaption', { style: 'padding-bottom:8px' }, `and ${plural(rest, 'more node')}`) : null);
}
const fitted = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + '…';

function edgePath(x0, y0, x1, y1) {
  const bend = Math.max(10, (y1 - y0) / 2);
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}C${x0.toFixed(1)} ${(y0 + bend).toFixed(1)} ${x1.toFixed(1)} ${(y1 - bend).toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
}

// A whole graph on a canvas; only what is in view is drawn.
class GraphView {
  constructor(title, graph) {
    this.graph = graph;
    this.nodes = [...graph.op.keys()].filter(n => texts[graph.op[n]] !== 'Constant');
    this.layout = layout(graph, this.nodes);
    this.index = new Map(this.nodes.map((n, k) => [n, k]));
    this.scale = 1; this.x = 0; this.y = 0; this.marked = -1; this.isQueued = false;
    this.canvas = html('canvas', { tabindex: 0, role: 'img', 'aria-label': `${title}: ${plural(graph.op.length, 'node')}. ${opsText(graph, [...graph.op.keys()], 8)}` });
    const button = (text, label, act) => html('button', { type: 'button', 'aria-label': label, onclick: act }, text);
    this.element = html('figure', { class: 'graph' },
      html('div', { class: 'head' }, html('figcaption', {}, `${title} · ${plural(graph.op.length, 'node')}`),
        html('div', { class: 'tools' }, button('−', 'zoom out', () => this.zoom(1 / 1.5)), button('+', 'zoom in', () => this.zoom(1.5)), button('fit', 'show all of it', () => this.fit()))),
      html('div', { class: 'view' }, this.canvas));
    this.listen();
  }

  get stripWidth() { return 12; }

  listen() {
    const c = this.canvas, fingers = new Map();
    let moved = 0;
    c.addEventListener('pointerdown', e => {
      moved = 0;
      fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
      if (e.offsetX > c.clientWidth - this.stripWidth - 8) { this.jump(e.offsetY); fingers.clear(); return; }
      if (e.pointerType === 'mouse' || c.classList.contains('live')) c.setPointerCapture(e.pointerId);
    });
    c.addEventListener('pointermove', e => {
      const finger = fingers.get(e.pointerId);
      if (!finger) { this.hover(e); return; }
      const others = [...fingers].filter(([id]) => id !== e.pointerId);
      if (others.length) {
        const [ox, oy] = others[0][1];
        const was = Math.hypot(finger[0] - ox, finger[1] - oy), is = Math.hypot(e.offsetX - ox, e.offsetY - oy);
        if (was > 0) this.zoom(is / was, (e.offsetX + ox) / 2, (e.offsetY + oy) / 2);
      } else {
        this.x -= (e.offsetX - finger[0]) / this.scale;
        this.y -= (e.offsetY - finger[1]) / this.scale;
      }
      moved += Math.hypot(e.offsetX - finger[0], e.offsetY - finger[1]);
      fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
      this.draw();
    });
    const up = e => { fingers.delete(e.pointerId); };
    c.addEventListener('pointerup', up);
    c.addEventListener('pointercancel', up);
    c.addEventListener('pointerleave', hideTip);
    c.addEventListener('click', e => {
      c.classList.add('live');
      const n = moved < 5 ? this.nodeAt(e.offsetX, e.offsetY) : -1;
      if (n >= 0 && this.graph.region[n] !== KEPT) select(regions[this.graph.region[n]].group, this.graph.region[n], true);
    });
    c.addEventListener('blur', () => c.classList.remove('live'));
    c.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey && !c.classList.contains('live')) return;
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY * 0.0015), e.offsetX, e.offsetY);
    }, { passive: false });
    c.addEventListener('keydown', e => {
      const step = 80 / this.scale;
      const keys = { ArrowUp: [0, -step], ArrowDown: [0, step], ArrowLeft: [-step, 0], ArrowRight: [step, 0] };
      if (keys[e.key]) { this.x += keys[e.key][0]; this.y += keys[e.key][1]; this.draw(); e.preventDefault(); }
      else if (e.key === '+' || e.key === '=') this.zoom(1.3);
      else if (e.key === '-') this.zoom(1 / 1.3);
    });
  }

  zoom(by, px, py) {
    px = px === undefined ? this.canvas.clientWidth / 2 : px;
    py = py === undefined ? this.canvas.clientHeight / 2 : py;
    const scale = Math.min(3, Math.max(0.002, this.scale * by));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.draw();
  }

  fit() {
    const w = this.layout.columns * NODE.dx, h = this.layout.rows * NODE.dy + 20;
    const roomX = this.canvas.clientWidth - 40, roomY = this.canvas.clientHeight - 24;
    this.scale = Math.min(1.2, roomX / w, roomY / h);
    this.x = w / 2 - (this.canvas.clientWidth - this.stripWidth) / 2 / this.scale;
    this.y = h / 2 - this.canvas.clientHeight / 2 / this.scale;
    this.draw();
  }

  // The beginning, large enough to be read.
  start() {
    const w = this.layout.columns * NODE.dx;
    this.scale = Math.max(0.55, Math.min(1, (this.canvas.clientWidth - 40) / w));
    this.x = this.nodes.length ? this.centre(0)[0] - (this.canvas.clientWidth - this.stripWidth) / 2 / this.scale : 0;
    this.y = -14 / this.scale;
    this.draw();
  }

  jump(py) {
    this.y = py / this.canvas.clientHeight * this.layout.rows * NODE.dy - this.canvas.clientHeight / 2 / this.scale;
    this.draw();
  }

  centre(k) { return [this.layout.x[k] * NODE.dx + NODE.dx / 2, this.layout.layer[k] * NODE.dy + 14]; }

  show(region) {
    this.marked = region;
    const nodes = this.graph === before ? regions[region].before : regions[region].after;
    const spots = nodes.filter(n => this.index.has(n)).map(n => this.centre(this.index.get(n)));
    if (spots.length && this.canvas.clientWidth) {
      if (this.scale < 0.4) this.scale = 0.6;
      const roomX = (this.canvas.clientWidth - this.stripWidth) / this.scale, roomY = this.canvas.clientHeight / this.scale;
      // Of a region that is larger than the view, its beginning.
      const middle = (axis, room) => {
        let low = Infinity, high = -Infinity;
        for (const p of spots) { low = Math.min(low, p[axis]); high = Math.max(high, p[axis]); }
        return high - low < room - 80 ? (low + high) / 2 : spots[0][axis];
      };
      this.x = middle(0, roomX - NODE.width) - roomX / 2;
      this.y = Math.max(-14 / this.scale, middle(1, roomY) - roomY / 2);
    }
    this.draw();
  }

  nodeAt(px, py) {
    const x = px / this.scale + this.x, y = py / this.scale + this.y;
    const row = this.layout.layers[Math.floor((y - 14 + NODE.dy * 0.2) / NODE.dy)] || [];
    const k = row.find(q => { const [cx, top] = this.centre(q); return Math.abs(x - cx) <= NODE.width / 2 && y >= top && y <= top + NODE.height; });
    return k === undefined ? -1 : this.nodes[k];
  }

  hover(e) {
    const n = this.nodeAt(e.offsetX, e.offsetY);
    if (n < 0) hideTip(); else showTip(nodeTip(this.graph, n), e.clientX, e.clientY);
  }

  draw() {
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => { this.isQueued = false; this.paint(); });
  }

  paint() {
    const c = this.canvas, ratio = devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
    if (!w) return;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(h * ratio)) { c.width = Math.round(w * ratio); c.height = Math.round(h * ratio); }
    const g = c.getContext('2d'), style = getComputedStyle(document.documentElement), paint = name => style.getPropertyValue(name).trim();
    this.colours = { ink: paint('--ink'), quiet: paint('--quiet'), card: paint('--card'), same: paint('--same'), paper: paint('--paper'), font: paint('--text'), kinds: {} };
    for (const kind of Object.keys(colourOf)) this.colours.kinds[kind] = paint(`--k${colourOf[kind]}`);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.save();
    g.scale(this.scale, this.scale);
    g.translate(-this.x, -this.y);
    const first = Math.max(0, Math.floor(this.y / NODE.dy) - 2), last = Math.min(this.layout.layers.length - 1, Math.ceil((this.y + h / this.scale) / NODE.dy) + 1);
    this.paintEdges(g, first, last);
    for (let row = first; row <= last; ++row) for (const k of this.layout.layers[row] || []) this.paintNode(g, k);
    g.restore();
    this.paintStrip(g, w, h);
  }

  paintEdges(g, first, last) {
    g.strokeStyle = this.colours.quiet;
    g.globalAlpha = 0.55;
    g.lineWidth = Math.max(1, 0.7 / this.scale);
    g.beginPath();
    const edge = (s, k) => {
      const [x0, y0] = this.centre(s), [x1, y1] = this.centre(k);
      const from = y0 + NODE.height, bend = Math.max(10, Math.min(60, (y1 - from) / 2));
      g.moveTo(x0, from);
      // A long one goes round what stands between.
      const side = this.layout.layer[k] - this.layout.layer[s] > 1 && Math.abs(x1 - x0) < NODE.width / 2 ? NODE.width * 0.62 : 0;
      if (side) { g.bezierCurveTo(x0, from + bend, x0 + side, from, x0 + side, from + bend + 14); g.lineTo(x0 + side, y1 - bend - 14); g.bezierCurveTo(x0 + side, y1, x1, y1 - bend, x1, y1); }
      else g.bezierCurveTo(x0, from + bend, x1, y1 - bend, x1, y1);
    };
    for (let row = first; row <= last; ++row)
      for (const k of this.layout.layers[row] || []) {
        for (const s of this.layout.from[k]) edge(s, k);
        for (const r of this.layout.readers[k]) if (this.layout.layer[r] > last) edge(k, r);
      }
    g.stroke();
    g.globalAlpha = 1;
  }

  paintNode(g, k) {
    const n = this.nodes[k], r = this.graph.region[n], [cx, top] = this.centre(k), left = cx - NODE.width / 2;
    const fillWith = r === KEPT ? this.colours.same : this.colours.kinds[groups[regions[r].group].kind];
    const isMarked = r !== KEPT && r === this.marked, isSmall = this.scale < 0.3;
    g.beginPath();
    if (isSmall) g.rect(left, top, NODE.width, NODE.height); else g.roundRect(left, top, NODE.width, NODE.height, 6);
    g.fillStyle = isSmall ? fillWith : this.colours.paper;
    g.fill();
    if (!isSmall && r !== KEPT) { g.globalAlpha = isMarked ? 0.42 : 0.16; g.fillStyle = fillWith; g.fill(); g.globalAlpha = 1; }
    g.strokeStyle = fillWith;
    g.lineWidth = isMarked ? 3 : 1.4;
    g.stroke();
    if (isSmall) return;
    const [op, shape] = nodeLines(this.graph, n);
    g.textAlign = 'center';
    g.fillStyle = this.colours.ink;
    g.font = `600 12px ${this.colours.font}`;
    g.fillText(fitted(op, 13), cx, top + (shape ? 15 : 21));
    if (!shape) return;
    g.fillStyle = this.colours.quiet;
    g.font = `10px ${this.colours.font}`;
    g.fillText(fitted(shape, 19), cx, top + 28);
  }

  // All layers at a glance; the frame is what is in view.
  paintStrip(g, w, h) {
    const x = w - this.stripWidth - 4, rows = this.layout.layers.length || 1;
    g.fillStyle = this.colours.same;
    g.globalAlpha = 0.4;
    g.fillRect(x, 4, this.stripWidth, h - 8);
    g.globalAlpha = 1;
    const tall = (h - 8) / rows;
    this.layout.layers.forEach((row, y) => {
      const k = (row || []).find(q => this.graph.region[this.nodes[q]] !== KEPT);
      if (k === undefined) return;
      const r = this.graph.region[this.nodes[k]];
      g.fillStyle = this.colours.kinds[groups[regions[r].group].kind];
      g.fillRect(x, 4 + y * tall, this.stripWidth, Math.max(0.7, tall));
    });
    const from = Math.max(0, this.y / NODE.dy), to = Math.min(rows, (this.y + h / this.scale) / NODE.dy);
    g.strokeStyle = this.colours.ink;
    g.lineWidth = 1.5;
    g.strokeRect(x - 1.5, 4 + from * tall, this.stripWidth + 3, Math.max(5, (to - from) * tall));
  }
}

const views = [];
function drawGraphs() {
  views.push(new GraphView('before', before), new GraphView('after', after));
  $('graphs').append(...views.map(v => v.element));
  for (const view of views) view.start();
}

// ---- The search

function drawSearch() {
  const measured = run && run.regions ? run.regions.filter(r => r.ratio > 0) : [];
  const proposers = run && run.search && run.search.proposers ? run.search.proposers.filter(p => p.tried > 0) : [];
  if (!measured.length && !proposers.length) { $('search-section').hidden = true; return; }
  const s = run.search;
  $('search').append(html('p', { class: 'quiet' }, `${digits(run.seconds)} s: ${plural(s.states, 'graph')} looked at, ${plural(s.proofs, 'proof')} tried, ${plural(run.refused, 'idea')} not proved or not accepted${run.stopped_by === 'done' ? '; nothing was left to try.' : `; ended by the ${run.stopped_by}.`}`));
  if (proposers.length) $('search').append(proposerTable(proposers));
  if (measured.length) $('search').append(html('h4', {}, 'Changes that were measured in their place: how many times as fast, with the 95 % interval'), html('div', { class: 'chart' }, ratioChart(measured)));
}

function proposerTable(proposers) {
  const taken = Object.fromEntries((run.steps || []).map(t => [t.kind, t.count]));
  const most = Math.max(...proposers.map(p => p.tried));
  const body = proposers.sort((a, b) => b.tried - a.tried).map(p => {
    const fillWith = colourOf[p.kind] === undefined ? 'var(--quiet)' : colour(p.kind), part = n => `${(100 * n / most).toFixed(2)}%`;
    const bar = (n, opacity) => html('i', { style: `width:${part(n)};background:${fillWith};opacity:${opacity}` });
    return html('tr', {}, html('td', {}, p.kind), html('td', { style: 'width:50%' }, html('span', { class: 'bars' }, bar(p.tried, 0.25), bar(p.proved, 0.5), taken[p.kind] ? bar(taken[p.kind], 1) : null)),
      html('td', { class: 'number' }, grouped(p.tried)), html('td', { class: 'number' }, grouped(p.proved)), html('td', { class: 'number' }, grouped(taken[p.kind] || 0)));
  });
  return html('div', { class: 'wide' }, html('table', {}, html('thead', {}, html('tr', {}, html('th', {}, 'proposer'), html('th', {}, ''), html('th', { class: 'number' }, 'tried'), html('th', { class: 'number' }, 'proved'), html('th', { class: 'number' }, 'taken'))), html('tbody', {}, body)));
}

function ratioChart(all) {
  const list = [...all].sort((a, b) => b.ratio - a.ratio).slice(0, 40);
  const width = Math.max(320, Math.min(1136, $('search').clientWidth)), labels = width < 600 ? 0 : width * 0.48, row = labels ? 24 : 42;
  const low = Math.min(0.95, ...list.map(r => r.low)), high = Math.max(1.05, ...list.map(r => r.high || r.ratio));
  const place = v => labels + 10 + (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (width - labels - 80);
  const root = svg('svg', { viewBox: `0 0 ${width} ${list.length * row + 8}`, width, role: 'img', 'aria-label': 'measured ratios of single changes' });
  root.append(svg('line', { x1: place(1), x2: place(1), y1: 0, y2: list.length * row + 4, stroke: 'var(--quiet)', 'stroke-dasharray': '3 3' }));
  list.forEach((r, k) => {
    const kind = r.what.split(':')[0], y = k * row + (labels ? 15 : 32);
    const fillWith = colourOf[kind] === undefined ? 'var(--quiet)' : colour(kind);
    const text = `${r.places > 1 ? r.places + ' × ' : ''}${r.words}`;
    root.append(svg('text', { x: 0, y: labels ? y + 4 : y - 14, 'font-size': 13, fill: 'var(--ink)' }, fitted(text, Math.floor((labels || width) / 6.7)), svg('title', {}, text)),
      svg('line', { x1: place(r.low), x2: place(r.high || r.ratio), y1: y, y2: y, stroke: fillWith, 'stroke-width': 2 }),
      svg('circle', { cx: place(r.ratio), cy: y, r: 4.5, fill: fillWith }),
      svg('text', { x: place(r.high || r.ratio) + 9, y: y + 4, 'font-size': 12, fill: 'var(--quiet)' }, ratioText(r.ratio)));
  });
  return root;
}

// ---- Opaque nodes, and how to check

function drawOpaque() {
  const box = $('opaque');
  if (!data.opaque.length) {
    box.append(html('p', {}, 'Every node of the original has a formula: none is opaque.'));
    return;
  }
  const reasons = new Map();
  for (const [node, op, reason] of data.opaque) {
    const key = op + '\n' + reason;
    if (!reasons.has(key)) reasons.set(key, { op, reason, nodes: [] });
    reasons.get(key).nodes.push(node);
  }
  box.append(html('p', {}, `${plural(data.opaque.length, 'node')} of the original ${data.opaque.length === 1 ? 'is' : 'are'} opaque: unknown functions of their inputs, which are kept as they are.`));
  const body = [...reasons.values()].map(r => html('tr', {}, html('td', {}, html('b', {}, r.op), r.nodes.length > 1 ? ` ×${r.nodes.length}` : ''), html('td', {}, r.reason), html('td', { class: 'quiet', title: r.nodes.slice(0, 50).join('\n') }, shorter(r.nodes[0], 48) + (r.nodes.length > 1 ? ', …' : ''))));
  box.append(html('div', { class: 'wide' }, html('table', {}, html('thead', {}, html('tr', {}, html('th', {}, 'operator'), html('th', {}, 'why'), html('th', {}, 'where'))), html('tbody', {}, body))));
}

// A word for a shell.
const quoted = word => /^[\w.\/=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

function drawCheck() {
  const [a, b, c] = [data.names.in, data.names.out, data.names.certificate].map(quoted);
  const sizes = data.fixed.map(s => ` --shape ${quoted(s)}`).join('');
  const commands = [
    ['Prove every step again, without searching:', `isomer check ${a} ${b} ${c}${sizes}`],
    ['The same with a program that has no optimizer in it:', `isomer-check ${a} ${b} ${c}${sizes}`],
    ['What was done, in words, and what the checker is told:', `isomer explain ${c} --steps`],
    ['Compare the outputs, and measure again:', `isomer compare ${a} ${b}${sizes}\nisomer bench ${a} ${b}${sizes}`]];
  if (!data.is_pairing) commands.push(['Search again:', `isomer optimize ${a} -o ${b}${data.fixed.length ? ' --fix-shape' + sizes : ''} --report report.html`]);
  $('check').append(html('p', {}, 'This page is told by the optimizer; the certificate is what proves it. Its digests fit the two models. Nothing of this page has to be believed:'),
    html('dl', { class: 'commands' }, commands.flatMap(([what, line]) => [html('dt', {}, what), html('dd', {}, html('pre', {}, line))])));
  const runtime = run && run.runtime && run.runtime.name ? `, ${run.runtime.title} ${run.runtime.version}` : widths.runtime ? `, ${widths.runtime}` : '';
  $('footer').textContent = `isomer ${data.version}${runtime}. One file; it loads nothing.`;
}

// ---- Begin

drawHeadline();
drawRibbonText();
drawRibbon();
drawGroups();
drawGraphs();
if (groups.length) select(groupOrder[0], groups[groupOrder[0]].best, false);
else { $('changes-section').hidden = true; }
drawSearch();
drawOpaque();
drawCheck();
$('export').addEventListener('click', exportRibbon);
addEventListener('resize', () => { drawRibbon(); for (const view of views) view.draw(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { for (const view of views) view.draw(); });
performance.mark('isomer-drawn');
})();
