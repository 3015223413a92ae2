// The ribbon: two bars, before above and after below, and ribbons from old to new nodes between them.

// Segments of the bars, in the order of the original: a changed region each, and runs of unchanged nodes between them.
function segmentsOf() {
  const twin = new Int32Array(before.op.length).fill(-1);
  data.kept[0].forEach((n, i) => { twin[n] = data.kept[1][i]; });
  const list = [], seen = new Set();
  let same = null;
  for (let n = 0; n < before.op.length; ++n) {
    const r = before.region[n];
    if (r === KEPT) {
      // In an unchanged model each node is shown.
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
    // A removed node has its place after the node before it.
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
  if (s.kind === 'runtime') return `the runtime's own work: changes of layout, and kernels without a node\n${change}`;
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
  const root = svg('svg', { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'before above, after below; ribbons join old and new nodes' });
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
    note.textContent = `Widths are time, node by node, by the profile of ${widths.runtime}, ${plural(widths.threads, 'thread')}, inputs ${widths.inputs}. Nodes that the runtime fuses share a kernel’s time by their analytic cost.`;
  if (widths.unit === 'time') {
    // The same nodes should take the same time; where they don't, the reader should know.
    const was = sum(data.kept[0].map(n => before.width[n])), is = sum(data.kept[1].map(n => after.width[n]));
    if (Math.max(was, is) > 1.15 * Math.min(was, is))
      note.append(` The nodes that did not change took ${timeText(was)} in one model and ${timeText(is)} in the other: because of their neighbours or a busy machine, so these widths are rough.`);
  } else
    note.textContent = (widths.unit === 'cost' ? 'Widths are an analytic cost, not time' : 'Widths are numbers of nodes, not time') +
      (widths.why ? `: the runtime measured no times (${widths.why}).` : ': no runtime was used.');
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
