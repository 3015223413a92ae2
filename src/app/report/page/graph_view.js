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
      // The beginning of a region that is larger than the view.
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
      // A long one goes around the nodes between.
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
