// Graphs as layers: by the longest path, each node near what it reads. And small ones as pictures.

// nodes: numbers in the graph. Returns positions in units of a node: x, and layer as y.
function layout(graph, nodes) {
  const at = new Map(nodes.map((n, k) => [n, k]));
  const from = nodes.map(n => graph.from[n].filter(s => s >= 0 && at.has(s)).map(s => at.get(s)));
  const count = nodes.length, layer = new Int32Array(count), readers = nodes.map(() => []);
  // Numbers are in the order of computation: what is read comes first.
  for (let k = 0; k < count; ++k) for (const s of from[k]) { layer[k] = Math.max(layer[k], layer[s] + 1); readers[s].push(k); }
  // A node without inputs here stands right before its first reader.
  for (let k = 0; k < count; ++k) if (!from[k].length && readers[k].length) layer[k] = Math.max(0, Math.min(...readers[k].map(r => layer[r])) - 1);
  // A node without neighbours here stands in rows after all others.
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
